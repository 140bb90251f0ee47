"""How much of a table a compaction may write again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from lakemerge.engine.publish.queries import Queries
from lakemerge.engine.sql_text import literal, quote
from lakemerge.kernel import DEFAULT_PARTITION, HiveColumn, partition_values

#: The most bytes that one commit of a compaction writes again. A kill, or a writer that commits first, costs no more.
BYTES_OF_A_LOT = 10 * 2**30


@dataclass(frozen=True)
class Bounds:
    """The partitions, and the bytes, that a compaction may write again.

    Attributes:
        partitions: SQL over the partition columns that is true in those that may be written again; empty for all.
        max_bytes: of what is read to be written again; ``None`` for any number.
        names: of the only partitions that may be written again; ``None`` for all.
    """

    partitions: str = ""
    max_bytes: int | None = None
    names: frozenset[str] | None = None

    def __bool__(self) -> bool:
        """Whether there is any bound."""
        return bool(self.partitions) or self.max_bytes is not None or self.names is not None

    def without(self, size: int) -> Bounds:
        """The bounds that are left once this many bytes are written."""
        left = None if self.max_bytes is None else max(0, self.max_bytes - size)
        return replace(self, max_bytes=left)

    def matching(self, names: Iterable[str], columns: Sequence[HiveColumn], queries: Queries) -> set[str]:
        """Those of these partitions that meet the condition.

        Args:
            columns: the partition columns.
            queries: to ask Spark, because the condition is Spark's SQL.
        """
        wanted = sorted(set(names) if self.names is None else self.names.intersection(names))
        if not self.partitions or not wanted:
            return set(wanted)
        texts = ", ".join(quote(f"__{place}") for place in range(len(columns)))
        typed = [
            f"cast({quote(f'__{place}')} as {one.type}) as {quote(one.name)}"
            for place, one in enumerate(columns)
        ]
        # a list of values, not a union: Spark nests the branches of a union in one another, and runs out of stack
        rows = ", ".join(f"({', '.join(map(_literal, [name, *partition_values(name)]))})" for name in wanted)
        sql = (
            f"select `__name` from (select {', '.join(['`__name`', *typed])} "
            f"from values {rows} as t(`__name`, {texts})) where ({self.partitions})"
        )
        return {row[0] for row in queries.rows(sql)}


def _literal(text: str) -> str:
    return "cast(null as string)" if text == DEFAULT_PARTITION else literal(text)
