"""Worlds of several tables, which some commits change together: who does what in them, and what must hold.

They have seeds of their own, from :data:`simulation.seeds.GROUPS` on; those of commits that wait to be published from
:data:`simulation.seeds.STAGED` on.
"""

from __future__ import annotations

import datetime
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from kernel.support import assert_nothing_orphaned, assert_whole, names_in_metastore
from lakemerge.errors import LakemergeError
from lakemerge.kernel import HiveTable, Kernel, TableDefinition, TableName
from lakemerge.kernel.maintenance.vacuum import vacuum
from lakemerge.kernel.table.layout import Layout
from lakemerge.kernel.table.manifest import FENCE, FOREIGN, RELEASE
from simulation import histories
from simulation.beside import BESIDE_THEMES
from simulation.checker import Checker, Violation
from simulation.histories import Elements, Key, Observed
from simulation.operations import COLUMNS, COMMIT_COLUMN, COMMIT_KEYS, KEYS, Operation, Upkeep
from simulation.overlays import FoldDeltas, IntoBase, Lay, Retire, TakeOff
from simulation.plan import Actor, Cut, Plan
from simulation.readers import look
from simulation.run import LEASE, Run
from simulation.scheduler import Process
from simulation.seeds import BESIDE, SERVED_GROUPS, STAGED
from simulation.served_groups import SERVED_GROUP_THEMES
from simulation.staged import PAUSES, STAGED_THEMES, Build
from simulation.strangers import Stranger
from simulation.themes import Theme
from simulation.transfers import LIST_KEYS, DropOne, History, Lists, Look, Transfer, lists_in

_DECIDES = ("alter_table", "alter_table", "create_table")
_MIXED = Theme(3, strangers=0.3, several=(1, 2, 3))
GROUP_THEMES = {
    "groups": _MIXED,
    # writers that sleep in the midst of claims, decisions and confirmations, and are taken for dead
    "sleeping groups": replace(
        _MIXED, weight=3, strangers=0.0, faults={"stop": 3, "slow": 1}, calls=_DECIDES, most=(1, 2, 3, 4)
    ),
    # writers that die there, and calls whose outcome nobody was told
    "dying groups": replace(
        _MIXED,
        weight=3,
        strangers=0.0,
        upkeep=0.7,
        faults={"die before": 3, "die after": 3, "lose reply": 3, "refuse": 1},
        calls=(*_DECIDES, "alter_partitions", "write_text", "get_table"),
        most=(1, 2, 3, 4),
    ),
    # what they have staged is cleared up meanwhile
    "cleared groups": replace(
        _MIXED,
        weight=1,
        strangers=0.0,
        upkeep=1.0,
        retention=40.0,
        faults={"stop": 4, "die before": 1},
        calls=("write_text", "alter_table", "list", "get_table"),
        most=(1, 2, 3),
    ),
    "dropped groups": replace(_MIXED, weight=2, strangers=0.0, most=(0, 1, 2, 3)),
    # some tables are merged on read, which comes and goes, and their deltas are compacted
    "groups on read": replace(_MIXED, weight=3, strangers=0.0, upkeep=0.6, most=(0, 1, 2, 3)),
}
#: What becomes of views and deltas beside such groups, each with how often it is drawn; no rows change.
_ON_READ = {Lay: 5, FoldDeltas: 4, IntoBase: 4, Retire: 2, TakeOff: 2}


@dataclass(frozen=True)
class GroupPlan(Plan):
    """A run to be, of several tables.

    Attributes:
        tables: as they are made, those that are there from the beginning first.
        there: how many of them are.
        on_read: those that are merged on read from then on.
    """

    tables: tuple[TableDefinition, ...] = ()
    there: int = 0
    on_read: frozenset[TableName] = frozenset()

    @property
    def rules(self) -> Theme:
        return {**GROUP_THEMES, **STAGED_THEMES, **SERVED_GROUP_THEMES, **BESIDE_THEMES}[self.theme]


