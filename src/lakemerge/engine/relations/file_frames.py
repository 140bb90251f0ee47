"""Data files as a frame of Spark, with the partition values of a manifest, whatever the table says now."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import types

from lakemerge.engine.relations.sized_text import padded, unsized
from lakemerge.engine.relations.table_schema import spark_type
from lakemerge.engine.spark.small_frames import small_frame
from lakemerge.engine.sql_text import quote
from lakemerge.kernel import DEFAULT_PARTITION, HiveColumn, partition_values

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_PATH, _FILE = "__lakemerge_path", "__lakemerge_file"
# Characters that Java's URI does not escape in a path; it does not escape non-ASCII characters either.
_PLAIN = re.compile(r"[A-Za-z0-9_\-!.~'()*,;:$&+=/@]|[^\x00-\x7f]")


def frame_of_files(
    spark: SparkSession,
    files: Sequence[tuple[str, str]],
    file_format: str,
    columns: Sequence[HiveColumn],
    partition_columns: Sequence[HiveColumn],
) -> DataFrame:
    """The rows of data files, the partition columns last.

    Args:
        files: each with the name of the partition that it is in.
    """
    from pyspark.sql import functions

    schema = schema_of(columns)
    if not files:
        return spark.createDataFrame([], schema_of([*columns, *partition_columns]))
    frame = spark.read.schema(schema).format(file_format).load([path for path, _ in files])
    names = [f"{padded(quote(column.name), column.type)} as {quote(column.name)}" for column in columns]
    if not partition_columns:
        return frame.selectExpr(*names)
    rows = [(as_uri(path), *values_of(name)) for path, name in files]
    places = small_frame(
        spark, rows, dict.fromkeys([_PATH, *(key.name for key in partition_columns)], "string")
    )
    joined = frame.withColumn(_FILE, normal(file_fact(frame, "file_path"))).join(
        functions.broadcast(places), functions.col(_FILE) == functions.col(_PATH), "left"
    )
    found = f"if({_PATH} is null, raise_error(concat('lakemerge does not know the file ', {_FILE})), "
    values = [
        f"cast({found}{quote(key.name)}) as {key.type}) as {quote(key.name)}" for key in partition_columns
    ]
    return joined.selectExpr(*names, *values)


def file_fact(frame: DataFrame, name: str) -> Column:
    """What Spark knows of the file of each row, such as its ``file_path``; files may have a column ``_metadata``."""
    return frame.metadataColumn("_metadata").getField(name)


def schema_of(columns: Sequence[HiveColumn]) -> types.StructType:
    """The schema by which files are read: texts without a length."""
    return types.StructType([types.StructField(c.name, spark_type(unsized(c.type))) for c in columns])


def shown_as(frame: DataFrame, spelling: Mapping[str, str]) -> DataFrame:
    """A frame with its columns' names as they are to be shown, by their names in lower case; others stay."""
    names = [spelling.get(name.lower(), name) for name in frame.columns]
    return frame if names == frame.columns else frame.toDF(*names)


def values_of(partition: str) -> list[str | None]:
    """The values in a partition's name, which is empty for a whole table."""
    values = partition_values(partition) if partition else []
    return [None if value == DEFAULT_PARTITION else value for value in values]


def as_uri(path: str) -> str:
    """A path as Spark's ``_metadata.file_path`` shows it: encoded as Java encodes the path of a URI."""
    return "".join(
        char if _PLAIN.match(char) else "".join(f"%{byte:02X}" for byte in char.encode())
        for char in normal_text(path)
    )


def normal_text(path: str) -> str:
    """One spelling for ``file:/a`` and ``file:///a``."""
    return re.sub(r"^file:/+", "file:/", path)


def normal(path: Column) -> Column:
    """As :func:`normal_text`, of a column."""
    from pyspark.sql import functions

    return functions.regexp_replace(path, "^file:/+", "file:/")
