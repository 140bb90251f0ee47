"""How much of a table a compaction may write again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dbt.adapters.lakemerge.publish.queries import Queries
from dbt.adapters.lakemerge.relations.table_schema import literal

from lakemerge.kernel import DEFAULT_PARTITION, HiveColumn, partition_values


@dataclass(frozen=True)
class Bounds:
    """The partitions, and the bytes, that a compaction may write again.

    Attributes:
        partitions: SQL over the partition columns that is true in those that may be; empty for all.
        max_bytes: of what is read to be written again; ``None`` for any number.
    """

    partitions: str = ""
    max_bytes: int | None = None

    def __bool__(self) -> bool:
        """Whether there is any bound."""
        return bool(self.partitions) or self.max_bytes is not None

    def without(self, size: int) -> Bounds:
        """What is left of these once so many bytes are written."""
        left = None if self.max_bytes is None else max(0, self.max_bytes - size)
        return Bounds(self.partitions, left)

    def matching(self, names: Iterable[str], columns: Sequence[HiveColumn], queries: Queries) -> set[str]:
        """Those of these partitions that meet the condition.

        Args:
            columns: the partition columns.
            queries: ask Spark, whose SQL the condition is.
        """
        wanted = sorted(set(names))
        if not self.partitions or not wanted:
            return set(wanted)
        typed = [f"cast(null as {column.type}) as `{column.name}`" for column in columns]
        rows = [f"select {', '.join(['cast(null as string) as `__name`', *typed])}"]
        for name in wanted:
            values = [None if value == DEFAULT_PARTITION else value for value in partition_values(name)]
            texts = [
                f"cast({'null' if value is None else literal(value)} as {column.type})"
                for column, value in zip(columns, values, strict=False)
            ]
            rows.append(f"select {', '.join([literal(name), *texts])}")
        sql = f"select `__name` from ({' union all '.join(rows)}) where `__name` is not null and ({self.partitions})"
        return {row[0] for row in queries.rows(sql)}
