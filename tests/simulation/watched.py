"""The metastore of a simulated world, which tells a checker of what becomes of its tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lakemerge.kernel import HivePartition, HiveTable, TableName, partition_name
from lakemerge.kernel.table.definition import ASIDE, ROOT, TABLE_ID, TRANSACTION, VERSION
from lakemerge.kernel.table.layout import Layout
from lakemerge.kernel.table.overlay import BASE, DELTAS, FOLDED, MADE_BY, is_overlay_view, model_name
from lakemerge.kernel.table.side_tables import SIDE_TABLES
from lakemerge.testing import MemoryMetastore, Timeline
from simulation import refusals
from simulation.astray import astray
from simulation.intents import Pointers, Violation
from simulation.places import Places

if TYPE_CHECKING:
    from simulation.checker import Checker

# The names of deltas in a view's text.
_NAMES = re.compile("'([^']+)'")


class WatchedMetastore(MemoryMetastore):
    """Tells a checker of every change of a table's row.

    Attributes:
        checker: whom; set after both are made.
        refuses: whether it refuses what has :data:`simulation.refusals.REFUSED` in it.
        refusal: the calls that it refuses, whatever they have in them.
        judges_late: whether readers are told where things are while something is astray that came late.
        pointers: where partitions point to, and who has looked.
        late_moves: partitions that a call has put where the newest version at that moment did not have them.
        late_drops: partitions that were dropped by a call which was sent before they were made again.
    """

    checker: Checker
    refuses: bool = False
    refusal: refusals.Refusal = refusals.NONE
    judges_late: bool = False

    def __init__(self, timeline: Timeline) -> None:
        super().__init__(timeline)
        self.timeline = timeline
        self.pointers = Pointers(self, timeline)
        self.late_moves: set[tuple[TableName, str]] = set()
        self.late_drops: set[tuple[TableName, str]] = set()

    def names(self) -> list[TableName]:
        """The names that there are."""
        return sorted(self._entries)

    def _accept(self, call: str, *rows: HiveTable | HivePartition) -> None:
        self.refusal.accept(call, self.timeline.seconds)
        if self.refuses:
            refusals.accept(call, rows)

    def create_table(self, table: HiveTable) -> None:
        self._accept("create_table", table)
        super().create_table(table)
        self.checker.changed(table.name, None, table)

    def alter_table(
        self, name: TableName, table: HiveTable, *, expected: tuple[str, str] | None = None
    ) -> None:
        self._accept("alter_table", table)
        before = self.get_table(name)
        super().alter_table(name, table, expected=expected)
        self._renamed(name, table.name)
        if before and self.honours_expectations:
            _require_one_moment(before, table)
        if before and TABLE_ID in before.parameters and not _is_one(before, table):
            # a metastore that does not compare is written under a lock, which a process that sleeps may lose
            if self.honours_expectations or table.parameters.get(TABLE_ID, "") not in self.checker.dropped:
                raise Violation(f"{name}: another table takes the place of one that nobody has dropped")
            self.checker.is_beyond(f"{name}: a row was sent before the table was dropped and made again")
        goes = before is not None and ASIDE in table.parameters and not is_overlay_view(before)
        if before is not None and goes and model_name(before) in self.checker.tables:
            self.checker.drop(before)
        self.checker.changed(name, before, table)

    def drop_table(self, name: TableName) -> None:
        self._accept("drop_table")
        table = self.get_table(name)
        if table is not None and name in self.checker.rows:
            raise Violation(f"{name}: a row is dropped by the name of its table, which does not compare")
        super().drop_table(name)
        if table is not None:
            self.checker.withdrawn(table)

    def drop_partition(self, name: TableName, values: Sequence[str]) -> None:
        self._accept("drop_partition")
        if (late := self.checker.has_partition(name, values)) is not None:
            self.late_drops.add((name, late))  # it was sent before the partition was made again
        super().drop_partition(name, values)

    def add_partitions(self, name: TableName, partitions: Sequence[HivePartition]) -> int:
        self._accept("add_partitions", *partitions)
        there = set(self.partition_names(name))
        added = super().add_partitions(name, partitions)
        self._moved(name, [row for row in partitions if self._name_in(name, row) not in there])
        return added

    def alter_partitions(self, name: TableName, partitions: Sequence[HivePartition]) -> None:
        self._accept("alter_partitions", *partitions)
        super().alter_partitions(name, partitions)
        self._moved(name, partitions)

    def _moved(self, name: TableName, partitions: Sequence[HivePartition]) -> None:
        """Take in where partitions are now, and whether the newest version has them there."""
        self.pointers.changed(name, partitions)
        for row in partitions:
            key = (name, self._name_in(name, row))
            self.late_drops.discard(key)
            if self.checker.is_right(name, row):
                self.late_moves.discard(key)
            else:
                self.late_moves.add(key)

    def _name_in(self, name: TableName, row: HivePartition) -> str:
        table = self.get_table(name)
        assert table is not None
        return partition_name([column.name for column in table.partition_columns], row.values)

    def _renamed(self, name: TableName, other: TableName) -> None:
        """Take in that a row has another name; its partitions go with it."""
        if name != other:
            self.late_moves = {
                (other if one == name else one, partition) for one, partition in self.late_moves
            }
            self.late_drops = {
                (other if one == name else one, partition) for one, partition in self.late_drops
            }

    def locations(self, name: TableName) -> Places | None:
        """Where a reader that asks once finds the files of a table; ``None`` where there is none.

        And ``None`` while a swap that came too late is not put right yet, unless that is judged: see
        :func:`simulation.astray.astray`.
        """
        table = self.get_table(name)
        if self.judges_late and table is not None and (found := astray(self, table)):
            return Places(self._places_of(table), [], found)
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
        """Whether a partition is not where it belongs, because a call came late."""
        return bool(astray(self, table))

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

    def wrong_quarantine(self, name: TableName, table: HiveTable) -> str:
        """What is wrong with the published quarantine of a table that is at rest; else empty."""
        newest = self.checker.newest.get(table.parameters.get(TABLE_ID, ""))
        shown = self.get_table(SIDE_TABLES["quarantine"].name_of(name))
        if newest is None:
            return ""
        layout = Layout(table.parameters[ROOT])
        folders = newest.manifest.sidecars.get("quarantine", ())
        wanted, found = sorted(map(layout.absolute, folders)), sorted(self._places_of(shown))
        return "" if found == wanted else f"its quarantine has {found}; expected {wanted}"


def _deltas_of(name: TableName) -> TableName:
    return SIDE_TABLES[DELTAS].name_of(name)


def _is_one(one: HiveTable, other: HiveTable) -> bool:
    """Whether two rows are of one table, and not of two that had its name one after the other."""
    return one.parameters.get(TABLE_ID) == other.parameters.get(TABLE_ID)


def _require_one_moment(before: HiveTable, after: HiveTable) -> None:
    """What belongs to a version changes with the version: only a row that was half seen puts an older one back."""
    old, new = before.parameters.get(VERSION), after.parameters.get(VERSION)
    if old is None or new is None:
        return
    stays = new == old or (":" in new and ":" not in old)
    if stays and before.parameters.get(TRANSACTION) != after.parameters.get(TRANSACTION):
        raise Violation(f"{after.name}: the transaction of an older version is put back, under {new}")
    if new == old and ":" not in new and before.location != after.location:
        raise Violation(f"{after.name}: the location of an older version is put back, under {new}")
