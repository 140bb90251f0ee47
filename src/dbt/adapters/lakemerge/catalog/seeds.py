"""A seed's rows as a typed Spark frame."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark.impl import SparkAdapter
from dbt_common.exceptions import DbtRuntimeError

from lakemerge.engine.spark.small_frames import arrow_frame
from lakemerge.engine.sql_text import quote

if TYPE_CHECKING:
    import agate
    import pyarrow
    from pyspark.sql import Column, DataFrame, SparkSession

_MAX_BIGINT = 2**63 - 1
_PLAIN_NAME = re.compile(r"\w+")


class InvalidSeedColumn(DbtRuntimeError):
    """A seed has a column that cannot be created as its config says."""


class InvalidSeedValue(DbtRuntimeError):
    """A value of a seed does not fit its column's type."""


def frame_of_agate(
    spark: SparkSession, table: agate.Table, column_types: Mapping[str, str] | None = None
) -> DataFrame:
    """The rows of a seed as a frame; nulls stay nulls.

    Args:
        table: what dbt read from the CSV file.
        column_types: dbt's config of that name, Spark types by column name.

    Raises:
        InvalidSeedValue: a number is beyond ``bigint`` and the column has no type of its own. A text
            that does not fit its configured type fails the write that reads the frame.
    """
    import pyarrow

    types = {
        name: _sized((column_types or {}).get(name)) or inferred_type(table, index)
        for index, name in enumerate(table.column_names)
    }
    arrays = [
        _array(name, types[name], table.columns[index].values())
        for index, name in enumerate(table.column_names)
    ]
    frame = arrow_frame(spark, pyarrow.table(arrays, names=list(table.column_names)))
    return frame.select(
        *(_typed(name, array.type, types[name]) for name, array in zip(types, arrays, strict=True))
    )


def _sized(kind: str | None) -> str | None:
    """A configured type; a string in place of one that other databases allow without a length."""
    return "string" if kind is not None and kind.strip().lower() in ("varchar", "char", "text") else kind


def check_columns(names: Iterable[str], quote_columns: bool | None) -> None:
    """Refuse names that need quotes where the seed says ``quote_columns: false``.

    A file read with the wrong delimiter has one such column, and would make a table of one column.

    Raises:
        InvalidSeedColumn: a name has other characters than letters, digits and underscores.
    """
    if quote_columns is not False:
        return
    for name in names:
        if not _PLAIN_NAME.fullmatch(name):
            raise InvalidSeedColumn(
                f"Expected columns of plain names under `quote_columns: false`; found {name}. "
                "If the file has another delimiter, set `delimiter`; otherwise set `quote_columns: true`."
            )


def inferred_type(table: agate.Table, index: int) -> str:
    """The Spark type for the column that agate found at ``index``."""
    kind = SparkAdapter.convert_type(table, index)
    # Hive has no type for a time of the day
    return "string" if kind in (None, "time") else str(kind)


def _array(name: str, spark_type: str, values: Any) -> pyarrow.Array:
    """The values as Arrow has them: natively where the type is one that Arrow keeps, otherwise as text."""
    import pyarrow

    natives: Mapping[str, tuple[Any, Callable[[Any], Any]]] = {
        "bigint": (pyarrow.int64(), int),
        "double": (pyarrow.float64(), float),
        "boolean": (pyarrow.bool_(), bool),
        "date": (pyarrow.date32(), lambda value: value),
    }
    # with a configured type dbt leaves the column as text
    as_text = any(isinstance(value, str) for value in values)
    if as_text or spark_type not in natives:
        return pyarrow.array([None if value is None else _text(value) for value in values], pyarrow.string())
    arrow_type, convert = natives[spark_type]
    if spark_type == "bigint":
        for value in values:
            if value is not None and not -_MAX_BIGINT - 1 <= value <= _MAX_BIGINT:
                raise InvalidSeedValue(
                    f"Expected numbers of 64 bits in the column {name}; found {value}. "
                    "Give the column a type under `column_types`, such as decimal(38,0)."
                )
    return pyarrow.array([None if value is None else convert(value) for value in values], arrow_type)


def _text(value: Any) -> str:
    """The value as Spark casts it back from text."""
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _typed(name: str, arrow_type: Any, spark_type: str) -> Column:
    """The column cast to its type, failing where a cast would turn a text into null."""
    import pyarrow
    from pyspark.sql import functions

    column = functions.col(quote(name))
    if not pyarrow.types.is_string(arrow_type) or spark_type.lower() in ("string", "text"):
        return column.alias(name)
    value = column.cast(spark_type)
    failure = functions.raise_error(
        functions.concat(
            functions.lit("Expected values of type " + spark_type + " in the seed's column " + name),
            functions.lit("; found '"),
            column,
            functions.lit("'. Correct the value, or the type under `column_types`."),
        )
    )
    lost = column.isNotNull() & value.isNull()
    return functions.when(lost, failure.cast(spark_type)).otherwise(value).alias(name)
