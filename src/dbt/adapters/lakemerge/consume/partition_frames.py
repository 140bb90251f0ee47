"""The rows of partitions at one moment, read from the files that they had then, whatever the table says now."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dbt.adapters.lakemerge.relations.conditions import any_of
from dbt.adapters.lakemerge.relations.table_schema import literal, quote, spark_type, unsized
from pyspark.sql import types

from lakemerge.consumer import Batch, Item, SourceSnapshot
from lakemerge.kernel import DEFAULT_PARTITION, HiveColumn, TableName, partition_values

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_PATH = "__lakemerge_path"
# Characters that Java's URI does not escape in a path; it does not escape non-ASCII characters either.
_PLAIN = re.compile(r"[A-Za-z0-9_\-!.~'()*,;:$&+=/@]|[^\x00-\x7f]")
_FACTS = (HiveColumn("_version", "bigint"), HiveColumn("_bytes", "bigint"))


def matching(
    spark: SparkSession, snapshot: SourceSnapshot, items: Sequence[Item], predicate: str
) -> Sequence[Item]:
    """The items for which a predicate over partition columns, ``_version`` and ``_bytes`` is true."""
    if not predicate or not items:
        return items
    columns = (*snapshot.partition_columns, *_FACTS)
    rows = [
        (number, *_values(item), str(item.version) if item.version is not None else None, str(item.bytes))
        for number, item in enumerate(items)
    ]
    schema = ", ".join(["`__item` int", *(f"{quote(column.name)} string" for column in columns)])
    typed = ["`__item`", *(_typed(column) for column in columns)]
    frame = spark.createDataFrame(rows, schema).selectExpr(*typed)
    return [items[row["__item"]] for row in frame.where(predicate).select("__item").sort("__item").collect()]


def frame_of(spark: SparkSession, source: TableName, batch: Batch) -> DataFrame:
    """The rows of the partitions that a run has taken, in the source's columns."""
    files = batch.files()
    if not batch.snapshot.file_format:
        return _by_table(spark, source, batch, [path for path, _ in files])
    return _by_files(spark, batch.snapshot, files)


def _by_files(spark: SparkSession, snapshot: SourceSnapshot, files: list[tuple[str, str]]) -> DataFrame:
    from pyspark.sql import functions

    schema = types.StructType([types.StructField(c.name, _read_type(c)) for c in snapshot.columns])
    names = [quote(column.name) for column in snapshot.columns]
    if not files:
        keys = [types.StructField(c.name, _read_type(c)) for c in snapshot.partition_columns]
        return spark.createDataFrame([], types.StructType([*schema.fields, *keys]))
    frame = spark.read.schema(schema).format(snapshot.file_format).load([path for path, _ in files])
    if not snapshot.partition_columns:
        return frame.selectExpr(*names)
    keys_schema = ", ".join(f"{quote(column.name)} string" for column in snapshot.partition_columns)
    rows = [(as_uri(path), *_values_of(name)) for path, name in files]
    places = spark.createDataFrame(rows, f"{_PATH} string, {keys_schema}")
    path = _normal(functions.col("_metadata.file_path"))
    joined = frame.withColumn("__lakemerge_file", path).join(
        functions.broadcast(places), functions.col("__lakemerge_file") == functions.col(_PATH), "left"
    )
    found = (
        f"if({_PATH} is null, raise_error(concat('lakemerge does not know the file ', __lakemerge_file)), "
    )
    values = [
        f"cast({found}{quote(key.name)}) as {key.type}) as {quote(key.name)}"
        for key in snapshot.partition_columns
    ]
    return joined.selectExpr(*names, *values)


def _by_table(spark: SparkSession, source: TableName, batch: Batch, paths: list[str]) -> DataFrame:
    """By the table's own reader, for formats that only it knows."""
    from pyspark.sql import functions

    table = spark.table(f"`{source.schema}`.`{source.name}`")
    if not batch.items:
        return table.limit(0)
    if batch.snapshot.partition_columns:
        table = table.where(any_of(_is(batch.snapshot, item) for item in batch.items))
    # Spark gives encoded paths for files that it reads itself, and plain ones for those that Hive reads
    known = {spelling for path in paths for spelling in (as_uri(path), _normal_text(path))}
    return table.where(_normal(functions.input_file_name()).isin(sorted(known)))


def _is(snapshot: SourceSnapshot, item: Item) -> str:
    terms = [
        f"{quote(key.name)} is null"
        if value is None
        else f"{quote(key.name)} = cast({literal(value)} as {key.type})"
        for key, value in zip(snapshot.partition_columns, _values(item), strict=True)
    ]
    return " and ".join(terms)


def _values(item: Item) -> list[str | None]:
    return _values_of(item.partition)


def _values_of(partition: str) -> list[str | None]:
    values = partition_values(partition) if partition else []
    return [None if value == DEFAULT_PARTITION else value for value in values]


def _typed(column: HiveColumn) -> str:
    return f"cast({quote(column.name)} as {column.type}) as {quote(column.name)}"


def _read_type(column: HiveColumn) -> types.DataType:
    return spark_type(unsized(column.type))


def as_uri(path: str) -> str:
    """A path as Spark's ``_metadata.file_path`` shows it: encoded as Java encodes the path of a URI."""
    return "".join(
        char if _PLAIN.match(char) else "".join(f"%{byte:02X}" for byte in char.encode())
        for char in _normal_text(path)
    )


def _normal_text(path: str) -> str:
    """One spelling for ``file:/a`` and ``file:///a``."""
    return re.sub(r"^file:/+", "file:/", path)


def _normal(path: Column) -> Column:
    from pyspark.sql import functions

    return functions.regexp_replace(path, "^file:/+", "file:/")