class GroupPlanner:
    """Draws a plan."""

    def __init__(self, seed: int, history: History) -> None:
        self._dice = random.Random(f"{seed} plan")
        themes = STAGED_THEMES if seed >= STAGED else GROUP_THEMES
        if seed >= SERVED_GROUPS:
            themes = BESIDE_THEMES if seed >= BESIDE else SERVED_GROUP_THEMES
        names = list(themes)
        self._name = self._dice.choices(names, [themes[name].weight for name in names])[0]
        self._theme = themes[self._name]
        self._history = history

    def plan(self) -> GroupPlan:
        dice, theme = self._dice, self._theme
        tables = tuple(self._table(name) for name in "abcde"[: dice.choice((2, 2, 3, 4, 5))])
        there = len(tables) if dice.random() < 0.5 else dice.randrange(len(tables))
        order = dice.sample(tables, len(tables))
        on_read = [one.name for one in self._overlaid(order[:there]) if dice.random() < 0.7]
        actors = list(self._actors(tables))
        return GroupPlan(
            theme=self._name,
            kind="several",
            tears=dice.random() < theme.tears,
            batches=dice.random() < theme.batches,
            compares=dice.random() < theme.compares,
            adopts=False,
            actors=tuple(actors),
            tables=tuple(order),
            there=there,
            on_read=frozenset(on_read),
        )

    def _table(self, name: str) -> TableDefinition:
        keys, column = self._dice.choice(((KEYS, ""), (KEYS, ""), ((), ""), (COMMIT_KEYS, COMMIT_COLUMN)))
        return TableDefinition(TableName("s", name), COLUMNS, keys, commit_column=column)

    def _overlaid(self, tables: Iterable[TableDefinition]) -> list[TableDefinition]:
        """Those that may be merged on read."""
        return [one for one in tables if self._name == "groups on read" and not one.commit_column]

    def _actors(self, tables: tuple[TableDefinition, ...]) -> Iterator[Actor]:
        dice, theme = self._dice, self._theme
        for number in range(dice.choice((2, 3, 3))):
            work = [self._work(f"{number}.{one}", tables) for one in range(dice.choice(theme.several))]
            yield self._actor(f"writer {number}", work)
        if dice.random() < theme.upkeep:
            tidy = [self._upkeep(f"upkeep {one}", tables) for one in range(dice.choice((1, 2, 3)))]
            yield replace(
                self._actor("upkeep", tidy), delay=dice.choice((0.0, 3.0, 40.0, theme.retention + 10.0))
            )
        if dice.random() < theme.strangers:
            acts = tuple(("insert", f"s{one}") for one in range(dice.choice((1, 2))))
            if theme.acts:
                acts = tuple((dice.choice(theme.acts), f"s{one}") for one in range(dice.choice((1, 2, 3))))
            yield replace(self._actor("stranger", []), acts=acts)
        for number in range(dice.choice((1, 2, 3))):
            looks: list[Operation] = [
                Look(
                    tables[0].name, f"look {number}.{one}", names=self._some(tables, 2), history=self._history
                )
                for one in range(dice.choice((1, 2, 4)))
            ]
            yield replace(self._actor(f"look {number}", looks), delay=dice.choice((0.0, 0.5, 3.0, 30.0)))
        for number in range(dice.choice((0, 1, 2))):
            yield self._actor(f"reader {number}", [])

    def _actor(self, name: str, work: list[Operation]) -> Actor:
        dice = self._dice
        machine, skew = dice.choice(("one", "one", "")), dice.choice((0, 0, 0, -9, 9))
        return Actor(name, machine, skew, dice.choice((0.0, 0.0, 0.1, 3.0)), tuple(work))

    def _some(self, tables: tuple[TableDefinition, ...], least: int) -> tuple[TableName, ...]:
        count = self._dice.randrange(least, len(tables) + 1)
        return tuple(table.name for table in self._dice.sample(tables, count))

    def _work(self, label: str, tables: tuple[TableDefinition, ...]) -> Operation:
        dice, theme = self._dice, self._theme
        if self._name == "dropped groups" and dice.random() < 0.25:
            return DropOne(dice.choice(tables).name, label)
        overlaid = self._overlaid(tables)
        if overlaid and dice.random() < 0.35:
            kind = dice.choices(list(_ON_READ), list(_ON_READ.values()))[0]
            return kind(dice.choice(overlaid).name, label)
        names = self._some(tables, 2 if dice.random() < 0.75 else 1)
        appends = {name: tuple(dice.sample(LIST_KEYS, dice.choice((1, 1, 2)))) for name in names}
        definitions = {table.name: table for table in tables}
        whole = frozenset(
            name
            for name in names
            if not (overlaid or definitions[name].commit_column) and dice.random() < 0.15
        )
        transfer = Transfer(
            names[0], label, appends=appends, whole=whole, definitions=definitions, history=self._history
        )
        if theme.refuses and dice.random() < 0.4:
            transfer = replace(transfer, refused=dice.choice(names))
        if self._name in STAGED_THEMES and dice.random() < 0.6:
            pause, fails = dice.choice(PAUSES), dice.random() < 0.2
            return Build(**vars(transfer), pause=pause, fails=fails)
        return transfer

    def _upkeep(self, label: str, tables: tuple[TableDefinition, ...]) -> Operation:
        retention = datetime.timedelta(seconds=self._theme.retention)
        action = self._dice.choice(("vacuum", "recover", "recover"))
        return Upkeep(self._dice.choice(tables).name, label, action=action, retention=retention)


