"""Metastores and file systems that fail: calls not made, replies lost, a process that dies."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from typing import Any, TypeVar

from lakemerge.errors import StorageError
from lakemerge.kernel import Jvm
from lakemerge.kernel.jvm import HadoopFileSystem, HiveMetastore
from lakemerge.kernel.ports.metastore import Refused, ReplyLost

T = TypeVar("T")

METASTORE_WRITES = frozenset(
    {
        "createTable",
        "alter_table",
        "dropTable",
        "add_partitions",
        "alter_partitions",
        "dropPartition",
        "deleteColumnStatistics",
        "lock",
        "checkLock",
        "unlock",
    }
)
STORAGE_WRITES = frozenset({"write", "rename", "make", "delete", "copy"})

#: Called with the kind of the call, before it is made and after it has succeeded.
Hook = Callable[[str], None]


def ignore(_: str) -> None:
    """Do nothing."""


class HookedMetastore(HiveMetastore):
    """Tells of every call before it is made and after it has succeeded."""

    def __init__(self, jvm: Jvm, before: Hook = ignore, after: Hook = ignore) -> None:
        super().__init__(jvm)
        self._before = before
        self._after = after

    def _invoke(self, call: str, action: Callable[[Any], T]) -> T:
        self._before(call)
        result = super()._invoke(call, action)
        self._after(call)
        return result


class DeafMetastore(HiveMetastore):
    """A metastore without HIVE-26882: it ignores what is expected."""

    def _context(self, **_: str) -> Any:
        return super()._context()


class HookedDeafMetastore(HookedMetastore, DeafMetastore):
    """Both: tells of every call, and ignores what is expected."""


class HookedFileSystem(HadoopFileSystem):
    """Tells of every call before it is made and after it has succeeded."""

    def __init__(self, jvm: Jvm, before: Hook = ignore, after: Hook = ignore) -> None:
        super().__init__(jvm)
        self._before = before
        self._after = after

    def _invoke(self, call: str, path: str, action: Callable[[Any, Any], T]) -> T:
        self._before(call)
        result = super()._invoke(call, path, action)
        self._after(call)
        return result


class Dice:
    """Makes calls fail with a probability, by a seeded generator. Counts calls and failures."""

    def __init__(self, seed: int, probability: float) -> None:
        self._random = random.Random(seed)
        self._probability = probability
        self.calls = 0
        self.failures = 0

    def _throw(self) -> bool:
        self.calls += 1
        failed = self._random.random() < self._probability
        self.failures += failed
        return failed

    def metastore(self, call: str) -> None:
        if self._throw():
            if self._random.random() < 0.5:
                raise Refused(call, "MetaException", "an injected fault")
            raise lost(call)

    def storage(self, call: str) -> None:
        if self._throw():
            raise StorageError(expected=f"to {call}", found="an injected fault", action="None.")


class KillAfterWrite:
    """Kills this process right after its n-th write, be it to the metastore or to the file system."""

    def __init__(self, number: int) -> None:
        self._left = number

    def metastore(self, call: str) -> None:
        if call in METASTORE_WRITES:
            self._count()

    def storage(self, call: str) -> None:
        if call in STORAGE_WRITES:
            self._count()

    def _count(self) -> None:
        self._left -= 1
        if self._left == 0:
            die()


def lost(call: str) -> ReplyLost:
    """The error of a call whose reply is lost."""
    return ReplyLost(expected=f"an answer to {call}", found="an injected fault", action="None.")


def die() -> None:
    """End this process at once, without any clearing up."""
    os.kill(os.getpid(), signal.SIGKILL)


def stop() -> None:
    """Stop this process until somebody lets it go on."""
    os.kill(os.getpid(), signal.SIGSTOP)
