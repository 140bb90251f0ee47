"""What must hold of every run, whatever went wrong in it.

The checker sees each change of the metastore itself, so it knows which commits were decided, in what order, and what a
reader finds after each; no process tells it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lakemerge.kernel import HivePartition, HiveTable, Manifest, TableName
from lakemerge.kernel.ports.filesystem import FileSystem, Fingerprint
from lakemerge.kernel.ports.names import partition_name
from lakemerge.kernel.protocol.groups import Group, Member
from lakemerge.kernel.table.definition import (
    ASIDE,
    ROOT,
    TABLE_ID,
    TRANSACTION,
    UNDECIDED,
    VERSION,
    version_number,
)
from lakemerge.kernel.table.layout import Layout, normal
from lakemerge.kernel.table.manifest import FENCE, RELEASE
from lakemerge.kernel.table.overlay import (
    DELTAS,
    base_name,
    find_row,
    is_overlay_view,
    model_name,
)
from simulation.intents import Violation
from simulation.places import Rows, merged_rows, rows_of
from simulation.watched import WatchedMetastore


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
        undone: the commits that the metastore refused and an operator has ended, by transaction.
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
    undone: dict[str, Commit] = field(default_factory=dict)
    _layouts: dict[str, Layout] = field(default_factory=dict)
    _groups_of: dict[str, Group] = field(default_factory=dict)

    @property
    def rows(self) -> frozenset[TableName]:
        """The names that the rows of the tables' versions may have."""
        return self.tables | {base_name(name) for name in self.tables}

    # -- what is told --------------------------------------------------------------------------

    def sent(self, process: int, call: str, *args: Any) -> None:
        """See :class:`simulation.ports.Watch`."""
        if call == "delete" and self.exact and "/_lakemerge/data/" in args[0]:
            assert self.metastore is not None
            self.metastore.pointers.check_deletion(process, args[0])
        looks: dict[str, Callable[..., None]] = {
            "alter_partitions": self._swap_is_sent,
            "drop_partition": self._drop_is_sent,
            "alter_table": self._row_is_sent,
        }
        if self.exact and call in looks and args[0] in self.rows:
            looks[call](*args)

    def answered(self, process: int, call: str, *args: Any) -> None:
        """See :class:`simulation.ports.Watch`."""
        if call == "partitions" and self.metastore is not None:
            self.metastore.pointers.has_asked(process, *args)
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
        """A row may take the place of the next table's of its name, but nobody sends one when that is there.

        If a late call has made a dropped table again, its row is sent only under another name: it goes.
        """
        if ASIDE in row.parameters:
            return  # it goes, and only if it is still the one that was read
        found = self._newest_of(name) if row.parameters.get(TABLE_ID) in self.dropped else None
        if found is None:
            return
        if found[1].table_id != row.parameters[TABLE_ID] or row.name == name:
            raise Violation(f"{name}: a row of another table is sent, which was dropped")

    def _drop_is_sent(self, name: TableName, values: Sequence[str]) -> None:
        """Nobody sends a drop of a partition that the newest commit has."""
        if self.has_partition(name, values) is not None:
            raise Violation(f"{name}: a drop of {values} is sent when the newest version has it")

    def has_partition(self, name: TableName, values: Sequence[str]) -> str | None:
        """The name of a partition of these values that the newest commit has."""
        found = self._newest_of(name)
        if found is None:
            return None
        columns = [column.name for column in found[0].partition_columns]
        partition = partition_name(columns, list(values))
        return partition if partition in found[1].manifest.partitions else None

    def is_beyond(self, what: str) -> None:
        """End the run: it has come to where the promises end."""
        self.beyond = what
        raise Beyond(what)

    def _swap_is_sent(self, name: TableName, rows: Sequence[HivePartition]) -> None:
        """A swap may come too late, but nobody sends one whose commit is not the newest at that very moment."""
        for row in rows:
            if not self.is_right(name, row):
                raise Violation(
                    f"{name}: a swap to {row.location} is sent when it is not the newest version's"
                )

    def is_right(self, name: TableName, row: HivePartition) -> bool:
        """Whether a partition points to the files of the newest version, or is empty on its way there.

        What other programs have outside of the table is theirs.
        """
        found = self._newest_of(name) if name in self.rows else None
        if found is None:
            return True
        table, newest = found
        layout = Layout(table.parameters[ROOT])
        right = {normal(layout.absolute(one.location)) for one in newest.manifest.partitions.values()}
        right.add(normal(layout.empty_of(newest.manifest.txn)))
        return normal(row.location) in right or not layout.owns(row.location)

    def changed(self, name: TableName, before: HiveTable | None, after: HiveTable | None) -> None:
        """Take in a change of a table's row."""
        if after is None or is_overlay_view(after) or model_name(after) not in self.tables:
            return  # a row on its way to a table's name, or from it
        name = model_name(after)
        old = before.parameters.get(VERSION) if before else None
        new = after.parameters.get(VERSION) if after else None
        if new is not None and new.endswith(UNDECIDED):
            self._keep_group(after, new)
        if new is None or new == old or new.endswith(UNDECIDED):
            return
        if old is not None and old.endswith(UNDECIDED):
            self._group_moves(after, old, new)
            if version_number(new) < version_number(old):
                return  # taken back
        claimed = ":" in new
        txn = new.split(":")[1] if claimed else after.parameters[TRANSACTION]
        if old is not None and old == f"{version_number(new)}:{txn}":
            return  # settled what was decided
        if before is None and self._is_cleared(Layout(after.parameters[ROOT]), txn):
            return  # its maker slept while its files were deleted, and is about to find that out
        known = self.newest.get(after.parameters[TABLE_ID])
        if known is not None and known.manifest.txn == txn:
            return  # its row was made anew
        self._decided(name, after, version_number(new), txn)

    def _keep_group(self, table: HiveTable, claim: str) -> None:
        """Keep the record of a group: who ends a dead writer's work may delete it while its claim is on its way."""
        txn = claim.partition(":")[2].removesuffix(UNDECIDED)
        path = Layout(table.parameters[ROOT]).group_of(txn)
        if self.files.exists(path):
            self._groups_of[txn] = Group.from_json(self.files.read_text(path), path)

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
        group = self._groups_of[txn]
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
        txn = value.removesuffix(UNDECIDED).partition(":")[2]
        group = self._groups_of.get(txn) if value.endswith(UNDECIDED) else None
        if group is not None and group.first.txn in self.groups:
            self._decided(model_name(table), table, version_number(value), txn)
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
        if before is not None and manifest.operation == RELEASE and manifest.version == before.version:
            before = self._undone(before, manifest)
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
        self._layouts[table_id] = layout
        rows = self._rows_of_version(layout, manifest)
        _check_counts(f"{name}: version {version}", manifest, rows)
        if manifest.operation == FENCE:
            beating = (txn for txn in manifest.fenced if self.files.exists(layout.heartbeat_of(txn)))
            self.fenced.update(beating)
        commit = Commit(name, table_id, version, manifest, rows)
        self.commits.append(commit)
        self.newest[table_id] = commit

    def _undone(self, commit: Commit, manifest: Manifest) -> Commit:
        """Take a commit back whose claim an operator has ended; the one before it."""
        assert self.metastore is not None
        if not self.metastore.refusal.call or manifest.fenced != (commit.manifest.txn,):
            raise Violation(f"version {commit.version} of {commit.table} is undone, and nothing was refused")
        self.commits.remove(commit)
        self.undone[commit.manifest.txn] = commit
        return next(one for one in reversed(self.commits) if one.table_id == commit.table_id)

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

    def parts_of(self, commit: Commit) -> dict[str, Rows]:
        """The rows of a commit's partitions, by their names."""
        layout = self._layouts[commit.table_id]
        return {
            name: self._rows[normal(layout.absolute(state.location)), state.digest]
            for name, state in commit.manifest.partitions.items()
        }

    def rows_at(self, location: str) -> list[Rows]:
        """What versions have had in a directory."""
        return [rows for (place, _), rows in self._rows.items() if place == location]

    def of(self, name: TableName) -> list[Commit]:
        """The commits of a table."""
        return [commit for commit in self.commits if commit.table == name]


def _check_counts(version: str, manifest: Manifest, rows: Rows) -> None:
    """What a version says about its rows is so."""
    counted = manifest.properties.get("rows")
    if counted is not None and counted != len(rows):
        raise Violation(f"{version} says that it has {counted} rows, and has {len(rows)}")
    highest = manifest.properties.get("highest")
    if highest is not None and any(json.loads(row)[1] > max(highest) for row in rows if row.startswith("[")):
        raise Violation(f"{version} has met sequences up to {highest}, and its rows are newer")
