"""A text is taken for a value only in the notation of its type, whatever Spark's casts would take besides."""

from __future__ import annotations

import re
from typing import Any

import pytest

from lakemerge.engine.ingest.ingest_options import IngestOptions
from lakemerge.engine.ingest.record_types import ValueType

pytestmark = pytest.mark.slow

OPTIONS = IngestOptions.of({"landing": "/landing", "format": "delimited"})
NUMBER = r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)"
ZONE = r"( ?(Z|UTC|GMT|[+-][0-9:]+))?"
# days that ORC holds: of years of our calendar, and none that Java's older one leaves out
DAY = r"(?!0000|1582-10-(0[5-9]|1[0-4]))[0-9]{4}-[0-9]{2}-[0-9]{2}"
#: The notation of each type, and texts near which casts and patterns are likely to differ.
NOTATIONS = {
    "tinyint": (r"[+-]?[0-9]+", ["0", "-128", "128"]),
    "bigint": (r"[+-]?[0-9]+", ["9223372036854775807", "9223372036854775808"]),
    "decimal(6,2)": (r"[+-]?[0-9]*[.]?[0-9]{0,2}0*", ["1234.50", "1.5000", ".5", "5."]),
    "decimal(4,0)": (r"[+-]?[0-9]*[.]?0*", ["1234", "1.0"]),
    "float": (NUMBER + r"([eE][+-]?[0-9]+)?|NaN|-?Infinity", ["1.5", "3e38", "NaN", "-Infinity"]),
    "double": (NUMBER + r"([eE][+-]?[0-9]+)?|NaN|-?Infinity", ["85714.28", "1.4E-4", "0x1p3", "1e308"]),
    "boolean": (r"(?i:true|false)", ["true", "FALSE"]),
    "date": (DAY, ["2024-02-29", "0001-01-01", "1582-10-04", "9999-12-31"]),
    "timestamp": (
        DAY + r"[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?" + ZONE,
        ["2024-02-29 23:59:59", "2024-02-29T23:59", "2024-02-29 23:59:59.123456", "2024-02-29 23:59:59+01:00"],
    ),
}  # fmt: skip
SIGNS = '0129+-.:/_eEdfxpTZ \t"\\\u0663\u00a0'


def neighbours(text: str) -> set[str]:
    """All texts that differ in one character: another one, one more or one less."""
    found = {text}
    for at in range(len(text) + 1):
        found.update(text[:at] + sign + text[at:] for sign in SIGNS)
        found.update(text[:at] + sign + text[at + 1 :] for sign in SIGNS)
        found.add(text[:at] + text[at + 1 :])
    return found


class TestExactTexts:
    @pytest.mark.parametrize("kind", NOTATIONS)
    def test_only_the_notation_is_exact(self, project: Any, kind: str) -> None:
        notation, examples = NOTATIONS[kind]
        near = set().union(*map(neighbours, examples))
        texts = sorted(near | set().union(*(neighbours(text) for text in sorted(near)[::97])))
        adapter = project.adapter

        def sql(macro: str, **arguments: Any) -> str:
            given = {"type": ValueType.of(kind), "text": "text", "options": OPTIONS, **arguments}
            return str(adapter.execute_macro(macro, kwargs=given))

        with adapter.connection_named("exact_texts"):
            spark = adapter.handle.spark
            value = sql("lakemerge_text_value_sql")
            exact = sql("lakemerge_text_exact_sql", value="value")
            spark.createDataFrame([(text,) for text in texts], "text string").createOrReplaceTempView("texts")
            rows = spark.sql(
                f"select text, value is not null as has_value, coalesce({exact}, false) as exact "
                f"from (select text, {value} as value from texts)"
            ).collect()
        assert len(rows) == len(texts)
        taken = {row.text for row in rows if row.exact}
        readable = {row.text for row in rows if row.has_value}
        extreme = {text for text in readable if kind in ("float", "double") and is_extreme(text)}
        assert taken - extreme == {
            text for text in readable - extreme if re.fullmatch(notation, text, re.ASCII)
        }
        # else this test would not see what a cast takes besides; of booleans the value itself is as strict
        assert readable - taken or kind == "boolean"


def is_extreme(text: str) -> bool:
    """Whether a number is so large or so small that a float may have none for it."""
    digits = re.split("[eE]", text)[0]
    return abs(float_of(text)) > 3e38 or (
        abs(float_of(text)) < 1e-37 and re.search("[1-9]", digits) is not None
    )


def float_of(text: str) -> float:
    """A number that Java reads; 0 for one that Python does not."""
    try:
        return float(text)
    except ValueError:
        return 0.0
