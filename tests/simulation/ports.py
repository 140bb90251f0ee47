"""The ports as one simulated process has them: every call lets others run first, and may go wrong."""

from __future__ import annotations

import contextlib
import datetime
import functools
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from lakemerge.errors import LakemergeError, MetastoreUnreachable, StorageError
from lakemerge.kernel import HivePartition, HiveTable, Ports, TableName
from lakemerge.kernel.ports.filesystem import FileSystem
from lakemerge.kernel.ports.metastore import Metastore, Refused, ReplyLost
from lakemerge.testing import MemoryRowFiles, SimulatedClock, SimulatedHost, World
from simulation.faults import Faults
from simulation.scheduler import Process

T = TypeVar("T")

_METASTORE_WRITES = {
    "create_table",
    "alter_table",
    "drop_table",
    "add_partitions",
    "alter_partitions",
    "drop_partition",
    "delete_table_column_statistics",
    "delete_partition_column_statistics",
    "lock",
    "unlock",
}
_METASTORE_READS = {
    "get_table",
    "tables",
    "table_summaries",
    "function_names",
    "database_location",
    "partition_names",
    "partitions",
    "lock_acquired",
    "probe_compare_and_swap",
}
_FILE_WRITES = {"write_text", "make_directory", "delete", "delete_if_empty", "copy", "move"}
_FILE_READS = {"exists", "list", "glob", "read_text", "first_line", "last_bytes"}


class Watch(Protocol):
    """Who looks on."""

    def sent(self, process: int, call: str, *args: Any) -> None:
        """A process sends a call now; when it has its effect, others may have gone on."""

    def answered(self, process: int, call: str, *args: Any) -> None:
        """A process goes on after a call."""


class Caller:
    """Makes the calls of one process.

    Attributes:
        log: who called what, for the schedule of a failing seed.
        watch: is told of each call when it is sent, and when it is answered.
        serve: begins a process of a server, which carries out what a client has given up.
        fork: begins a child of the process; ``None`` where it has none.
    """

    def __init__(
        self,
        process: Process,
        faults: Faults,
        log: list[str],
        watch: Watch,
        serve: Callable[[str, Callable[[], None], float], None],
    ) -> None:
        self.process = process
        self.faults = faults
        self.log = log
        self.watch = watch
        self.serve = serve
        self.fork: Callable[[], None] | None = None

    def call(self, port: str, name: str, about: str, action: Callable[[], T], *, writes: bool) -> T:
        self.process.go_on()
        if port == "metastore" and self.process.now < self.faults.down_until:
            raise MetastoreUnreachable(expected="a metastore", found="that it restarts", action="Wait.")
        fault = self.faults.draw(name, writes=writes)
        number = self.faults.calls
        self.log.append(
            f"{self.process.name}: {port}.{name} {about}{f'  << {number} {fault}' if fault else ''}"
        )
        if fault == "die before":
            self.process.die()
        if fault in ("refuse", "lose request"):
            # who calls cannot tell the second from a lost reply
            raise (_refusal if fault == "refuse" else _lost)(port, name)
        if fault in ("late", "die late"):
            self._carry_out_late(number, f"{port}.{name} {about}", action, self.faults.seconds("late"))
            if fault == "die late":
                self.process.die()
            fault, action = "lose reply", _nothing  # and waits as long as if it were one, or not at all
        self._wait(fault)
        result = action()
        if fault == "die after":
            self.process.die()
        if fault == "restart":
            self.faults.down_until = self.process.now + self.faults.seconds("slow")
        if fault == "lose reply" and (seconds := self.faults.seconds(fault)):
            self.process.stop_for(seconds)  # it waits, and looks dead, for as long as a connection lasts
        if fault in ("lose reply", "restart") or (name == self.faults.cut and not self.faults.calm):
            raise _lost(port, name)
        return result

    def _wait(self, fault: str) -> None:
        if fault == "fork" and self.fork is not None:
            self.fork()
        if fault == "stop":
            self.process.stop_for(self.faults.seconds(fault))
        if fault == "slow":
            self.process.go_on(self.faults.seconds(fault))

    def _carry_out_late(self, number: int, shown: str, action: Callable[[], object], seconds: float) -> None:
        """Let a server carry out a call after a time, whatever its client has become of by then."""

        def run() -> None:
            self.log.append(f"late call {number} takes effect: {shown}")
            with contextlib.suppress(LakemergeError, FileNotFoundError):  # nobody hears of it
                action()

        self.serve(f"server of call {number}", run, seconds)


def _nothing() -> Any:
    return None


def _refusal(port: str, name: str) -> Exception:
    if port == "metastore":
        return Refused(name, "MetaException", "an injected fault")
    return StorageError(expected=f"to {name}", found="an injected fault", action="None.")


def _lost(port: str, name: str) -> Exception:
    if port == "metastore":
        return ReplyLost(expected=f"an answer to {name}", found="an injected fault", action="None.")
    return StorageError(expected=f"an answer to {name}", found="an injected fault", action="None.")


