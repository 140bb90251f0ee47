"""A metastore in memory."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from lakemerge.kernel import DEFAULT_PARTITION, TableName, needs_new_row, partition_name, same_keys
from lakemerge.kernel.ports import (
    DDL_TIME,
    HivePartition,
    HiveTable,
    Metastore,
    Refused,
    TableSummary,
    ValueChanged,
)
from lakemerge.testing.system import Timeline


@dataclass
class _Entry:
    """A table with its partitions by name, and the partitions that have column statistics."""

    table: HiveTable
    partitions: dict[str, HivePartition] = field(default_factory=dict)
    statistics: set[str] = field(default_factory=set)


class MemoryMetastore(Metastore):
    """What Hive's metastore keeps of tables and partitions, and its answers, for any number of schemas.

    Attributes:
        honours_expectations: whether it compares and swaps (HIVE-26882), or ignores what is expected.
        longest_name: the most characters of a table's name that it takes.
        lock_seconds: after this time a lock is given up by itself, as after ``hive.txn.timeout``.
    """

    def __init__(self, timeline: Timeline, *, warehouse: str = "memory:/warehouse") -> None:
        self.compares = None
        self.honours_expectations = True
        self.longest_name = 256
        self.lock_seconds = 300.0
        self._timeline = timeline
        self._warehouse = warehouse
        self._entries: dict[TableName, _Entry] = {}
        self._lock_ids = itertools.count(1)
        self._locks: dict[int, tuple[TableName, float]] = {}

    # -- tables --------------------------------------------------------------------------------

    def get_table(self, name: TableName) -> HiveTable | None:
        entry = self._entries.get(name)
        return entry.table if entry else None

    def tables(self, schema: str, names: Sequence[str]) -> list[HiveTable]:
        wanted = [TableName(schema, name) for name in names]
        return [self._entries[name].table for name in wanted if name in self._entries]

    def table_summaries(self, schema: str, pattern: str = "*") -> list[TableSummary]:
        return [
            TableSummary(name.name, entry.table.kind, entry.table.parameters.get("comment", ""))
            for name, entry in sorted(self._entries.items())
            if name.schema == schema.lower() and fnmatchcase(name.name, pattern)
        ]

    def function_names(self, schema: str) -> list[str]:
        return []

    def database_location(self, schema: str) -> str:
        return f"{self._warehouse}/{schema.lower()}.db"

    def create_table(self, table: HiveTable) -> None:
        if table.name in self._entries:
            raise Refused("createTable", "AlreadyExistsException", f"Table {table.name} already exists")
        self._check_name("createTable", table.name)
        now = self._timeline.milliseconds // 1000
        parameters = {DDL_TIME: str(now), **table.parameters}
        self._entries[table.name] = _Entry(replace(table, parameters=parameters, created=now))

    def alter_table(
        self, name: TableName, table: HiveTable, *, expected: tuple[str, str] | None = None
    ) -> None:
        entry = self._entry("alter_table", name)
        if expected and self.honours_expectations and expected[0] not in table.parameters:
            text = f"New value for expected key {expected[0]} is not set"
            raise Refused("alter_table", "MetaException", text)
        if expected and self.honours_expectations:
            found = entry.table.parameters.get(expected[0])
            if found != expected[1]:
                text = (
                    f"The table has been modified. The parameter value for key '{expected[0]}' is '{found}'"
                )
                raise ValueChanged("alter_table", "MetaException", text)
        is_view = entry.table.kind == "VIRTUAL_VIEW"
        if not is_view and not same_keys(entry.table.partition_columns, table.partition_columns):
            raise Refused("alter_table", "InvalidOperationException", "partition keys can not be changed.")
        if not is_view and needs_new_row(entry.table.columns, table.columns):
            raise Refused("alter_table", "InvalidOperationException", "incompatible types of columns")
        if table.name != name and table.name in self._entries:
            raise Refused("alter_table", "InvalidOperationException", f"{table.name} already exists")
        self._check_name("alter_table", table.name)
        del self._entries[name]
        self._entries[table.name] = replace(entry, table=table)

    def drop_table(self, name: TableName) -> None:
        self._entries.pop(name, None)

    def _check_name(self, call: str, name: TableName) -> None:
        if len(name.name) > self.longest_name:
            raise Refused(call, "MetaException", f"a name of {len(name.name)} characters for TBL_NAME")

    # -- partitions ----------------------------------------------------------------------------

    def partition_names(self, name: TableName) -> list[str]:
        return sorted(self._entry("listPartitionNames", name).partitions)

    def partitions(self, name: TableName, names: Sequence[str]) -> list[HivePartition]:
        if not names:
            return []
        known = self._entry("getPartitionsByNames", name).partitions
        return [known[one] for one in sorted(set(names)) if one in known]

    def add_partitions(self, name: TableName, partitions: Sequence[HivePartition]) -> int:
        if not partitions:
            return 0
        entry = self._entry("add_partitions", name)
        fresh = {self._name_of(entry, row): row for row in partitions}
        fresh = {one: row for one, row in fresh.items() if one not in entry.partitions}
        entry.partitions.update(fresh)
        return len(fresh)

    def alter_partitions(self, name: TableName, partitions: Sequence[HivePartition]) -> None:
        if not partitions:
            return
        entry = self._entry("alter_partitions", name)
        rows = {self._name_of(entry, row): row for row in partitions}
        missing = sorted(set(rows) - set(entry.partitions))
        if missing:
            raise Refused("alter_partitions", "InvalidOperationException", f"no partition {missing[0]}")
        entry.partitions.update(rows)

    def drop_partition(self, name: TableName, values: Sequence[str]) -> None:
        entry = self._entries.get(name)
        if entry is not None:
            columns = [column.name for column in entry.table.partition_columns]
            if len(columns) != len(values):  # it is another table, or a view, by now
                text = f"Invalid partition key & values; keys {columns}, values {list(values)}"
                raise Refused("drop_partition", "MetaException", text)
            gone = partition_name(columns, list(values))
            entry.partitions.pop(gone, None)
            entry.statistics.discard(gone)

    # -- column statistics ---------------------------------------------------------------------

    def delete_table_column_statistics(self, name: TableName) -> None:
        if name in self._entries:
            self._entries[name].statistics.clear()

    def delete_partition_column_statistics(
        self, name: TableName, partitions: Sequence[str], columns: Sequence[str]
    ) -> None:
        if partitions and columns and name in self._entries:
            self._entries[name].statistics -= set(partitions)

    # -- locks ---------------------------------------------------------------------------------

    def lock(self, name: TableName, *, user: str, host: str) -> int:
        lock_id = next(self._lock_ids)
        self._locks[lock_id] = (name, self._timeline.seconds)
        return lock_id

    def _forget_locks(self) -> None:
        oldest = self._timeline.seconds - self.lock_seconds
        self._locks = {one: lock for one, lock in self._locks.items() if lock[1] >= oldest}

    def lock_acquired(self, lock_id: int) -> bool:
        self._forget_locks()
        if lock_id not in self._locks:
            raise Refused("checkLock", "NoSuchLockException", f"No such lock lockid:{lock_id}")
        name = self._locks[lock_id][0]
        self._locks[lock_id] = (name, self._timeline.seconds)  # Hive takes the question for a sign of life
        return lock_id == min(other for other, (locked, _) in self._locks.items() if locked == name)

    def unlock(self, lock_id: int) -> None:
        self._forget_locks()
        if self._locks.pop(lock_id, None) is None:
            raise Refused("unlock", "NoSuchLockException", f"No such lock lockid:{lock_id}")

    # -- what it can do ------------------------------------------------------------------------

    def probe_compare_and_swap(self, name: TableName) -> bool:
        return self.honours_expectations

    def _entry(self, call: str, name: TableName) -> _Entry:
        entry = self._entries.get(name)
        if entry is None:
            raise Refused(call, "NoSuchObjectException", f"{name} table not found")
        return entry

    @staticmethod
    def _name_of(entry: _Entry, row: HivePartition) -> str:
        columns = [column.name for column in entry.table.partition_columns]
        if len(columns) != len(row.values):
            raise Refused("add_partitions", "InvalidObjectException", f"values {row.values} for {columns}")
        return partition_name(columns, [value or DEFAULT_PARTITION for value in row.values])