class _ListChecker(Checker):
    """Records the lists of each version as well, by the commit's transaction."""

    def start(self) -> None:
        self.lists: dict[str, Lists] = {}

    def _decided(self, name: TableName, table: HiveTable, version: int, txn: str) -> None:
        super()._decided(name, table, version, txn)
        commit = self.commits[-1]
        layout = Layout(table.parameters["lakemerge.root"])
        self.lists[txn] = lists_in(self.files, layout, commit.manifest, any_files=bool(self.emptied))


class GroupRun(Run):
    """See :func:`simulation.run.simulate`."""

    plan: GroupPlan

    def __init__(self, seed: int, cut: Cut) -> None:
        self.history = History()
        plan = GroupPlanner(seed, self.history).plan()
        self.names = [table.name for table in plan.tables]
        self._begin_world(seed, cut, plan, frozenset(self.names))
        self.lists = _ListChecker(self.world.files, frozenset(self.names))
        self.lists.start()
        self.lists.overwritten, self.lists.emptied = self.done.overwritten, self.done.emptied
        self.lists.metastore, self.lists.exact = self.metastore, not self.plan.tears
        self.checker = self.metastore.checker = self.lists

    # -- who does what -------------------------------------------------------------------------

    def _make(self) -> None:
        for table in self.plan.tables[: self.plan.there]:
            first = Transfer(
                table.name,
                f"first {table.name}",
                appends={table.name: ("k0",)},
                definitions={table.name: table},
                history=self.history,
            )
            lay = (Lay(table.name, f"lay {table.name}"),) if table.name in self.plan.on_read else ()
            self._begin(Actor(f"maker {table.name}", work=(first, *lay)))

    def _begin(self, actor: Actor) -> None:
        process, kernel = self.process(actor)
        self.result.operations += actor.work
        self.result.acts += len(actor.acts)
        table = next((one for one in self.plan.tables if not one.commit_column), self.plan.tables[0])
        keyed = not table.commit_column
        stranger = Stranger(process, self.world, table.name, self.dice, self.done, self.result.log, keyed)

        def run() -> None:
            for operation in actor.work:
                operation.run(kernel)
                process.go_on(self.dice.choice((0.0, 0.0, 5.0)))
            for action, label in actor.acts:
                process.go_on(self.dice.choice((0.0, 0.1, 1.0, 20.0)))
                if keyed:
                    stranger.run(action, label, 0)

        process.start(run, actor.delay)

    def _read_once(self, process: Process) -> None:
        """As an engine reads one table: ask where the files are, plan, and open them later."""
        name = self.dice.choice(self.names)
        since, began = len(self.checker.of(name)), self.world.timeline.seconds
        places = look(self.metastore, process, self.dice, name)
        if places is None:
            self.result.unread += 1
            return
        process.go_on(self.dice.choice((0.0, 1.0, self.plan.retention.total_seconds() / 2)))
        rows = self._without_strangers(places.rows(self.world.files))
        too_long = self.world.timeline.seconds - began >= self.plan.retention.total_seconds()
        theirs = self.done.partitions and name == self._met_by_strangers
        if self.checker.dropped or not since or too_long or theirs:
            self.result.unread += 1
            return  # what others dropped, moved or overwrote is theirs
        self.result.reads += 1
        known = [self._without_strangers(one.rows) for one in self.checker.of(name)[max(0, since - 2) :]]
        if rows not in known and not (not rows and since <= 1):
            raise Violation(
                f"{process.name} read {rows} of {name}, which no version from {since - 1} on holds"
            )

    # -- what must hold ------------------------------------------------------------------------

    def check(self) -> None:
        for process in self.processes:
            if process.error is not None and not isinstance(process.error, LakemergeError):
                raise process.error
        self.faults.calm = True
        self._end_refusal()
        if self.result.seed >= SERVED_GROUPS and not self.plan.strange:
            self._check_rest()
        self.world.timeline.pass_by(1000 * LEASE)
        process, kernel = self.process(Actor("last"))
        self._alone(process, lambda: self._finish(kernel))
        self._check_versions()
        self._check_ends()
        histories.check(self._lasting(), self._final())

    def _check_rest(self) -> None:
        """All have ended, and nobody has recovered anything: after one more commit to each table, that is shown."""
        process, kernel = self.process(Actor("next"))
        done: list[Operation] = []

        def run() -> None:
            if not self.plan.compares:
                process.go_on(self.metastore.lock_seconds)  # until what others have locked is free
            for table in self.plan.tables:
                name = table.name
                if kernel.exists(name):
                    key = LIST_KEYS[self.result.seed % len(LIST_KEYS)]
                    one = Transfer(
                        name,
                        f"next {name.name}",
                        appends={name: (key,)},
                        definitions={name: table},
                        history=self.history,
                    )
                    done.append(self._do(one, kernel))

        self._alone(process, run)
        if failed := [one for one in done if one.outcome != "acknowledged"]:
            raise Violation(f"nothing goes wrong any more, and {failed[0]}: {failed[0].error}")
        for one in done:
            self._check_table_at_rest(one.table)

    def _finish(self, kernel: Kernel) -> None:
        """Recovery of all tables, in any order, and vacuum; what is left is what is needed."""
        for name in self.dice.sample(self.names, len(self.names)):
            if kernel.exists(name):
                kernel.recover(name)
        for name in self.names:
            if not kernel.exists(name):
                kernel.drops.finish(name)
                continue
            assert_whole(kernel, name)
            if (
                self.done.rows or self.done.partitions or self.plan.theme in STAGED_THEMES
            ):  # what was left is there to be looked at
                for _ in range(2):
                    vacuum(
                        kernel, name, retention=self.plan.retention, dry_run=False, allow_short_retention=True
                    )
            else:
                assert_nothing_orphaned(kernel, name)
            kernel.recover(name)
            self._check_shown(name)
        known = {one for name in self.names for one in names_in_metastore(kernel, name)}
        left = {row.name for row in self.metastore.table_summaries("s")} - known
        if left:
            raise Violation(f"the metastore still has {sorted(left)}")
        self.result.commits = len(self.checker.commits)

    def _check_shown(self, name: TableName) -> None:
        places = self.metastore.locations(name)
        shown = places.rows(self.world.files) if places else []
        newest = self.checker.of(name)[-1]
        if shown != newest.rows and not self.done.rows:
            raise Violation(f"{name} shows {shown}; expected {newest.rows}")
        if name != self._met_by_strangers or any(name in one.whole for one in self._transfers()):
            return  # what came late into partitions of other columns is reported, and stays where it is
        for row, (value, _) in self.done.rows.items():
            if value in self.done.partitions:
                continue
            inserted = any(f"inserts {row} at" in line for line in self.result.log)
            if inserted and shown.count(row) != 1:
                raise Violation(f"{row} of another program is in {name} {shown.count(row)} times")

    def _transfers(self) -> list[Transfer]:
        return [one for one in self.result.operations if isinstance(one, Transfer)]

    @property
    def _met_by_strangers(self) -> TableName:
        return next((one for one in self.plan.tables if not one.commit_column), self.plan.tables[0]).name

    def _check_versions(self) -> None:
        """Each version is the one before and what its transaction appended."""
        by_txn = self._by_transaction()
        moves = {
            txn for one in self.result.operations if isinstance(one, tuple(_ON_READ)) for txn in one.txns
        }
        before: dict[str, Lists] = defaultdict(dict)
        for commit in self.checker.commits:
            lists = dict(before[commit.table_id])
            if seen := by_txn.get(commit.manifest.txn):
                for (table_id, key), elements in seen.appends.items():
                    if table_id == commit.table_id:
                        lists[key] = (*lists.get(key, ()), *elements)
            elif (
                commit.manifest.operation not in (FENCE, FOREIGN, RELEASE)
                and commit.manifest.txn not in moves
            ):
                raise Violation(f"version {commit.version} of {commit.table} is nobody's")
            found = {key: one for key, one in self.lists.lists[commit.manifest.txn].items() if one}
            for key in [one for one in {*found, *lists} if self._is_theirs(commit.table_id, one)]:
                lists.pop(key, None)
                if key in found:
                    lists[key] = found[key]
            if found != lists:
                raise Violation(f"version {commit.version} of {commit.table} has {found}; expected {lists}")
            before[commit.table_id] = lists

    def _is_theirs(self, table_id: str, key: str) -> bool:
        """Whether a list is in a partition that other programs have dropped, moved or overwritten."""
        if not self.done.concerns(key):
            return False
        return any(one.table_id == table_id for one in self.checker.of(self._met_by_strangers))

    def _check_ends(self) -> None:
        """What processes were told is so."""
        made = {commit.manifest.txn: commit for commit in self.checker.commits}
        for operation in self._transfers():
            if operation.waited and not self.faults.drawn:
                raise Violation(f"{operation} has waited in vain, and nobody died or slept")
            for txn, version in operation.versions.items():
                if txn not in made or made[txn].version != version:
                    raise Violation(f"{operation} was acknowledged as version {version}")

    def _by_transaction(self) -> dict[str, Observed]:
        by_label = {one.label: one for one in self.history}
        return {
            txn: by_label[label] for operation in self._transfers() for txn, label in operation.labels.items()
        }

    def _final(self) -> dict[Key, Elements]:
        """The lists as they were in the end; of dropped tables, as they were by then."""
        return {
            (table_id, key): elements
            for table_id, commit in self.checker.newest.items()
            for key, elements in self.lists.lists[commit.manifest.txn].items()
            if not self._is_theirs(table_id, key)
        }

    def _lasting(self) -> Iterator[Observed]:
        """What was seen, without what went with a table that was dropped in the midst of a commit."""
        made = {(commit.table_id, commit.manifest.txn) for commit in self.checker.commits}
        parts = dict(self._by_transaction().items())
        stood = defaultdict(set)
        for table_id, txn in made:
            if txn in parts:
                stood[parts[txn].label].add(table_id)
        for seen in self.history:
            gone = self.checker.dropped - stood[seen.label]
            yield replace(
                seen,
                appends={
                    key: one
                    for key, one in seen.appends.items()
                    if key[0] not in gone and not self._is_theirs(*key)
                },
                reads={key: one for key, one in seen.reads.items() if not self._is_theirs(*key)},
            )
