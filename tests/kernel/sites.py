"""Places where a kernel can work: the ports in memory, and those of a JVM."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from typing import Any

from kernel.faults import METASTORE_WRITES, Hook, HookedFileSystem, HookedMetastore, ignore
from kernel.meanwhile import Proxy
from lakemerge.kernel import Jvm, Ports, ports_of
from lakemerge.testing import World


class Site(ABC):
    """A metastore and a file system, as processes reach them.

    Attributes:
        may_lose: the metastore's calls whose reply may be lost; ``None`` for all. A JVM's port sends again what may
            be done twice.
    """

    may_lose: frozenset[str] | None = None

    @abstractmethod
    def ports(self, **others: Any) -> Ports:
        """The ports of a process, with others in the place of some."""

    @abstractmethod
    def metastore(self, before: Hook = ignore, after: Hook = ignore) -> Any:
        """A process's metastore that tells of every call before it is made and after it has succeeded."""

    @abstractmethod
    def files(self, before: Hook = ignore, after: Hook = ignore) -> Any:
        """The same of its file system."""


class OfJvm(Site):
    """Those that a JVM's clients reach."""

    def __init__(self, jvm: Jvm) -> None:
        self._jvm = jvm

    def ports(self, **others: Any) -> Ports:
        return ports_of(self._jvm, **others)

    def metastore(self, before: Hook = ignore, after: Hook = ignore) -> Any:
        return HookedMetastore(self._jvm, before, after)

    def files(self, before: Hook = ignore, after: Hook = ignore) -> Any:
        return HookedFileSystem(self._jvm, before, after)


class InMemory(Site):
    """A world of its own."""

    may_lose = METASTORE_WRITES - {"deleteColumnStatistics"}

    def __init__(self) -> None:
        self._world = World()

    def ports(self, **others: Any) -> Ports:
        return dataclasses.replace(self._world.process(), **others)

    def metastore(self, before: Hook = ignore, after: Hook = ignore) -> Any:
        return _Hooked(self._world.process().metastore, before, after)

    def files(self, before: Hook = ignore, after: Hook = ignore) -> Any:
        return _Hooked(self._world.process().files, before, after)


# How Hive names the calls that tests wait for, where it is not as the ports do.
_CALLS = {
    "create_table": "createTable",
    "drop_table": "dropTable",
    "drop_partition": "dropPartition",
    "delete_table_column_statistics": "deleteColumnStatistics",
    "delete_partition_column_statistics": "deleteColumnStatistics",
    "write_text": "write",
    "move": "rename",
    "make_directory": "make",
}


class _Hooked(Proxy):
    """A port that tells of its calls, by the names that they have in a JVM."""

    def __init__(self, inner: Any, before: Hook, after: Hook) -> None:
        self._inner, self._before, self._after = inner, before, after

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not callable(found):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            self._before(_CALLS.get(name, name))
            result = found(*args, **kwargs)
            self._after(_CALLS.get(name, name))
            return result

        return call