def _delegate(cls: type, port: str, names: set[str], *, writes: bool) -> None:
    for name in names:

        def method(self: Any, *args: Any, _name: str = name, **kwargs: Any) -> Any:
            shown = (str(arg).partition("\n")[0] for arg in args if isinstance(arg, (str, TableName)))
            about = " ".join(shown)[:200]
            run = functools.partial(getattr(self.inner, _name), *args, **kwargs)
            pid = self.caller.process.pid
            self.caller.watch.sent(pid, _name, *args)
            result = self.caller.call(port, _name, about, run, writes=writes)
            self.caller.watch.answered(pid, _name, *args)
            return result

        setattr(cls, name, method)
    cls.__abstractmethods__ = frozenset(getattr(cls, "__abstractmethods__", ())) - names  # type: ignore[attr-defined]


class SimulatedMetastore(Metastore):
    """See :class:`Caller`."""

    def __init__(self, inner: Metastore, caller: Caller) -> None:
        self.inner = inner
        self.caller = caller
        self.compares = None


class SimulatedFiles(FileSystem):
    """See :class:`Caller`."""

    def __init__(self, inner: FileSystem, caller: Caller) -> None:
        self.inner = inner
        self.caller = caller

    def qualify(self, path: str) -> str:
        return self.inner.qualify(path)

    def is_compressed(self, path: str) -> bool:
        return self.inner.is_compressed(path)

    def _token(self) -> str:
        return f"{self.caller.process.name.replace(' ', '-')}-{self.caller.process.now}"


_delegate(SimulatedMetastore, "metastore", _METASTORE_READS, writes=False)
_delegate(SimulatedMetastore, "metastore", _METASTORE_WRITES, writes=True)
_delegate(SimulatedFiles, "files", _FILE_READS, writes=False)
_delegate(SimulatedFiles, "files", _FILE_WRITES, writes=True)


class UnevenMetastore(SimulatedMetastore):
    """One whose answers are not of one moment.

    Attributes:
        tears: whether a read of a table's row may be half of the moment before a change and half of that after it, as
            over Derby.
        batches: whether many partitions are read in batches, and others may go on between two of them.
    """

    def __init__(
        self, inner: Metastore, caller: Caller, dice: random.Random, *, tears: bool, batches: bool
    ) -> None:
        super().__init__(inner, caller)
        self.tears = tears
        self.batches = batches
        self._dice = dice

    def get_table(self, name: TableName) -> HiveTable | None:
        first = super().get_table(name)  # type: ignore[safe-super]
        dice = self._dice
        if first is None or not self.tears or dice.random() > 0.2:
            return first
        second = super().get_table(name)  # type: ignore[safe-super]
        if second is None or second == first:
            return second
        keys = sorted(set(first.parameters) | set(second.parameters))
        mixed = {key: (first if dice.random() < 0.5 else second).parameters.get(key) for key in keys}
        return replace(
            second,
            storage=first.storage if dice.random() < 0.5 else second.storage,
            parameters={key: value for key, value in mixed.items() if value is not None},
        )

    def partitions(self, name: TableName, names: Sequence[str]) -> list[HivePartition]:
        cut = self._dice.randrange(len(names) + 1) if self.batches else 0
        batches = (names[:cut], names[cut:])
        return [
            row
            for batch in batches
            if batch
            for row in super(UnevenMetastore, self).partitions(name, batch)  # type: ignore[safe-super]
        ]


class ScheduledClock(SimulatedClock):
    """A clock whose sleeps let others run, and whose repeated actions are threads of the process."""

    def __init__(self, world: World, process: Process, skew: datetime.timedelta) -> None:
        super().__init__(world.timeline, skew)
        self._process = process

    def sleep(self, seconds: float) -> None:
        self._process.go_on(seconds)

    def repeat(self, seconds: float, action: Callable[[], bool], name: str) -> None:
        def run() -> None:
            while True:
                self._process.go_on(seconds)
                if not action():
                    return

        self._process.start(run, seconds)


def ports_of_process(
    world: World, caller: Caller, *, machine: str, skew: int, tears: bool, batches: bool
) -> Ports:
    """The world as a process sees it that others run beside.

    Args:
        machine: where it runs; processes of one machine can look whether others live.
        skew: days that its clock is ahead.
        tears, batches: as of :class:`UnevenMetastore`.
    """
    process = caller.process
    files = SimulatedFiles(world.files, caller)  # type: ignore[abstract]
    dice = random.Random(process.pid)
    return Ports(
        metastore=UnevenMetastore(world.metastore, caller, dice, tears=tears, batches=batches),  # type: ignore[abstract]
        files=files,
        row_files=MemoryRowFiles(files),
        clock=ScheduledClock(world, process, datetime.timedelta(days=skew)),
        host=SimulatedHost(process.pid, world.running, world.dice, machine),
    )
