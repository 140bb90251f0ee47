"""What a process has looked at before it deletes something: by then others may have pointed partitions there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lakemerge.kernel import HivePartition, HiveTable, TableName
from lakemerge.kernel.ports.names import partition_name
from lakemerge.kernel.table.layout import normal
from lakemerge.testing import Timeline

if TYPE_CHECKING:
    from simulation.watched import WatchedMetastore


class Violation(AssertionError):
    """An invariant that does not hold."""


@dataclass
class Pointers:
    """Where partitions point to and since when, and when processes have looked at them.

    Attributes:
        since: by table and partition, the time of its last change, in simulated seconds.
        looked: by process, table and partition, when the process asked for it in its present operation.
    """

    metastore: WatchedMetastore
    timeline: Timeline
    since: dict[tuple[TableName, str], float] = field(default_factory=dict)
    looked: dict[tuple[int, TableName, str], float] = field(default_factory=dict)

    def changed(self, name: TableName, rows: Sequence[HivePartition]) -> None:
        """Take in that partitions point elsewhere."""
        table = self.metastore.get_table(name)
        for row in rows if table else ():
            self.since[name, _name_of(table, row)] = self.timeline.seconds  # type: ignore[arg-type]

    def has_asked(self, process: int, name: TableName, partitions: Sequence[str]) -> None:
        """Take in that a process has got an answer about partitions."""
        for one in partitions:
            self.looked[process, name, one] = self.timeline.seconds

    def begins(self, process: int) -> None:
        """Take in that a process begins another operation: what it saw before says nothing any more."""
        self.looked = {one: at for one, at in self.looked.items() if one[0] != process}

    def check_deletion(self, process: int, path: str) -> None:
        """Nobody deletes what the metastore points to, and has pointed to since the process has asked.

        Raises:
            Violation: this process does.
        """
        gone = normal(path)
        for name in self.metastore.names():
            table = self.metastore.get_table(name)
            assert table is not None
            if not table.partitioned:
                if _is_below(table.location, gone):
                    raise Violation(f"{path} is deleted, where {name} is")
                continue
            for row in self.metastore.partitions(name, self.metastore.partition_names(name)):
                key = _name_of(table, row)
                asked = self.looked.get((process, name, key))
                if _is_below(row.location, gone) and (
                    asked is None or self.since.get((name, key), 0) < asked
                ):
                    raise Violation(f"{path} is deleted, where the metastore says that {key} of {name} is")


def _is_below(location: str, folder: str) -> bool:
    return normal(location) == folder or normal(location).startswith(f"{folder}/")


def _name_of(table: HiveTable, row: HivePartition) -> str:
    return partition_name([column.name for column in table.partition_columns], row.values)
