"""A process whose calls are counted, and which may die after one of them; in memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from kernel.commits import Kind
from kernel.groups import GroupKind
from kernel.meanwhile import Proxy
from kernel.support import Picture
from lakemerge.kernel import Kernel, Ports, TableName
from lakemerge.testing import World

NAME = TableName("s", "t")

_WRITES = {
    "metastore": {
        "create_table",
        "alter_table",
        "drop_table",
        "add_partitions",
        "alter_partitions",
        "drop_partition",
    },
    "files": {"write_text", "make_directory", "delete", "delete_if_empty", "move"},
}


class Dead(BaseException):
    """A process that has died does nothing any more."""


class Counted(Proxy):
    """A port of a process, which may die after one of its writes, or be stopped there."""

    def __init__(self, inner: Any, port: str, calls: list[str], dies_after: int | None = None) -> None:
        self._inner = inner
        self._port = port
        self._calls = calls
        self._dies_after = dies_after

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not callable(found):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            writes = name in _WRITES[self._port]
            if self._dies_after is not None and len(self._calls) >= self._dies_after:
                raise Dead
            result = found(*args, **kwargs)
            if writes or self._dies_after is None:
                self._calls.append(name)
            if self._dies_after is not None and len(self._calls) >= self._dies_after:
                raise Dead
            return result

        return call


def counted(ports: Ports) -> tuple[Ports, list[str]]:
    """The same ports, and the calls of the metastore that are made through them."""
    calls: list[str] = []
    return dataclasses.replace(ports, metastore=Counted(ports.metastore, "metastore", calls)), calls


def killed_after(world: World, write: int, kind: Kind | GroupKind) -> bool:
    """Let a process die after a write of a commit; false when it was done before."""
    ports = world.process()
    writes: list[str] = []
    metastore = Counted(ports.metastore, "metastore", writes, write)
    files = Counted(ports.files, "files", writes, write)
    kernel = Kernel(dataclasses.replace(ports, metastore=metastore, files=files))  # type: ignore[arg-type]
    try:
        kind.run(kernel, NAME)
    except Dead:
        world.running.discard(ports.host.owner().pid)
        return True
    return False


def expected(kind: GroupKind) -> tuple[list[Picture | None], list[Picture | None]]:
    """What readers see before and after."""
    kernel = Kernel(World().process())
    kind.prepare(kernel, NAME)
    old = kind.pictures(kernel, NAME)
    kind.run(kernel, NAME)
    return old, kind.pictures(kernel, NAME)


def recover(kernel: Kernel, names: Iterable[TableName]) -> None:
    for name in names:
        if kernel.exists(name):
            kernel.recover(name)
