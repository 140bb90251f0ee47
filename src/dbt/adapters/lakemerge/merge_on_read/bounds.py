"""How much of a table a compaction may write again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from dbt.adapters.lakemerge.publish.queries import Queries
from dbt.adapters.lakemerge.sql_text import literal

from lakemerge.kernel import DEFAULT_PARTITION, HiveColumn, partition_values

#: What one commit of a compaction writes again at most: a kill, or a writer that comes between, costs no more.
BYTES_OF_A_LOT = 10 * 2**30


@dataclass(frozen=True)
class Bounds:
    """The partitions, and the bytes, that a compaction may write again.

    Attributes:
        partitions: SQL over the partition columns that is true in those that may be; empty for all.
        max_bytes: of what is read to be written again; ``None`` for any number.
        names: of the only partitions that may be; ``None`` for all.
    """

    partitions: str = ""
    max_bytes: int | None = None
    names: frozenset[str] | None = None

    def __bool__(self) -> bool:
        """Whether there is any bound."""
        return bool(self.partitions) or self.max_bytes is not None or self.names is not None

    def without(self, size: int) -> Bounds:
        """What is left of these once so many bytes are written."""
        left = None if self.max_bytes is None else max(0, self.max_bytes - size)
        return replace(self, max_bytes=left)

    def matching(self, names: Iterable[str], columns: Sequence[HiveColumn], queries: Queries) -> set[str]:
        """Those of these partitions that meet the condition.

        Args:
            columns: the partition columns.
            queries: ask Spark, whose SQL the condition is.
        """
        wanted = sorted(set(names) if self.names is None else self.names.intersection(names))
        if not self.partitions or not wanted:
            return set(wanted)
        texts = ", ".join(f"`__{place}`" for place in range(len(columns)))
        typed = [f"cast(`__{place}` as {one.type}) as `{one.name}`" for place, one in enumerate(columns)]
        # a list of values and no union: Spark reads that one branch inside another, and runs out of stack
        rows = ", ".join(f"({', '.join(map(_literal, [name, *partition_values(name)]))})" for name in wanted)
        sql = (
            f"select `__name` from (select {', '.join(['`__name`', *typed])} "
            f"from values {rows} as t(`__name`, {texts})) where ({self.partitions})"
        )
        return {row[0] for row in queries.rows(sql)}


def _literal(text: str) -> str:
    return "cast(null as string)" if text == DEFAULT_PARTITION else literal(text)
