"""Sequences as texts: how a commit remembers the highest one that its table has met."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from lakemerge.engine.merge.merge_options import MergeConfig
from lakemerge.engine.spark.zones import java_zone, session_zone

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakemerge.engine.relations.table_schema import ColumnPlan

# Types whose values have an exact text, and how these texts are ordered.
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "decimal")
_TIMES = ("timestamp",)
_TEXTS = ("string", "date")
# In a text, the kind of the pair that names time zones.
_ZONES = "z"
# Two time zones are at most 26 hours apart: UTC-12 and UTC+14.
_WIDEST = timedelta(hours=26) // timedelta(microseconds=1)


def types_of_sequence(config: MergeConfig, feed: DataFrame) -> list[str]:
    """Spark's names of the types of the sequence's parts; empty without a sequence."""
    if not config.sequence:
        return []
    fields = feed.selectExpr(*config.sequence_by).schema.fields
    return [field.dataType.simpleString() for field in fields]


def sequence_order(types: Sequence[str]) -> str:
    """How the texts of sequences of these types are ordered; empty where they have no exact text.

    Texts of another order cannot be compared with them.
    """
    kinds = [kind.partition("(")[0] for kind in types]
    if any(kind not in (*_NUMBERS, *_TIMES, *_TEXTS) for kind in kinds):
        return ""
    return ", ".join("number" if kind in _NUMBERS else kind for kind in kinds)


def sequence_metrics(types: Sequence[str]) -> Mapping[str, str]:
    """Aggregates over the latest changes: ``min_sequence`` and ``max_sequence`` as texts.

    Empty without a sequence, and for types that have no exact text. A text is a JSON array with a pair for each
    part of the sequence: ``n`` for number or ``t`` for text, and the value as a string; a time stamp is its
    microseconds since 1970, which no time zone changes.
    """
    if not sequence_order(types):
        return {}
    return {
        "min_sequence": _text_of("min(if(__is_truncate, null, __sequence))", types),
        "max_sequence": _text_of("max(__sequence)", types),
    }


def _text_of(value: str, types: Sequence[str]) -> str:
    parts = [f"{value}.part_{i}" for i in range(1, len(types) + 1)] if len(types) > 1 else [value]
    pairs = []
    for part, kind in zip(parts, types, strict=True):
        number = f"unix_micros({part})" if kind in _TIMES else part
        order = "t" if kind in _TEXTS else "n"
        pairs.append(f"array('{order}', cast({number} as string))")
    return f"if({value} is null, null, to_json(array({', '.join(pairs)})))"


@dataclass(frozen=True)
class SequenceZones:
    """The time zones by which a table's rows show their sequences.

    The same files show other sequences in another zone: times in ORC, times as partitions, and what SQL makes of times.

    Attributes:
        names: the zones; empty where none has a part in the sequences.
        shifts: whether another zone moves the times in them and does nothing else.
    """

    names: str = ""
    shifts: bool = True

    @classmethod
    def of(
        cls,
        sequence_by: Sequence[str],
        types: Sequence[str],
        columns: Iterable[ColumnPlan],
        file_format: str,
        spark: SparkSession,
    ) -> SequenceZones:
        """The zones of a table's sequences.

        Args:
            types: of the sequence's parts; empty without a sequence.
            columns: those of the table.
        """
        stored = {name: column for column in columns for name in (column.name.lower(), column.quoted.lower())}
        parts = [
            (stored.get(text.strip().lower()), kind) for text, kind in zip(sequence_by, types, strict=True)
        ]
        computed = any(column is None for column, _ in parts)
        times = [column for column, kind in parts if column and kind in _TIMES]
        by_java = computed or (file_format == "orc" and any(not column.is_partition for column in times))
        by_session = computed or any(column.is_partition for column in times)
        names = [f"Java {java_zone(spark)}"] if by_java else []
        names += [f"session {session_zone(spark)}"] if by_session else []
        return cls(", ".join(names), not computed)

    def text(self, sequence: str) -> str:
        """A sequence as a manifest has it: with the zones in which the table shows it."""
        return json.dumps([*json.loads(sequence), [_ZONES, self.names]]) if self.names else sequence

    def read(self, text: str, order: str) -> str | None:
        """A sequence from a manifest: as the table shows it in these zones, or a higher one; ``None`` if not known."""
        parts = json.loads(text)
        names = parts.pop()[1] if parts[-1][0] == _ZONES else ""
        if names != self.names:
            if not self.shifts:
                return None
            for part, kind in zip(parts, order.split(", "), strict=True):
                part[1] = str(int(part[1]) + _WIDEST) if kind in _TIMES else part[1]
        return json.dumps(parts)


def order_of(text: str) -> tuple[Decimal | bytes, ...]:
    """A key that orders the texts of one sequence as Spark orders its values."""
    # Spark compares strings by their UTF-8 bytes
    return tuple(Decimal(value) if order == "n" else value.encode() for order, value in json.loads(text))
