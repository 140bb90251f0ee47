"""Partitions that a call which came too late has moved, added or dropped: put right by the newest manifest."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from lakemerge.errors import CorruptTable
from lakemerge.kernel.ports import Ports
from lakemerge.kernel.ports.metastore import HivePartition, HiveTable
from lakemerge.kernel.ports.names import TableName, partition_name, partition_values
from lakemerge.kernel.protocol.swaps import in_batches
from lakemerge.kernel.protocol.unanswered import Unsure, send_all, unsure_of, with_unsure
from lakemerge.kernel.protocol.versions import Versions
from lakemerge.kernel.table.definition import TABLE_ID, VERSION, moved, new_partition
from lakemerge.kernel.table.layout import Layout, normal
from lakemerge.kernel.table.manifest import Manifest
from lakemerge.kernel.table.manifests import read_manifest
from lakemerge.kernel.table.state import TableState

_LOG = logging.getLogger("lakemerge")


@dataclass(frozen=True)
class Late:
    """A version whose calls may be carried out after later versions: they move partitions to where it has them.

    Attributes:
        layout: of the version's table, which may be an earlier one of the name.
        everywhere: whether they may concern partitions that the version has not changed.
    """

    layout: Layout
    version: Manifest
    everywhere: bool = False

    @property
    def partitions(self) -> set[str]:
        """The partitions that they may concern, by the names that this version gives them."""
        return {*self.version.touched, *(self.version.partitions if self.everywhere else ())}

    def points(self, partition: str, location: str) -> bool:
        """Whether a partition points to where the version has it, or to what its commit has made."""
        own = (self.layout.data_of(self.version.txn), self.layout.empty_of(self.version.txn))
        known = self.version.partitions.get(partition)
        return f"{location}/".startswith(tuple(f"{normal(folder)}/" for folder in own)) or (
            known is not None and location == normal(self.layout.absolute(known.location))
        )


class Repairs:
    """Puts partitions where the newest version has them, and notes which calls may still move them."""

    def __init__(self, ports: Ports, versions: Versions) -> None:
        self._metastore = ports.metastore
        self._files = ports.files
        self._versions = versions

    # -- what may still come -------------------------------------------------------------------

    def expect(self, name: TableName, table_id: str, late: Iterable[Late]) -> None:
        """Note in a table's row, whose name is given, which calls may still be carried out."""
        noted = [Unsure(one.version.txn, self._files.now(one.layout.commits), one.everywhere) for one in late]

        def change(row: HiveTable) -> HiveTable:
            for entry in noted:
                row = with_unsure(row, entry)
            return row

        self._versions.change_beside(
            name, lambda row: change(row) if row.parameters.get(TABLE_ID) == table_id else row
        )

    def put_right(self, state: TableState) -> bool:
        """Undo what calls without an answer have done since; whether any may still come.

        Does nothing when the table has moved on from ``state``.
        """
        late = self._expected(state)
        if late is None:
            return False
        if state.table.partitioned:
            newest = read_manifest(self._files, state.layout, state.txn)
            concerned = self._concerned(state, newest, late)
            self.repair(state, concerned, restore=self._dropped(state, newest, concerned), late=late)
        return True

    def dropped_late(self, state: TableState, newest: Manifest, absent: Iterable[str]) -> list[str]:
        """Those of the partitions which the metastore lacks that a call without an answer may have dropped.

        A partition whose files are gone was dropped by another program.
        """
        absent = set(absent)
        late = self._expected(state) if absent else None
        if late is None:
            return []
        return self._dropped(state, newest, absent & self._concerned(state, newest, late))

    def _expected(self, state: TableState) -> list[Late] | None:
        """The versions whose calls may still be carried out; ``None`` if there are none.

        It is empty if such a version is unknown, because it is vacuumed: then its calls may concern any partition.
        """
        entries = unsure_of(state.table, partial(self._files.now, state.layout.commits))
        try:
            late = [
                Late(state.layout, read_manifest(self._files, state.layout, entry.txn), entry.everywhere)
                for entry in entries
            ]
        except CorruptTable:
            return []
        return late or None

    def _concerned(self, state: TableState, newest: Manifest, late: list[Late]) -> set[str]:
        """The partitions that calls may have moved, added or dropped."""
        if not late or any(one.everywhere for one in late):
            return {*newest.partitions, *self._metastore.partition_names(state.table.name)}
        return {name for one in late for name in renamed(one.partitions, newest)}

    def _dropped(self, state: TableState, newest: Manifest, partitions: Iterable[str]) -> list[str]:
        """The partitions of a version that the metastore lacks although their files are there."""
        wanted = sorted(set(partitions) & newest.partitions.keys())
        absent = sorted(set(wanted) - self._rows(state.table.name, wanted, newest).keys())
        places = [state.layout.absolute(newest.partitions[name].location) for name in absent]
        marks = zip(absent, self._files.fingerprints(places), strict=True)
        return [name for name, mark in marks if mark.files > 0 or newest.partitions[name].files == 0]

    # -- putting right -------------------------------------------------------------------------

    def repair(
        self,
        state: TableState,
        partitions: Iterable[str],
        restore: Iterable[str] = (),
        late: Iterable[Late] = (),
    ) -> None:
        """Point partitions that point elsewhere below our root to where the settled manifest says.

        Partitions that the manifest does not have, and that a writer registered too late, are dropped.

        Does nothing when the table has moved on from ``state``; the caller looks again in any case.

        Args:
            restore: partitions that may have been dropped too late, to be registered again.
            late: where the partitions may have been pointed too late, wherever that is; empty if that is unknown.
        """
        late, partitions, restore = list(late), sorted(partitions), list(restore)
        manifest = read_manifest(self._files, state.layout, state.txn)
        name, unmoved = state.table.name, partial(self.is_at, state)

        def left() -> list[Callable[[], object]]:
            return self._calls(state, manifest, partitions, restore, late)

        calls = left()
        if not calls or not unmoved():
            return
        # before anything is sent: who sends it may die while it waits for an answer
        self.expect(name, state.table_id, late or [Late(state.layout, manifest, everywhere=True)])
        send_all(left, lambda call: call(), unmoved, first=calls)

    def _calls(
        self,
        state: TableState,
        manifest: Manifest,
        partitions: list[str],
        restore: list[str],
        late: list[Late],
    ) -> list[Callable[[], object]]:
        """The calls that put partitions right; see :meth:`repair`."""
        name, metastore = state.table.name, self._metastore
        astray, strays, found = [], [], set()
        for partition, row in self._rows(name, partitions, manifest).items():
            found.add(partition)
            known = manifest.partitions.get(partition)
            location = normal(row.location)
            mine = any(one.points(partition, location) for one in late)
            if known and location != normal(state.layout.absolute(known.location)):
                if mine or state.layout.owns(location):
                    astray.append(moved(row, state.layout.absolute(known.location)))
            elif not known and (mine or state.is_stray(location)):
                strays.append(row.values)
        missing = [
            new_partition(
                state.table,
                partition_values(partition),
                state.layout.absolute(manifest.partitions[partition].location),
            )
            for partition in restore
            if partition in manifest.partitions and partition not in found
        ]
        if count := len(astray) + len(missing) + len(strays):
            _LOG.warning("%s: %d partitions pointed at a superseded commit and are put right", name, count)
        return [
            *(partial(metastore.add_partitions, name, batch) for batch in in_batches(missing)),
            *(partial(metastore.alter_partitions, name, batch) for batch in in_batches(astray)),
            *(partial(metastore.drop_partition, name, values) for values in strays),
        ]

    def _rows(self, name: TableName, names: list[str], version: Manifest) -> dict[str, HivePartition]:
        """The metastore's rows of partitions, by the names that a version gives them.

        Rows of other partition columns are left out: the table has moved on to a later version.
        """
        columns = [column.name for column in version.partition_columns]
        rows = [row for row in self._metastore.partitions(name, names) if len(row.values) == len(columns)]
        return {partition_name(columns, row.values): row for row in rows}

    def is_at(self, state: TableState) -> bool:
        """Whether a table is still as it was when it was found in this state."""
        table = self._metastore.get_table(state.table.name)
        if table is None or table.parameters.get(TABLE_ID) != state.table_id:
            return False
        return table.parameters.get(VERSION) == state.version_value


def renamed(partitions: Iterable[str], newest: Manifest) -> list[str]:
    """Partitions by the names that a version gives them: by their values alone, as the metastore finds them.

    A table whose row was made anew with other columns may have partitions of the same values, which a swap that comes
    too late moves as if they were its own.
    """
    columns = [column.name for column in newest.partition_columns]
    values = [partition_values(name) for name in partitions]
    return sorted(partition_name(columns, one) for one in values if len(one) == len(columns))
