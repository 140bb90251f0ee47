"""What must hold of every run, whatever went wrong in it.

The checker sees each change of the metastore itself, so it knows which commits were decided, in what order, and what a
reader finds after each; no process tells it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

from lakemerge.kernel import HivePartition, HiveTable, Manifest, TableName
from lakemerge.kernel.ports.filesystem import FileSystem, Fingerprint
from lakemerge.kernel.ports.names import partition_name
from lakemerge.kernel.protocol.groups import Group, Member
from lakemerge.kernel.table.definition import ROOT, TABLE_ID, TRANSACTION, UNDECIDED, VERSION
from lakemerge.kernel.table.layout import Layout, normal
from lakemerge.kernel.table.manifest import FENCE
from lakemerge.kernel.table.overlay import (
    BASE,
    DELTAS,
    FOLDED,
    MADE_BY,
    base_name,
    find_row,
    is_overlay_view,
    model_name,
)
from lakemerge.kernel.table.side_tables import SIDE_TABLES
from lakemerge.testing import MemoryMetastore, Timeline

# The names of deltas in a view's text.
_NAMES = re.compile("'([^']+)'")
#: The rows of a version: facts as texts, sorted, with repeats.
Rows = list[str]


class Violation(AssertionError):
    """An invariant that does not hold."""


class Beyond(Exception):
    """Something that the protocol does not promise to withstand: a run in which it happens says nothing."""


@dataclass
class Commit:
    """A decided commit.

    Attributes:
        rows: what its files hold, by the manifest.
    """

    table: TableName
    table_id: str
    version: int
    manifest: Manifest
    rows: Rows


@dataclass
class Checker:
    """Records the commits of tables and holds each against the one before.

    Attributes:
        newest: the last commit by the table's id.
        metastore: where they are; set after both are made.
        dropped: the ids of tables that were.
        overwritten: what other programs have put in the place of all files of a directory: row, directory and time.
        emptied: the directories that they have deleted files in.
        staged: when the last file of a transaction was written.
        beyond: why the run says nothing; empty where it does.
        exact: whether processes see rows of the metastore as they are.
        groups: the commits of several tables that were decided.
        fenced: the transactions that were taken for dead while they had a heartbeat.
    """

    files: FileSystem
    tables: frozenset[TableName]
    commits: list[Commit] = field(default_factory=list)
    newest: dict[str, Commit] = field(default_factory=dict)
    metastore: WatchedMetastore | None = None
    dropped: set[str] = field(default_factory=set)
    overwritten: list[tuple[str, str, float]] = field(default_factory=list)
    emptied: set[str] = field(default_factory=set)
    _rows: dict[tuple[str, str], Rows] = field(default_factory=dict)
    staged: dict[str, float] = field(default_factory=dict)
    beyond: str = ""
    exact: bool = True
    groups: set[str] = field(default_factory=set)
    fenced: set[str] = field(default_factory=set)

    @property
    def rows(self) -> frozenset[TableName]:
        """The names that the rows of the tables' versions may have."""
        return self.tables | {base_name(name) for name in self.tables}

    # -- what is told --------------------------------------------------------------------------

    def sent(self, call: str, *args: Any) -> None:
        """See :class:`simulation.ports.Watch`."""
        looks = {
            "alter_partitions": self._swap_is_sent,
            "drop_partition": self._drop_is_sent,
            "alter_table": self._row_is_sent,
        }
        if self.exact and call in looks and args[0] in self.rows:
            looks[call](*args)

    def answered(self, call: str, *args: Any) -> None:
        """See :class:`simulation.ports.Watch`."""
        if call == "write_text" and self.metastore is not None:
            _, _, below = args[0].partition("/_lakemerge/data/")
            self.staged[below.partition("/")[0]] = self.metastore.timeline.seconds

    def _newest_of(self, name: TableName) -> tuple[HiveTable, Commit] | None:
        assert self.metastore is not None
        table = self.metastore.get_table(name)
        if table is None or is_overlay_view(table):
            return None
        newest = self.newest.get(table.parameters.get(TABLE_ID, ""))
        return (table, newest) if newest else None

    def _row_is_sent(self, name: TableName, row: HiveTable) -> None:
        """A row may take the place of the next table's of its name, but nobody sends one when that is there."""
        if row.parameters.get(TABLE_ID) in self.dropped and self._newest_of(name) is not None:
            raise Violation(f"{name}: a row of another table is sent, which was dropped")

    def _drop_is_sent(self, name: TableName, values: Sequence[str]) -> None:
        """Nobody sends a drop of a partition that the newest commit has."""
        if self.has_partition(name, values):
            raise Violation(f"{name}: a drop of {values} is sent when the newest version has it")

    def has_partition(self, name: TableName, values: Sequence[str]) -> bool:
        """Whether the newest commit has a partition."""
        found = self._newest_of(name)
        if found is None:
            return False
        columns = [column.name for column in found[0].partition_columns]
        return partition_name(columns, list(values)) in found[1].manifest.partitions

    def is_beyond(self, what: str) -> None:
        """End the run: it has come to where the promises end."""
        self.beyond = what
        raise Beyond(what)

    def _swap_is_sent(self, name: TableName, rows: Sequence[HivePartition]) -> None:
        """A swap may come too late, but nobody sends one whose commit is not the newest at that very moment."""
        found = self._newest_of(name)
        if found is None:
            return
        table, newest = found
        layout = Layout(table.parameters[ROOT])
        right = {normal(layout.absolute(one.location)) for one in newest.manifest.partitions.values()}
        right.add(normal(layout.empty_of(newest.manifest.txn)))
        for row in rows:
            if layout.owns(row.location) and normal(row.location) not in right:
                raise Violation(
                    f"{name}: a swap to {row.location} is sent when version {newest.version} is there"
                )

    def changed(self, name: TableName, before: HiveTable | None, after: HiveTable | None) -> None:
        """Take in a change of a table's row."""
        if after is None or is_overlay_view(after) or model_name(after) not in self.tables:
            return  # a row on its way to a table's name, or from it
        name = model_name(after)
        old = before.parameters.get(VERSION) if before else None
        new = after.parameters.get(VERSION) if after else None
        if new is None or new == old or new.endswith(UNDECIDED):
            return
        if old is not None and old.endswith(UNDECIDED):
            self._group_moves(after, old, new)
            if int(new.partition(":")[0]) < int(old.partition(":")[0]):
                return  # taken back
        claimed = ":" in new
        txn = new.split(":")[1] if claimed else after.parameters[TRANSACTION]
        if old == f"{new}:{txn}":
            return  # settled what was decided
        if before is None and self._is_cleared(Layout(after.parameters[ROOT]), txn):
            return  # its maker slept while its files were deleted, and is about to find that out
        known = self.newest.get(after.parameters[TABLE_ID])
        if known is not None and known.manifest.txn == txn:
            return  # its row was made anew
        self._decided(name, after, int(new.partition(":")[0]), txn)

    def _is_cleared(self, layout: Layout, txn: str) -> bool:
        """Whether a transaction that makes a table was taken for dead, and what it has made was deleted."""
        paths = (layout.manifest_of(txn), layout.creation_of(txn))
        return not any(self.files.exists(path) for path in paths)

    def _group_moves(self, table: HiveTable, old: str, new: str) -> None:
        """Look at a group when one of its claims, which say that nothing is decided, becomes something else.

        It stands by the first of them, when all are there. Then none of them is taken back, and only then are others
        confirmed.
        """
        txn = old.partition(":")[2].removesuffix(UNDECIDED)
        path = Layout(table.parameters[ROOT]).group_of(txn)
        group = Group.from_json(self.files.read_text(path), path)
        stands = new.endswith(f":{txn}")
        if group.first.txn == txn and stands:
            missing = [str(one.table) for one in group.members[1:] if not self._has_mark(one)]
            if missing:
                raise Violation(f"{table.name}: a group is decided without the claims of {missing}")
            self.groups.add(txn)
        elif (group.first.txn in self.groups) != stands:
            raise Violation(f"{table.name}: a group's claim becomes {new}, decided is {sorted(self.groups)}")

    def drop(self, table: HiveTable) -> None:
        """Take in that a table goes; a claim of a group that is not confirmed yet stood if the group does."""
        value = table.parameters.get(VERSION, "")
        version, _, txn = value.removesuffix(UNDECIDED).partition(":")
        if value.endswith(UNDECIDED):
            path = Layout(table.parameters[ROOT]).group_of(txn)
            if Group.from_json(self.files.read_text(path), path).first.txn in self.groups:
                self._decided(model_name(table), table, int(version), txn)
        self.dropped.add(table.parameters.get(TABLE_ID, ""))

    def withdrawn(self, table: HiveTable) -> None:
        """Take in that a maker has come too late, and has dropped its own row, under another name."""
        newest = self.newest.get(table.parameters.get(TABLE_ID, ""))
        if newest is None or newest.manifest.parent is not None:
            return
        txn = newest.manifest.txn
        if table.name.name.endswith(f"__old_{txn[-12:]}"):
            closed = not self.files.exists(Layout(table.parameters[ROOT]).creation_of(txn))
            self.dropped.update([newest.table_id] if closed else [])

    def _has_mark(self, member: Member) -> bool:
        """Whether a table has its claim; one that was dropped needs none."""
        assert self.metastore is not None
        row = find_row(self.metastore, member.table)
        if row is None or row.parameters.get(TABLE_ID) != member.table_id:
            return member.table_id in self.dropped
        return row.parameters[VERSION].endswith(f":{member.txn}{UNDECIDED}")

    def _decided(self, name: TableName, table: HiveTable, version: int, txn: str) -> None:
        layout, table_id = Layout(table.parameters[ROOT]), table.parameters[TABLE_ID]
        path = layout.manifest_of(txn)
        before = self.newest.get(table_id)
        manifest = Manifest.from_json(self.files.read_text(path), path)
        if table_id in self.dropped:
            raise Violation(f"{name}: version {version} is decided when the table was dropped")
        if before is None and version != (0 if manifest.operation == "adopt" else 1):
            raise Violation(f"{name}: the first version is {version}")
        if manifest.version != version or manifest.table_id != table_id:
            raise Violation(f"{name}: version {version} is decided with a manifest of {manifest.version}")
        if before is not None and (version, manifest.parent) != (before.version + 1, before.manifest.txn):
            raise Violation(
                f"{name}: version {version} ({txn}) follows on {before.version} ({before.manifest.txn}), "
                f"and its manifest on {manifest.parent}"
            )
        if manifest.delta is not None and before is not None:
            kept = before.manifest.partitions.items()
            states = {name: state for name, state in kept if name not in manifest.removed}
            manifest = replace(manifest, partitions={**states, **manifest.partitions})
        if before is not None:
            self._check_looks(layout, manifest, before)
        rows = self._rows_of_version(layout, manifest)
        counted = manifest.properties.get("rows")
        if counted is not None and counted != len(rows):
            raise Violation(f"{name}: version {version} says that it has {counted} rows, and has {len(rows)}")
        highest = manifest.properties.get("highest")
        if highest is not None and any(
            json.loads(row)[1] > max(highest) for row in rows if row.startswith("[")
        ):
            raise Violation(
                f"{name}: version {version} has met sequences up to {highest}, and its rows are newer"
            )
        if manifest.operation == FENCE:
            beating = (txn for txn in manifest.fenced if self.files.exists(layout.heartbeat_of(txn)))
            self.fenced.update(beating)
        commit = Commit(name, table_id, version, manifest, rows)
        self.commits.append(commit)
        self.newest[table_id] = commit

    def _check_looks(self, layout: Layout, manifest: Manifest, before: Commit) -> None:
        """Who has read a partition looks at it once more when all is staged, and finds what is there by then."""
        if manifest.unread is None:
            return
        for partition in manifest.touched & before.manifest.partitions.keys() - set(manifest.unread):
            here = normal(layout.absolute(before.manifest.partitions[partition].location))
            for row, location, at in self.overwritten:
                unseen = row not in before.rows and normal(location) == here
                if unseen and at < self.staged.get(manifest.txn, 0.0) and row in rows_of(self.files, [here]):
                    raise Violation(
                        f"version {manifest.version} has replaced {row} of another program, unread"
                    )

    def _rows_of_version(self, layout: Layout, manifest: Manifest) -> Rows:
        """What its directories held when they were committed, without what other programs have added since."""
        facts: Rows = []
        for state in manifest.partitions.values():
            location = layout.absolute(state.location)
            known = (normal(location), state.digest)
            if location not in self.emptied or known not in self._rows:
                added = self.files.added_since(location, Fingerprint(state.files, state.bytes, state.digest))
                self._rows[known] = rows_of(
                    self.files, [location], without={entry.path for entry in added or ()}
                )
            facts += self._rows[known]
        if manifest.overlay is None:
            return sorted(facts)
        folders = manifest.sidecars.get(DELTAS, ())
        return merged_rows(facts, rows_of(self.files, [layout.absolute(folder) for folder in folders]))

    def of(self, name: TableName) -> list[Commit]:
        """The commits of a table."""
        return [commit for commit in self.commits if commit.table == name]


