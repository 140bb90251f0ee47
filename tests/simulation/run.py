"""One seed: a world, some processes with work to do, what goes wrong, and what must hold at the end."""

from __future__ import annotations

import datetime
import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from unittest import mock

from kernel.support import assert_nothing_orphaned, assert_whole
from lakemerge.errors import LakemergeError
from lakemerge.kernel import Kernel, Settings, TableDefinition, TableName, manifests
from lakemerge.kernel.operations import FENCE
from lakemerge.testing import World
from simulation.checker import Checker, Commit, Violation, WatchedMetastore, rows_of
from simulation.faults import Faults
from simulation.operations import (
    COLUMNS,
    COMMIT_COLUMN,
    COMMIT_KEYS,
    KEYS,
    Append,
    Batches,
    Create,
    Merge,
    Model,
    Operation,
    Replace,
    Rewrite,
    Upkeep,
)
from simulation.ports import ports_of_process
from simulation.scheduler import Process, Scheduler

LEASE = 30
RETENTION = datetime.timedelta(seconds=600)
TABLE = TableName("s", "t")

DEFINITIONS = {
    "partitioned": TableDefinition(TABLE, COLUMNS, KEYS),
    "whole": TableDefinition(TABLE, COLUMNS, ()),
    "append": TableDefinition(TABLE, COLUMNS, COMMIT_KEYS, commit_column=COMMIT_COLUMN),
}


@dataclass
class Result:
    """What a run did: for the figures, and to show a failing one."""

    seed: int
    operations: list[Operation] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    steps: int = 0
    commits: int = 0
    reads: int = 0
    unread: int = 0
    error: str = ""


