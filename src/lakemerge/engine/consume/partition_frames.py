"""The rows of partitions at one moment, read from the files that they had then, whatever the table says now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lakemerge.consumer import Batch, Item, SourceSnapshot
from lakemerge.engine.relations.conditions import any_of
from lakemerge.engine.relations.file_frames import (
    as_uri,
    frame_of_files,
    normal,
    normal_text,
    shown_as,
    values_of,
)
from lakemerge.engine.spark.small_frames import small_frame
from lakemerge.engine.sql_text import literal, qualified, quote
from lakemerge.kernel import HiveColumn, TableName

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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
    kinds = {"__item": "int32", **{column.name: "string" for column in columns}}
    typed = ["`__item`", *(_typed(column) for column in columns)]
    frame = small_frame(spark, rows, kinds).selectExpr(*typed)
    return [items[row["__item"]] for row in frame.where(predicate).select("__item").sort("__item").collect()]


def frame_of(spark: SparkSession, source: TableName, batch: Batch) -> DataFrame:
    """The rows of the partitions that a run has taken, in the source's columns."""
    files = batch.files()
    if not batch.snapshot.file_format:
        return _by_table(spark, source, batch, [path for path, _ in files])
    snapshot = batch.snapshot
    frame = frame_of_files(spark, files, snapshot.file_format, snapshot.columns, snapshot.partition_columns)
    names = spark.table(qualified(source)).columns
    return shown_as(frame, {name.lower(): name for name in names})


def _by_table(spark: SparkSession, source: TableName, batch: Batch, paths: list[str]) -> DataFrame:
    """The rows as the table's own reader gives them, for formats that only this reader knows."""
    from pyspark.sql import functions

    table = spark.table(qualified(source))
    if not batch.items:
        return table.limit(0)
    if batch.snapshot.partition_columns:
        table = table.where(any_of(_is(batch.snapshot, item) for item in batch.items))
    # Spark gives encoded paths for files that it reads itself, and plain ones for those that Hive reads
    known = {spelling for path in paths for spelling in (as_uri(path), normal_text(path))}
    return table.where(normal(functions.input_file_name()).isin(sorted(known)))


def _is(snapshot: SourceSnapshot, item: Item) -> str:
    terms = [
        f"{quote(key.name)} is null"
        if value is None
        else f"{quote(key.name)} = cast({literal(value)} as {key.type})"
        for key, value in zip(snapshot.partition_columns, _values(item), strict=True)
    ]
    return " and ".join(terms)


def _values(item: Item) -> list[str | None]:
    return values_of(item.partition)


def _typed(column: HiveColumn) -> str:
    return f"cast({quote(column.name)} as {column.type}) as {quote(column.name)}"