@dataclass(frozen=True)
class Places:
    """Where a reader finds a table's files, and those of the deltas that its view lays over them."""

    base: list[str]
    deltas: list[str]

    def rows(self, files: FileSystem) -> Rows:
        """What the reader sees."""
        return merged_rows(rows_of(files, self.base), rows_of(files, self.deltas))


def merged_rows(base: Rows, deltas: Rows) -> Rows:
    """What a view shows: the base's rows whose key no delta has, and the newest of each key that is in one."""
    newest: dict[str, list[Any]] = {}
    for row in map(json.loads, deltas):
        if row[0] not in newest or newest[row[0]][3] < row[3]:
            newest[row[0]] = row
    if not newest:
        return sorted(base)
    stored = map(json.loads, base)
    kept = [row for row in stored if not isinstance(row, list) or row[0] not in newest]
    return sorted(
        json.dumps(row) for row in (*kept, *(row[:3] for row in newest.values() if row[2] is not None))
    )


class WatchedMetastore(MemoryMetastore):
    """Tells a checker of every change of a table's row.

    Attributes:
        checker: whom; set after both are made.
    """

    checker: Checker

    def __init__(self, timeline: Timeline) -> None:
        super().__init__(timeline)
        self.timeline = timeline

    def create_table(self, table: HiveTable) -> None:
        super().create_table(table)
        self.checker.changed(table.name, None, table)

    def alter_table(
        self, name: TableName, table: HiveTable, *, expected: tuple[str, str] | None = None
    ) -> None:
        before = self.get_table(name)
        super().alter_table(name, table, expected=expected)
        if before and TABLE_ID in before.parameters and not _is_one(before, table):
            if table.parameters.get(TABLE_ID, "") not in self.checker.dropped:
                raise Violation(f"{name}: another table takes the place of one that nobody has dropped")
            self.checker.is_beyond(f"{name}: a row was sent before the table was dropped and made again")
        self.checker.changed(name, before, table)

    def drop_table(self, name: TableName) -> None:
        table = self.get_table(name)
        if table is not None and model_name(table) in self.checker.tables and not is_overlay_view(table):
            self.checker.drop(table)
        super().drop_table(name)
        if table is not None:
            self.checker.withdrawn(table)

    def drop_partition(self, name: TableName, values: Sequence[str]) -> None:
        if self.checker.has_partition(name, values):
            self.checker.is_beyond(f"{name}: a drop was sent before the partition was made again")
        super().drop_partition(name, values)

    def locations(self, name: TableName) -> Places | None:
        """Where a reader that asks once finds the files of a table; ``None`` where there is none.

        And ``None`` while a swap that came too late is not put right yet: what readers see then is documented.
        """
        table = self.get_table(name)
        if table is None or not is_overlay_view(table):
            base, view = self.base_places(table), None
        else:
            base, view = self.base_places(self.base_of(table)), table
        if base is None:
            return None
        return Places(base, list(self.named_deltas(view).values()) if view else [])

    def base_of(self, view: HiveTable) -> HiveTable | None:
        """The row of the base that a view names."""
        return self.get_table(TableName(view.name.schema, view.parameters[BASE]))

    def base_places(self, table: HiveTable | None) -> list[str] | None:
        """Where a table's files are; ``None`` where there is none, or a late swap is not put right yet."""
        return None if table is None or self.has_late_swap(table) else self._places_of(table)

    def named_deltas(self, view: HiveTable) -> dict[str, str]:
        """Where the deltas are that a view names. Raises Violation where one is not in their table."""
        named, deltas = set(_NAMES.findall(view.view_text)), _deltas_of(view.name)
        rows = self.partitions(deltas, self.partition_names(deltas)) if self.get_table(deltas) else ()
        places = {row.values[0]: row.location for row in rows}
        if not named <= places.keys():
            raise Violation(f"{view.name} names {sorted(named)}, and there are {sorted(places)}")
        return {name: places[name] for name in sorted(named)}

    def _places_of(self, table: HiveTable | None) -> list[str]:
        if table is None:
            return []
        rows: Sequence[HivePartition] = self.partitions(table.name, self.partition_names(table.name))
        return [row.location for row in rows] if table.partitioned else [table.location]

    def has_late_swap(self, table: HiveTable) -> bool:
        """Whether a partition points to the files of an earlier commit, which the newest has no use for."""
        newest = self.checker.newest.get(table.parameters.get(TABLE_ID, ""))
        if newest is None or not table.partitioned:
            return False
        layout = Layout(table.parameters[ROOT])
        of_version = [
            {layout.absolute(state.location) for state in commit.manifest.partitions.values()}
            for commit in self.checker.commits
            if commit.version in (newest.version, newest.version - 1)
        ]
        found = self._places_of(table)
        known = set().union(*of_version)
        return any(one not in known and not one.startswith(layout.empty) for one in found)

    def wrong_deltas(self, name: TableName, table: HiveTable) -> str:
        """What is wrong with the view of a table that is at rest, and with the deltas that it shows; else empty.

        Args:
            table: the row that has the versions.
        """
        newest = self.checker.newest.get(table.parameters.get(TABLE_ID, ""))
        shown, view = self.get_table(_deltas_of(name)), self.get_table(name)
        if newest is None or view is None:
            return "" if newest is None else "its view is missing"
        manifest = newest.manifest
        if manifest.overlay is None:
            return "" if shown is None else "there is a table of deltas without a view"
        if view.parameters.get(MADE_BY) != manifest.overlay.made_by:
            return "its view is another version's"
        folders = (*manifest.sidecars.get(DELTAS, ()), *manifest.sidecars.get(FOLDED, ()))
        layout = Layout(table.parameters[ROOT])
        wanted, found = sorted(map(layout.absolute, folders)), sorted(self._places_of(shown))
        if found != wanted:
            return f"its table of deltas has {found}; expected {wanted}"
        names = manifest.overlay.naming(manifest.sidecars.get(DELTAS, ()))
        return "" if view.view_text == names else f"its view names {view.view_text}; expected {names}"


def _deltas_of(name: TableName) -> TableName:
    return SIDE_TABLES[DELTAS].name_of(name)


def _is_one(one: HiveTable, other: HiveTable) -> bool:
    """Whether two rows are of one table, and not of two that had its name one after the other."""
    return one.parameters.get(TABLE_ID) == other.parameters.get(TABLE_ID)


def rows_of(files: FileSystem, locations: Sequence[str], without: Set[str] = frozenset()) -> Rows:
    """The facts in the data files of directories. Each file is a JSON array of them.

    Args:
        without: paths of files that are passed over.
    """
    facts: list[Any] = []
    for location in locations:
        for entry in files.list(location):
            if not entry.is_directory and entry.name[:1] not in "_." and entry.path not in without:
                text = files.read_text(entry.path)
                # what streams write is a line a row
                facts += json.loads(text) if text.startswith("[") else text.splitlines()
    return sorted(json.dumps(fact) for fact in facts)
