"""One seed: a world, some processes with work to do, what goes wrong, and what must hold at the end."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from unittest import mock

from kernel.support import assert_nothing_orphaned, assert_whole, make_plain
from lakemerge.errors import LakemergeError
from lakemerge.kernel import Kernel, Settings, TableName
from lakemerge.kernel.maintenance.vacuum import vacuum
from lakemerge.kernel.table import manifests
from lakemerge.kernel.table.manifest import FENCE, FOREIGN, RELEASE
from lakemerge.kernel.table.overlay import DELTAS, find_row
from lakemerge.kernel.table.side_tables import SIDE_TABLES
from lakemerge.testing import World
from simulation import consumers, ingests
from simulation.astray import judge
from simulation.checker import Checker, Commit, Violation
from simulation.consumers import OUTPUT, Consume
from simulation.drops import Remake
from simulation.faults import Faults
from simulation.folders import TIMES, TimedFiles
from simulation.forks import Parent
from simulation.ingests import Ingest, Land
from simulation.operations import Append, Model, Operation
from simulation.operators import Undo
from simulation.overlays import MergeOnRead
from simulation.places import Places
from simulation.plan import DEFINITIONS, TABLE, Actor, Cut, Plan, Planner, first_commit
from simulation.ports import Caller, ports_of_process
from simulation.readers import look
from simulation.refusals import NONE, Refusal
from simulation.scheduler import Process, Scheduler
from simulation.seeds import SERVED, has_several_tables
from simulation.served_work import Name
from simulation.strangers import Meddling, Stranger
from simulation.streams import Batches
from simulation.watched import WatchedMetastore

LEASE = 30
_WHOLE = Cut()


@dataclass
class Result:
    """What a run did: for the figures, and to show a failing one."""

    seed: int
    cut: Cut
    plan: Plan
    operations: list[Operation] = field(default_factory=list)
    acts: int = 0
    faults: list[tuple[int, str]] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    steps: int = 0
    commits: int = 0
    reads: int = 0
    unread: int = 0
    astray: int = 0
    beyond: bool = False
    error: str = ""


class Run:
    """See :func:`simulate`."""

    def __init__(self, seed: int, cut: Cut = _WHOLE) -> None:
        self._begin_world(seed, cut, Planner(seed).plan(), frozenset({TABLE, OUTPUT}))

    def _begin_world(self, seed: int, cut: Cut, plan: Plan, tables: frozenset[TableName]) -> None:
        self.plan = plan.without(cut.without)
        self.result = Result(seed, cut, self.plan)
        self.dice = random.Random(f"{seed} order {cut.reseed}")
        self.world = World(seed)
        if self.plan.rules.folders:
            self.world.files = TimedFiles(self.world.timeline, random.Random(f"{seed} folders").choice(TIMES))
        self.metastore = WatchedMetastore(self.world.timeline)
        self.metastore.refuses = self.plan.rules.refuses
        self.metastore.judges_late = self.plan.rules.judges_late
        self.metastore.honours_expectations = self.plan.compares
        self.metastore.lock_seconds = 1000.0
        self.world.metastore = self.metastore
        self.done = Meddling()
        self.checker = self.metastore.checker = Checker(self.world.files, tables)
        self.checker.overwritten, self.checker.emptied = self.done.overwritten, self.done.emptied
        self.checker.metastore, self.checker.exact = self.metastore, not self.plan.tears
        self.scheduler = Scheduler(self.dice, self.world.timeline)
        self.faults = Faults.of(random.Random(f"{seed} faults"), LEASE, cut.faults, self.plan.rules)
        self.processes: list[Process] = []
        self.streams: set[str] = set()  # the pids of processes with named streams
        self.earlier: Counter[str] = Counter()  # the rows of tables that were dropped

    # -- who does what -------------------------------------------------------------------------

    def process(self, actor: Actor) -> tuple[Process, Kernel]:
        """A new process with its kernel."""
        pid = self.world.new_pid()
        process = Process(self.scheduler, actor.name, pid, self.world.running)
        ports = ports_of_process(
            self.world,
            Caller(process, self.faults, self.result.log, self.checker, self._serve),
            machine=actor.machine or f"machine {pid}",
            skew=actor.skew,
            tears=self.plan.tears,
            batches=self.plan.batches,
        )
        settings = Settings(lease_seconds=LEASE, claim_timeout=20 * LEASE)
        self.processes.append(process)
        return process, Kernel(ports, settings)

    def _serve(self, name: str, run: Callable[[], None], delay: float) -> None:
        """Begin a process of a server. It has no pid that others could ask for."""
        process = Process(self.scheduler, name, 0, set())
        self.processes.append(process)
        process.start(run, delay)

    def start(self) -> None:
        """The table, then all processes beside each other."""
        self.faults.calm = True
        self._make()
        self.scheduler.run()
        self.faults.calm = False
        if calls := self.plan.rules.refuses_calls:
            dice = random.Random(f"{self.result.seed} refusal")
            self.metastore.refusal = Refusal.of(dice, calls, self.world.timeline.seconds)
        for actor in self.plan.actors:
            if actor.name.startswith("reader"):
                self._read(actor)
            else:
                self._begin(actor)

    def _make(self) -> None:
        if self.plan.adopts:
            part = "" if self.plan.kind == "whole" else "p=0"
            rows = json.dumps([["k0", 0, "plain"]])
            make_plain(Kernel(self.world.process()), TABLE, {part: [rows]})
        else:
            self._begin(Actor("maker", work=(first_commit(self.plan.kind),)))

    def _begin(self, actor: Actor) -> None:
        process, kernel = self.process(actor)
        if actor.name.startswith("stream"):
            self.streams.add(str(process.pid))
        self.result.operations += actor.work
        self.result.acts += len(actor.acts)
        keyed = self.plan.kind != "append"
        stranger = Stranger(process, self.world, TABLE, self.dice, self.done, self.result.log, keyed)
        parent = Parent(actor, kernel, self.process, self.result, TABLE, keyed)

        def run() -> None:
            for operation in actor.work:
                parent.doing = operation
                operation.run(kernel)
                process.go_on(self.dice.choice((0.0, 0.0, 5.0)))
            for action, label in actor.acts:
                process.go_on(self.dice.choice((0.0, 0.1, 1.0, 20.0)))
                stranger.run(action, label, len(self.checker.of(TABLE)))

        process.start(run, actor.delay)

    def _read(self, actor: Actor) -> None:
        process, _ = self.process(actor)

        def run() -> None:
            for _ in range(self.plan.rules.reads_each):
                process.go_on(self.dice.random() * 10)
                self._read_once(process)

        process.start(run, actor.delay if self.plan.rules.reads_late else 0.0)

    def _read_once(self, process: Process) -> None:
        """As an engine reads: ask where the files are, plan, and open them later."""
        since, began = len(self.checker.of(TABLE)), self.world.timeline.seconds
        places = look(self.metastore, process, self.dice, TABLE)
        if places is None:
            self.result.unread += 1
            return
        process.go_on(self.dice.choice((0.0, 1.0, self.plan.retention.total_seconds() / 2)))
        if places.astray:
            self._judge(process, places, since, began)
            return
        empty = [one for one in places.base if not self.world.files.list(one)]
        rows = self._without_strangers(places.rows(self.world.files))
        too_long = self.world.timeline.seconds - began >= self.plan.retention.total_seconds()
        if self.done.partitions or self.checker.dropped or not since or too_long:
            self.result.unread += 1
            return  # what others dropped or moved is theirs, and files stay for so long and no longer
        self.result.reads += 1
        commits = self.checker.of(TABLE)[max(0, since - 2) :]
        # where only the drop of what a version has emptied is refused, all else of it was shown before it was undone
        commits += self.checker.undone.values() if self.metastore.refusal.call == "drop_partition" else ()
        known = [self._without_strangers(commit.rows) for commit in commits]
        if rows not in known and not (not rows and since <= 1):
            raise Violation(
                f"{process.name} read {rows}, which no version from {since - 1} on holds"
                f"{f'; these are empty: {empty}' if empty else ''}"
            )

    def _judge(self, process: Process, places: Places, since: int, began: float) -> None:
        """Hold against the promises what is read while something is astray."""
        too_long = self.world.timeline.seconds - began >= self.plan.retention.total_seconds()
        if self.checker.dropped or not since or too_long:
            self.result.unread += 1
            return
        self.result.reads += 1
        self.result.astray += 1
        judge(self.checker, places, self.checker.of(TABLE)[max(0, since - 2) :], process.name)

    def _without_strangers(self, rows: list[str]) -> list[str]:
        return [row for row in rows if row not in self.done.rows]

    # -- what must hold ------------------------------------------------------------------------

    def check(self) -> None:
        """After all processes have ended: recovery, then every invariant of the whole run."""
        for process in self.processes:
            if process.error is not None and not isinstance(process.error, LakemergeError):
                raise process.error
        self.faults.calm = True
        self._end_refusal()
        self._check_rest()
        self._check_fences()
        self.world.timeline.pass_by(1000 * LEASE)
        process, kernel = self.process(Actor("last"))
        self._alone(process, lambda: self._finish(kernel))
        self._check_operations()
        model = self._check_rows()
        if self._consumed and not self.plan.rules.changes:
            facts = Counter(json.loads(row) for row in model.rows())
            consumers.check(self.checker.of(OUTPUT), facts, self.earlier)
        if self._lands:
            ingests.check(self.world.files, model.facts)

    def _end_refusal(self) -> None:
        """Somebody corrects what the metastore refuses; where there are operators, they end what is claimed before."""
        refusal = self.metastore.refusal
        if refusal.call and self.plan.rules.operators:
            process, kernel = self.process(Actor("operator"))
            # until what others have locked is free
            undo = Undo(TABLE, "undo", seconds=0.0 if self.plan.compares else self.metastore.lock_seconds)
            self._alone(process, lambda: self._do(undo, kernel))
            if (
                undo.outcome != "acknowledged"
                and not refusal.call.startswith("drop")
                and self.checker.of(TABLE)
            ):
                raise Violation(f"{refusal.call} is refused, and {undo}: {undo.error}")
        self.metastore.refusal = NONE

    def _check_rest(self) -> None:
        """All have ended, and nobody has recovered anything: what is acknowledged is shown.

        Where a process died, or a call took effect when its client had given up, nobody may have been left to put it
        right: then the next commit does, whatever it changes; or the metastore restarts at this moment.
        """
        harmless = {kind for _, kind in self.faults.drawn} <= {"stop", "slow", "fork"}
        sure = harmless and not self.plan.rules.refuses_calls
        if self.plan.strange or (not sure and (self.result.seed < SERVED or self.plan.rules.changes)):
            return
        left = any(one.outcome in ("unfinished", "doubtful") for one in self.result.operations)
        if left if sure else not self._commit_once_more():
            return
        self._check_table_at_rest(TABLE)

    def _check_table_at_rest(self, name: TableName) -> None:
        """A table, and what is shown beside it, is its newest version."""
        table = find_row(self.metastore, name)
        if table is None:
            return
        if self.metastore.has_late_swap(table):
            raise Violation(f"all have ended, and a partition of {name} shows an earlier version")
        if wrong := self.metastore.wrong_deltas(name, table) or self.metastore.wrong_quarantine(name, table):
            raise Violation(f"all have ended, and {wrong}")

    def _commit_once_more(self) -> bool:
        """Commit to some partition, by a process that knows nothing of the others; whether there is a table."""
        process, kernel = self.process(Actor("next"))
        append = self.plan.kind == "append"
        key = f"k{self.result.seed % 3}"
        one: Operation = (
            Append(TABLE, "next 0")
            if append
            else MergeOnRead(TABLE, "next", changes=((key, 70, f"{key} at 70"),))
        )
        done: list[bool] = []

        def run() -> None:
            if not self.plan.compares:
                process.go_on(self.metastore.lock_seconds)  # until what others have locked is free
            if kernel.exists(TABLE):
                self._do(one, kernel)
                done.append(True)

        self._alone(process, run)
        if done and one.outcome != "acknowledged":
            raise Violation(f"nothing goes wrong any more, and {one}: {one.error}")
        return bool(done)

    def _alone(self, process: Process, work: Callable[[], object]) -> None:
        """Run a process to its end, when all others have ended."""
        process.start(work)
        self.scheduler.run()
        if process.error is not None:
            raise process.error

    def _check_fences(self) -> None:
        """Vacuum takes nobody for dead where nothing has failed."""
        if self.checker.fenced and all(kind == "fork" for _, kind in self.faults.drawn):
            raise Violation(f"{sorted(self.checker.fenced)} were taken for dead, and were not")

    @property
    def _consumed(self) -> bool:
        return any(isinstance(one, Consume) for one in self.result.operations)

    @property
    def _lands(self) -> bool:
        return any(isinstance(one, Land) for one in self.result.operations)

    def _do(self, operation: Operation, kernel: Kernel) -> Operation:
        """Something more, after all that was planned."""
        self.result.operations.append(operation)
        operation.run(kernel)
        return operation

    def _finish(self, kernel: Kernel) -> None:
        if not kernel.exists(TABLE):
            self._do(Remake(TABLE, "again", definition=DEFINITIONS[self.plan.kind]), kernel)
        kernel.open(TABLE)
        kernel.recover(TABLE)
        assert_whole(kernel, TABLE)
        while self._lands and self._do(Ingest(TABLE, "rest"), kernel).version is not None:
            pass
        if self._consumed:
            consumers.drain(kernel, TABLE, changes=self.plan.rules.changes)
            if kernel.exists(OUTPUT):
                kernel.recover(OUTPUT)
                assert_nothing_orphaned(kernel, OUTPUT)
        self._forget_names(kernel)
        if self.done.rows or self.done.partitions:
            # what strangers leave is theirs; and what came late may be taken in
            for _ in range(2):
                vacuum(
                    kernel, TABLE, retention=self.plan.retention, dry_run=False, allow_short_retention=True
                )
            kernel.recover(TABLE)
            assert_whole(kernel, TABLE)
        else:
            # what a consumer still needs is no garbage
            kernel.files.delete(kernel.open(TABLE).layout.pins)
            assert_nothing_orphaned(kernel, TABLE)
        kernel.recover(TABLE)
        self._check_metastore()
        self.result.commits = len(self.checker.commits)

    def _forget_names(self, kernel: Kernel) -> None:
        """Take the names of versions away, which would keep their files."""
        names = kernel.settled(TABLE)[1].references
        for name in names:
            self._do(Name(TABLE, name, forgets=True), kernel)

    def _check_metastore(self) -> None:
        """No row is left that was on its way to a table's name, or from it."""
        known = {TABLE.name, OUTPUT.name, f"{OUTPUT.name}__consumers", f"{TABLE.name}__quarantine"}
        row = find_row(self.metastore, TABLE)
        if row is not None and row.name != TABLE:
            known |= {row.name.name, SIDE_TABLES[DELTAS].name_of(TABLE).name}
        left = {row.name for row in self.metastore.table_summaries(TABLE.schema)} - known
        if left:
            raise Violation(f"the metastore still has {sorted(left)}")

    def _take_batch(self, model: Model, commit: Commit) -> None:
        """The one commit of a stream's batch, or none of its openings."""
        added = Counter(commit.rows) - Counter(model.rows())
        for fact in (json.loads(row) for row in added.elements()):
            if fact in model.facts:
                raise Violation(f"version {commit.version} has the batch {fact} once more")
            model.facts.append(fact)

    def _check_operations(self) -> None:
        made = {commit.manifest.txn: commit for commit in self.checker.commits}
        for operation in self.result.operations:
            if operation.misses_files(self.plan.retention, self.checker.dropped or self.done.emptied):
                raise Violation(f"{operation} found files gone, and nobody has dropped the table")
            commits = [made[txn] for txn in operation.txns if txn in made]
            versions = [commit.version for commit in commits]
            if len({commit.table_id for commit in commits}) < len(commits):
                raise Violation(f"{operation} was committed {len(versions)} times: {versions}")
            acknowledged = operation.outcome == "acknowledged" and operation.version is not None
            if acknowledged and versions[-1:] != [operation.version]:
                raise Violation(f"{operation} was acknowledged, and committed as {versions}")
            undone = self.checker.undone.keys() & operation.txns
            if operation.outcome == "unfinished" and operation.txns and not (versions or undone):
                raise Violation(f"{operation} is said to stand, and does not")
            # of a commit that was dropped with its table it does not matter what is said
            lasting = [commit for commit in commits if commit.table_id not in self.checker.dropped]
            if self.faults.cut and operation.outcome in ("unfinished", "doubtful"):
                raise Violation(f"{operation}: its calls were carried out, and somebody could have looked")
            if operation.outcome == "failed" and lasting:
                raise Violation(f"{operation} is said to have failed, and is version {versions[0]}")

    def _check_rows(self) -> Model:
        """Every version is what its operation makes of the version before: a serial execution."""
        by_txn = {txn: operation for operation in self.result.operations for txn in operation.txns}
        model, table_id = Model(), ""
        for commit in self.checker.of(TABLE):
            if table_id not in ("", commit.table_id):
                if table_id not in self.checker.dropped:
                    raise Violation(f"another table is in the place of {table_id}, which nobody has dropped")
                self.earlier.update(model.facts)
                model = Model()
            table_id = commit.table_id
            operation = by_txn.get(commit.manifest.txn)
            self._apply(model, commit, operation)
            model.past[commit.manifest.txn] = model.copy()
            if commit.rows != model.rows():
                raise Violation(
                    f"version {commit.version} by {operation} holds {commit.rows}; expected {model.rows()}"
                )
        self._check_end(model)
        return model

    def _apply(self, model: Model, commit: Commit, operation: Operation | None) -> None:
        """What a commit makes of the rows; ``None`` where it is none of the planned operations."""
        if operation is not None:
            operation.decided = commit.manifest.txn
            operation.apply(model)
        elif commit.manifest.operation == FOREIGN and (self.done.rows or self.done.partitions):
            self.done.take_into(model, commit.version, commit.rows)
        elif commit.manifest.operation == "adopt" and self.plan.adopts:
            model.keyed["k0"] = (0, "plain")
            if self.done.rows or self.done.partitions:
                self.done.take_into(model, commit.version, commit.rows)
        elif commit.manifest.writer.get("pid") in self.streams:
            self._take_batch(model, commit)
        elif commit.manifest.operation not in (FENCE, RELEASE):  # which leave the rows as they are
            raise Violation(f"version {commit.version} ({commit.manifest.operation}) is nobody's")

    def _check_end(self, model: Model) -> None:
        for operation in self.result.operations:
            if isinstance(operation, Batches):
                alone = self.plan.rules.names.count(operation.writer) == 1
                undisturbed = alone and not (self.faults.drawn or self.checker.dropped)
                retention = self.plan.retention.total_seconds()
                operation.check(model.facts, undisturbed=undisturbed, retention=retention)
        places = self.metastore.locations(TABLE)
        shown = places.rows(self.world.files) if places else []
        if shown != model.rows():
            raise Violation(f"the table shows {shown}; expected {model.rows()}")
        self._check_strangers(set(model.rows()))
        table = self.metastore.get_table(TABLE)
        counted = table.parameters.get("spark.sql.statistics.numRows") if table else None
        if counted is not None and int(counted) != len(shown):
            raise Violation(f"numRows is {counted}, and the table shows {len(shown)} rows")

    def _check_strangers(self, rows: set[str]) -> None:
        """What other programs inserted is there, unless a commit or a program replaced what was in its place."""
        by_txn = {txn: operation for operation in self.result.operations for txn in operation.txns}
        for row, (value, since) in self.done.rows.items():
            # what was claimed when it was planned may not have been swapped
            commits = self.checker.of(TABLE)[max(0, since - 1) :]
            later = [by_txn.get(commit.manifest.txn) for commit in commits]
            replacing = ("Replace", "Rewrite", "Overwrite", "ByCondition")
            replaced = any(type(one).__name__ in replacing for one in later)
            if row not in rows and not replaced and value not in self.done.partitions:
                written = any(f"inserts {row}" in line for line in self.result.log)
                if written or value == "9":
                    raise Violation(f"{row} of another program is not in the table")


def simulate(seed: int, cut: Cut = _WHOLE) -> Result:
    """Run a seed to its end.

    Returns:
        What it did; ``error`` says which invariant did not hold, if one did not.
    """
    run = _run_of(seed, cut)
    result = run.result
    # every other world keeps its few partitions as if they were many
    few, longest = (1, 3) if seed % 2 else (manifests.FEW_PARTITIONS, manifests.LONGEST_CHAIN)
    try:
        with mock.patch.multiple(manifests, FEW_PARTITIONS=few, LONGEST_CHAIN=longest):
            run.start()
            run.scheduler.run()
            run.check()
    except Exception as error:  # noqa: BLE001 - whatever it is, the seed has found it
        result.beyond = bool(run.checker.beyond)
        result.error = "" if result.beyond else f"{type(error).__name__}: {error}"
    result.faults, result.steps = run.faults.drawn, run.scheduler.steps
    return result


def _run_of(seed: int, cut: Cut) -> Run:
    from simulation.groups import GroupRun  # it builds on this module

    return GroupRun(seed, cut) if has_several_tables(seed) else Run(seed, cut)
