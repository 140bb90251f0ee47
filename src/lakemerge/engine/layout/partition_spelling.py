"""How the metastore spells the values of partitions, where Spark would write them otherwise.

A partition's value is text in the metastore, and another program may have written `month=01` for the number that Spark
writes as `month=1`. To both of them it is one partition. A commit keeps the spelling that is there.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lakemerge.engine.relations.sized_text import char_length, unsized
from lakemerge.engine.spark.small_frames import small_frame
from lakemerge.errors import UnsupportedTable
from lakemerge.kernel import DEFAULT_PARTITION, HiveColumn, partition_name, partition_values

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Text that Spark is sure to write in the same way. For other text Spark is asked, and may write it in the same way too.
_PLAIN = {
    "string": re.compile(r".*", re.DOTALL),
    "boolean": re.compile(r"true|false"),
    "tinyint": re.compile(r"0|-?[1-9]\d?"),
    "smallint": re.compile(r"0|-?[1-9]\d{0,3}"),
    "int": re.compile(r"0|-?[1-9]\d{0,8}"),
    "bigint": re.compile(r"0|-?[1-9]\d{0,17}"),
    # every day that all years have
    "date": re.compile(
        r"[12]\d{3}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
    ),
}
_NEVER = re.compile(r"(?!)")


@dataclass(frozen=True)
class Spelling:
    """How the partitions of one version are spelled, where some are not as Spark would spell them.

    Attributes:
        table: its name, for messages.
        stored: the names in the metastore, by the name that Spark gives to their values; empty for a table that Spark
            spells like the metastore, as it does most tables.
        values: for each partition column, how the metastore spells values, by Spark's text.
        lengths: for each partition column the length of its ``char(n)``, 0 for another type; empty for a table without
            such a column.
    """

    table: str = ""
    stored: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    values: Sequence[Mapping[str, str]] = ()
    lengths: Sequence[int] = ()

    @classmethod
    def of_new(cls, table: str, columns: Sequence[HiveColumn]) -> Spelling:
        """The spelling of a table that has no partition yet."""
        lengths = [char_length(column.type) for column in columns]
        return cls(table, lengths=lengths) if any(lengths) else cls()

    @classmethod
    def of(
        cls, spark: SparkSession, table: str, columns: Sequence[HiveColumn], names: Iterable[str]
    ) -> Spelling:
        """Compare the names of a table's partitions with Spark's; Spark is asked about unusual values only.

        Raises:
            UnsupportedTable: a value of a ``char(n)`` is shorter than ``n``.
        """
        new = cls.of_new(table, columns)
        new._require_lengths(names)
        patterns = [_PLAIN.get(unsized(column.type), _NEVER) for column in columns]
        rows = {name: partition_values(name) for name in names}
        unusual: list[set[str]] = [set() for _ in columns]
        for row in rows.values():
            for pattern, value, found in zip(patterns, row, unusual, strict=True):
                if value != DEFAULT_PARTITION and not pattern.fullmatch(value):
                    found.add(value)
        own = [_by_spark(spark, column, values) for column, values in zip(columns, unusual, strict=True)]
        if all(text == written for texts in own for text, written in texts.items()):
            return new
        keys = [column.name for column in columns]
        stored: dict[str, tuple[str, ...]] = {}
        for name, row in sorted(rows.items()):
            written = [texts.get(value, value) for texts, value in zip(own, row, strict=True)]
            key = partition_name(keys, written)
            stored[key] = (*stored.get(key, ()), name)
        values = [{written: text for text, written in sorted(texts.items())} for texts in own]
        return cls(table, stored, values, new.lengths)

    def names(self, written: str) -> tuple[str, ...]:
        """The partitions with the values of the one that Spark names ``written``; if there is none, the new one's name.

        A new partition spells each value as existing ones do, so that the first part of their paths is the same.
        """
        self._require_lengths([written])
        if not self.stored:
            return (written,)
        if (stored := self.stored.get(written)) is not None:
            return stored
        parts = written.split("/")
        texts = [known.get(v, v) for known, v in zip(self.values, partition_values(written), strict=True)]
        return (partition_name([part.partition("=")[0] for part in parts], texts),)

    def name(self, written: str) -> str:
        """The partition that gets the rows which Spark writes under this name."""
        return self.names(written)[0]

    def twins(self, names: Iterable[str]) -> set[str]:
        """Other partitions with the values of these."""
        given = set(names)
        shared = [set(several) for several in self.stored.values() if len(several) > 1]
        return {name for several in shared if given & several for name in several - given}

    def check(self, names: Iterable[str]) -> None:
        """Check that a condition on values can choose these partitions and no other.

        Raises:
            UnsupportedTable: another partition has the same values, or the text of one is no value of its type.
        """
        given = set(names)
        if twins := sorted(self.twins(given)):
            raise self._refused(f"{', '.join(twins[:3])} beside others of the same values")
        odd = sorted(
            name
            for written, several in self.stored.items()
            for name in given.intersection(several)
            if name.count(DEFAULT_PARTITION) < written.count(DEFAULT_PARTITION)
        )
        if odd:
            raise self._refused(f"{', '.join(odd[:3])}, whose text is no value of the column's type")

    def _require_lengths(self, names: Iterable[str]) -> None:
        """Refuse values that Spark writes with blanks and Hive without: a metastore may take both for the same."""
        if not self.lengths:
            return
        for name in names:
            for length, value in zip(self.lengths, partition_values(name), strict=True):
                if length and value != DEFAULT_PARTITION and len(value.rstrip(" ")) != length:
                    raise UnsupportedTable(
                        expected=f"full values of the char({length}) by which {self.table} is partitioned",
                        found=f"'{name}': Spark writes it with blanks, and Hive without",
                        action="Nothing was published. Give the table a partition column of type string or varchar.",
                    )

    def _refused(self, found: str) -> UnsupportedTable:
        return UnsupportedTable(
            expected=f"each partition of {self.table} to be named by values of its own",
            found=found,
            action="Nothing was published. Rename these partitions (ALTER TABLE … PARTITION … RENAME TO PARTITION …), "
            "or move their rows into the others and drop them.",
        )


def _by_spark(spark: SparkSession, column: HiveColumn, texts: Collection[str]) -> dict[str, str]:
    """What Spark writes for values that are given as text; the name for null where a text is no value of the type."""
    if not texts:
        return {}
    given = small_frame(spark, [(text,) for text in sorted(texts)], {"given": "string"})
    rows = given.selectExpr("given", f"cast(try_cast(given as {column.type}) as string) as written").collect()
    return {row.given: row.written or DEFAULT_PARTITION for row in rows}
