"""The partitions of a table in an attempt to publish: their names, SQL that is true in them, and their files."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from lakemerge.engine.layout.joins import Amount
from lakemerge.engine.layout.partition_spelling import Spelling
from lakemerge.engine.relations.conditions import any_of
from lakemerge.engine.sql_text import literal, quote
from lakemerge.kernel import (
    DEFAULT_PARTITION,
    WHOLE_TABLE,
    HiveColumn,
    Manifest,
    partition_name,
    partition_values,
)

# Where a condition names all partitions, and more than this, it takes Spark longer than it saves.
_MANY = 1000
# Partitions are gathered when they have more than this many times the files that their size asks for.
_MOST_FILES = 4


@dataclass(frozen=True)
class Partitions:
    """The partitions of a table.

    Attributes:
        columns: the partition columns; none for an unpartitioned table.
        base: the version whose partitions they are; ``None`` for a table that keeps none.
        spelling: how the metastore spells their names, where Spark would spell them otherwise.
    """

    columns: Sequence[HiveColumn]
    base: Manifest | None
    spelling: Spelling = field(default_factory=Spelling)

    def __bool__(self) -> bool:
        """Whether the table is partitioned."""
        return bool(self.columns)

    @property
    def stored(self) -> list[str]:
        """The names of the partitions that the table has now."""
        return list(self.base.partitions) if self.base else []

    def filter(self, names: Iterable[str] | None, exact: bool = False) -> str:
        """SQL that is true in the partitions of these names (``None``: in all).

        Args:
            exact: not true in any other, even where these are many, and all that are known.

        Raises:
            UnsupportedTable: the values do not distinguish these partitions from others.
        """
        if names is None:
            return "true"
        wanted = set(names)
        self.spelling.check(wanted)
        if not exact and self.needs_all(wanted):
            return "true"
        return partition_filter(self.columns, wanted)

    def filter_at_least(self, names: Collection[str]) -> str:
        """SQL that is true in the partitions of these names, and may be true in others, too."""
        # others may have the same values, or the names are too many for a condition
        if len(names) > _MANY or self.spelling.stored:
            return "true"
        return partition_filter(self.columns, names)

    def names_of(self, texts: Iterable[str]) -> list[str]:
        """Partition names of the texts that ``lakemerge_partition_sql`` makes: a JSON array of strings each.

        An existing partition keeps the metastore's spelling; where several have the same values, all of them are named.
        """
        rows = [json.loads(text) for text in texts]
        if not self.columns:
            return [WHOLE_TABLE] if rows else []
        columns = [column.name for column in self.columns]
        written = {
            partition_name(columns, [DEFAULT_PARTITION if value in (None, "") else value for value in row])
            for row in rows
        }
        return sorted({name for one in written for name in self.spelling.names(one)})

    def are_all(self, names: Iterable[str]) -> bool:
        """Whether a commit that touches these partitions leaves none of the table as it is."""
        return not self.columns or set(self.stored) <= set(names)

    def needs_all(self, names: Collection[str]) -> bool:
        """Whether a condition on these partitions is true in all, because they are many, and all that are known.

        Then work on them reads also those that other commits add meanwhile, and has to begin again if there are any.
        """
        return len(names) > _MANY and self.are_all(names)

    def amount(self, names: Iterable[str] | None = None) -> Amount:
        """What is stored in the partitions of these names (``None``: in all)."""
        stored = self.base.partitions if self.base else {}
        states = [stored[name] for name in (stored if names is None else set(names)) if name in stored]
        size = sum(state.bytes for state in states)
        rows = int(self.base.properties.get("rows") or 0) if self.base else 0
        share = size / self.base.total_bytes if self.base and self.base.total_bytes else 1
        return Amount(sum(state.files for state in states), size, int(rows * share))

    def sizes(self, names: Iterable[str]) -> dict[str, int]:
        """How many bytes are stored in each of these partitions; 0 in new ones."""
        stored = self.base.partitions if self.base else {}
        return {name: stored[name].bytes if name in stored else 0 for name in names}

    def should_gather(self, touched: Iterable[str], file_size: int) -> bool:
        """Whether these partitions should be written with a shuffle that gathers their rows in few files.

        Without a shuffle a rewrite costs a fifth less, but leaves one more small file in each partition. So there is
        none as long as partitions have few files, and one every few commits, which gathers their rows again.

        Args:
            file_size: bytes that a file should have.
        """
        if self.base is None:
            return True
        stored = self.base.partitions
        states = [stored[name] for name in set(touched) if name in stored]
        fitting = sum(1 + state.bytes // file_size for state in states)
        return sum(state.files for state in states) + len(states) > _MOST_FILES * fitting


def partition_filter(columns: Sequence[HiveColumn], names: Iterable[str], prefix: str = "") -> str:
    """SQL that is true in the partitions of these names, and in no others.

    Args:
        columns: the partition columns; none for an unpartitioned table, where it is always true.
        prefix: of the columns, such as ``row.``.
    """
    if not columns:
        return "true"
    wanted = sorted(set(names))
    if not wanted:
        return "false"
    if len(columns) == 1:
        return _one_of(columns[0], [partition_values(name)[0] for name in wanted], prefix)
    terms = [
        " and ".join(
            _one_of(column, [value], prefix)
            for column, value in zip(columns, partition_values(name), strict=True)
        )
        for name in wanted
    ]
    return f"({any_of(terms)})"


def _one_of(column: HiveColumn, values: list[str], prefix: str) -> str:
    given = sorted({value for value in values if value != DEFAULT_PARTITION})
    quoted = f"{prefix}{quote(column.name)}"
    terms = []
    # a filter of the metastore cannot hold both kinds of quotes, so Spark has to look at the names of all partitions
    unfit = any("'" in value and '"' in value for value in given)
    if given:
        items = ", ".join(f"cast({literal(value)} as {column.type})" for value in given)
        terms.append(f"{f'concat({quoted})' if unfit else quoted} in ({items})")
    if len(given) < len(set(values)):
        terms.append(f"{quoted} is null")
    return "(" + " or ".join(terms) + ")"
