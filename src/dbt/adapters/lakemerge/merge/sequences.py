"""Sequences as texts: how a commit remembers the highest one that its table has met."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from dbt.adapters.lakemerge.merge.options import MergeConfig

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Types whose values have an exact text, and how these texts are ordered.
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "decimal")
_TIMES = ("timestamp",)
_TEXTS = ("string", "date")


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


def order_of(text: str) -> tuple[Decimal | bytes, ...]:
    """A key that orders the texts of one sequence as Spark orders its values."""
    # Spark compares strings by their UTF-8 bytes
    return tuple(Decimal(value) if order == "n" else value.encode() for order, value in json.loads(text))
