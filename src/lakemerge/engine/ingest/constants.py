"""The values that all rows of an ingest share, `partition_values`, read as strictly as the fields of records."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lakemerge.engine.ingest.ingest_options import IngestOptions
from lakemerge.engine.ingest.record_types import RecordColumn
from lakemerge.engine.macros import Macros
from lakemerge.engine.relations.sized_text import char_length
from lakemerge.engine.sql_text import literal
from lakemerge.errors import InvalidConfig, shown
from lakemerge.kernel import DEFAULT_PARTITION

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Characters of a value in a message.
_MOST_SHOWN = 100
_SIMPLE = (str, int, float, decimal.Decimal, datetime.date)


def require_exact(
    spark: SparkSession,
    macros: Macros,
    columns: Sequence[RecordColumn],
    options: IngestOptions,
    partition_columns: Collection[str],
) -> None:
    """Refuse values that would not be read back from their columns as they are written.

    Args:
        options: the model's, with the dates and times that the table's files can hold.

    Raises:
        InvalidConfig: there are such values; the message names them all.
    """
    # the model's patterns are for the texts in files, not for these values
    plain = dataclasses.replace(options, date_format="", timestamp_format="")
    problems, checks = [], {}
    for column in columns:
        if column.name not in options.partition_values:
            continue
        value = options.partition_values[column.name]
        problem = _problem(column, value, column.name in partition_columns)
        if problem:
            problems.append(f"{column.name}: {shown(value, _MOST_SHOWN)}, {problem}")
        elif value is not None:
            text = literal(str(value))
            exact = macros.lakemerge_text_value_sql(column.type, text, plain)
            exact = macros.lakemerge_text_exact_sql(column.type, text, exact, plain)
            checks[column.name] = f"coalesce({exact}, false) as {column.quoted}"
    if checks:
        found: Mapping[str, bool] = spark.sql(f"select {', '.join(checks.values())}").collect()[0].asDict()
        problems += [
            f"{column.name}: {shown(options.partition_values[column.name], _MOST_SHOWN)}, which is no {column.declared}"
            for column in columns
            if not found.get(column.name, True)
        ]
    if problems:
        raise InvalidConfig(
            expected="partition_values that the columns give back as they are written",
            found="; ".join(problems),
            action="Correct them; put in quotes what YAML would take for something else than text.",
        )


def _problem(column: RecordColumn, value: Any, is_partition: bool) -> str:
    """What is wrong with a value, however Spark would cast it; empty if nothing is."""
    if is_partition and value in (None, "", DEFAULT_PARTITION):
        return "which is null in the name of a partition"
    if value is None:
        return ""
    if column.type.depth:
        return f"but {column.declared} takes no single value"
    if not isinstance(value, _SIMPLE):
        return "which is no single value"
    is_text = column.type.kind in ("string", "char")
    if (is_text and isinstance(value, bool | float)) or (
        isinstance(value, bool) and column.type.kind != "boolean"
    ):
        return f"which is no {column.declared}"
    try:
        str(value).encode()
    except ValueError:
        # thousands of digits, or half of a character
        return f"which is no {column.declared}"
    length = char_length(column.stored_type) if is_partition else 0
    if len(str(value).rstrip(" ")) < length:
        return f"which is no whole value of a {column.stored_type}"
    return ""