class Run:
    """See :func:`simulate`."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.result = Result(seed)
        self.world = World(seed)
        self.metastore = WatchedMetastore(self.world.timeline)
        self.world.metastore = self.metastore
        self.checker = self.metastore.checker = Checker(self.world.files, frozenset({TABLE}))
        self.scheduler = Scheduler(self.dice, self.world.timeline)
        self.faults = Faults.of(self.dice, LEASE)
        self.kind = self.dice.choice(("partitioned", "partitioned", "whole", "append"))
        self.tears = self.dice.random() < 0.3
        self.processes: list[Process] = []
        self.streams: set[str] = set()  # the pids of processes with named streams

    # -- who does what -------------------------------------------------------------------------

    def process(self, name: str) -> tuple[Process, Kernel]:
        """A new process with its kernel."""
        pid = self.world.new_pid()
        process = Process(self.scheduler, name, pid, self.world.running)
        machine = self.dice.choice(("one", "one", f"machine {pid}"))
        ports = ports_of_process(
            self.world, process, self.faults, self.result.log, machine=machine, tears=self.tears
        )
        settings = Settings(lease_seconds=LEASE, claim_timeout=20 * LEASE)
        self.processes.append(process)
        return process, Kernel(ports, settings)

    def start(self) -> None:
        """The table, then writers, upkeep and readers beside each other."""
        first = Create(TABLE, "first", definition=DEFINITIONS[self.kind])
        self._begin("maker", [first])
        calm, self.faults.left = self.faults.left, 0
        self.scheduler.run()
        self.faults.left = calm
        if self.kind == "append" and self.dice.random() < 0.5:
            for writer in ("one", "two"):
                process = self._begin(f"stream {writer}", [Batches(TABLE, writer, writer=writer)])
                self.streams.add(str(process.pid))
        for number in range(self.dice.choice((2, 2, 3))):
            count = self.dice.choice((1, 2, 3))
            self._begin(f"writer {number}", [self._work(f"{number}.{one}") for one in range(count)])
        if self.dice.random() < 0.4:
            self._begin("upkeep", [self._upkeep()])
        for number in range(self.dice.choice((0, 1, 2))):
            self._read(f"reader {number}")

    def _begin(self, name: str, work: list[Operation]) -> Process:
        process, kernel = self.process(name)
        self.result.operations += work

        def run() -> None:
            for operation in work:
                operation.run(kernel)
                process.go_on(self.dice.choice((0.0, 0.0, 5.0)))

        process.start(run, self.dice.choice((0.0, 0.0, 0.1, 3.0)))
        return process

    def _work(self, label: str) -> Operation:
        if self.kind == "append":
            return Append(TABLE, label)
        draw = self.dice.random()
        if draw < 0.12 and self.kind == "partitioned":
            return Rewrite(TABLE, label)
        if draw < 0.2:
            return Replace(TABLE, label)
        if draw < 0.26 and self.kind == "partitioned":
            return Upkeep(TABLE, label, action="recover")
        changes = tuple(self._change(label) for _ in range(self.dice.choice((1, 1, 2, 4))))
        truncate = self.dice.randrange(1, 30) if self.dice.random() < 0.1 else -1
        return Merge(TABLE, label, changes=changes, truncate=truncate)

    def _change(self, label: str) -> tuple[str, int, str | None]:
        key, sequence = f"k{self.dice.randrange(5)}", self.dice.randrange(1, 40)
        # of a key and a sequence there is one value
        return key, sequence, None if (sequence + int(key[1:])) % 3 == 0 else f"{key} at {sequence}"

    def _upkeep(self) -> Operation:
        action = self.dice.choice(("vacuum", "vacuum", "recover"))
        return Upkeep(TABLE, "upkeep", action=action, retention=RETENTION)

    def _read(self, name: str) -> None:
        process, _ = self.process(name)

        def run() -> None:
            for _ in range(2):
                process.go_on(self.dice.random() * 10)
                self._read_once(process)

        process.start(run)

    def _read_once(self, process: Process) -> None:
        """As an engine reads: ask where the files are, plan, and open them later."""
        since = len(self.checker.commits)
        locations = self.metastore.locations(TABLE)
        if locations is None:
            self.result.unread += 1
            return
        self.result.reads += 1
        process.go_on(self.dice.choice((0.0, 1.0, RETENTION.total_seconds() / 2)))
        empty = [one for one in locations if not self.world.files.list(one)]
        rows = rows_of(self.world.files, locations)
        known = [commit.rows for commit in self.checker.commits[max(0, since - 2) :]]
        if rows not in known and not (not rows and since <= 1):
            raise Violation(
                f"{process.name} read {rows}, which no version from {since - 1} on holds"
                f"{f'; these are empty: {empty}' if empty else ''}"
            )

    # -- what must hold ------------------------------------------------------------------------

    def check(self) -> None:
        """After all processes have ended: recovery, then every invariant of the whole run."""
        for process in self.processes:
            if process.error is not None and not isinstance(process.error, LakemergeError):
                raise process.error
        self.faults.left = 0
        self.world.timeline.pass_by(1000 * LEASE)
        process, kernel = self.process("last")
        process.start(lambda: self._finish(kernel))
        self.scheduler.run()
        if process.error is not None:
            raise process.error
        self._check_operations()
        self._check_rows()

    def _finish(self, kernel: Kernel) -> None:
        kernel.recover(TABLE)
        assert_whole(kernel, TABLE)
        assert_nothing_orphaned(kernel, TABLE)
        kernel.recover(TABLE)
        self.result.commits = len(self.checker.commits)

    def _take_batch(self, model: Model, commit: Commit) -> None:
        """The one commit of a stream's batch, or none of its openings."""
        added = Counter(commit.rows) - Counter(model.rows())
        for fact in (json.loads(row) for row in added.elements()):
            if fact in model.facts:
                raise Violation(f"version {commit.version} has the batch {fact} once more")
            model.facts.append(fact)

    def _check_operations(self) -> None:
        made: dict[str, int] = {}
        for commit in self.checker.commits:
            made[commit.manifest.txn] = commit.version
        for operation in self.result.operations:
            versions = [made[txn] for txn in operation.txns if txn in made]
            if len(versions) > 1:
                raise Violation(f"{operation} was committed {len(versions)} times: {versions}")
            acknowledged = operation.outcome == "acknowledged" and operation.version is not None
            if acknowledged and versions != [operation.version]:
                raise Violation(f"{operation} was acknowledged, and committed as {versions}")
            if operation.outcome == "unfinished" and not versions:
                raise Violation(f"{operation} is said to stand, and does not")
            if operation.outcome == "failed" and versions:
                raise Violation(f"{operation} is said to have failed, and is version {versions[0]}")

    def _check_rows(self) -> None:
        """Every version is what its operation makes of the version before: a serial execution."""
        by_txn = {txn: operation for operation in self.result.operations for txn in operation.txns}
        model = Model()
        for commit in self.checker.commits:
            operation = by_txn.get(commit.manifest.txn)
            if operation is not None:
                operation.apply(model)
            elif commit.manifest.writer.get("pid") in self.streams:
                self._take_batch(model, commit)
            elif commit.manifest.operation != FENCE:  # which leaves the rows as they are
                raise Violation(f"version {commit.version} ({commit.manifest.operation}) is nobody's")
            if commit.rows != model.rows():
                raise Violation(
                    f"version {commit.version} by {operation} holds {commit.rows}; expected {model.rows()}"
                )
        for operation in self.result.operations:
            if isinstance(operation, Batches) and operation.outcome == "acknowledged":
                missing = set(operation.facts()) - set(model.facts)
                if missing:
                    raise Violation(f"{operation} was acknowledged, and lacks {sorted(missing)}")
        shown = rows_of(self.world.files, self.metastore.locations(TABLE) or [])
        if shown != model.rows():
            raise Violation(f"the table shows {shown}; expected {model.rows()}")


def simulate(seed: int, prepare: Callable[[Run], None] = Run.start) -> Result:
    """Run a seed to its end.

    Returns:
        What it did; ``error`` says which invariant did not hold, if one did not.
    """
    run = Run(seed)
    result = run.result
    # every other world keeps its few partitions as if they were many
    few, longest = (1, 3) if seed % 2 else (manifests.FEW_PARTITIONS, manifests.LONGEST_CHAIN)
    try:
        with mock.patch.multiple(manifests, FEW_PARTITIONS=few, LONGEST_CHAIN=longest):
            prepare(run)
            run.scheduler.run()
            run.check()
    except Exception as error:  # noqa: BLE001 - whatever it is, the seed has found it
        result.error = f"{type(error).__name__}: {error}"
    result.faults, result.steps = run.faults.drawn, run.scheduler.steps
    return result
