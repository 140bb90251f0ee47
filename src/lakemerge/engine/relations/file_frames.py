"""Data files as a frame of Spark, with the partition values of a manifest, whatever the table says now."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import types

from lakemerge.engine.relations.sized_text import padded, unsized
from lakemerge.engine.relations.table_schema import spark_type
from lakemerge.engine.spark.releases import metadata_of
from lakemerge.engine.spark.scala import mapped, sequence
from lakemerge.engine.spark.small_frames import empty_frame, small_frame
from lakemerge.engine.sql_text import quote
from lakemerge.kernel import DEFAULT_PARTITION, HiveColumn, partition_values

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

# Characters that Java's URI does not escape in a path; it does not escape non-ASCII characters either.
_PLAIN = re.compile(r"[A-Za-z0-9_\-!.~'()*,;:$&+=/@]|[^\x00-\x7f]")


def frame_of_files(
    spark: SparkSession,
    files: Sequence[tuple[str, str]],
    file_format: str,
    columns: Sequence[HiveColumn],
    partition_columns: Sequence[HiveColumn],
    *,
    file_column: str = "",
) -> DataFrame:
    """The rows of data files, the partition columns last.

    Args:
        files: each with the name of the partition that it is in.
        file_column: one more column, with the URI of each row's file; empty for none.
    """
    schema = schema_of(columns)
    if not files:
        return empty_frame(spark, schema_of([*columns, *partition_columns]))
    if partition_columns:
        frame = _partitioned(spark, files, file_format, schema, partition_columns)
    else:
        frame = spark.read.schema(schema).format(file_format).load([path for path, _ in files])
    shown = [*columns, *partition_columns]
    names = [f"{padded(quote(column.name), column.type)} as {quote(column.name)}" for column in shown]
    if file_column:
        frame = frame.withColumn(file_column, file_fact(frame, "file_path"))
        names = [*names, file_column]
    return frame.selectExpr(*names)


def _partitioned(
    spark: SparkSession,
    files: Sequence[tuple[str, str]],
    file_format: str,
    schema: types.StructType,
    partition_columns: Sequence[HiveColumn],
) -> DataFrame:
    """The rows of files as Spark reads those of a table: partitions that a query does not need are not read.

    Spark's readers find partitions by their directories' names, which here may be any. So the directories come with
    their values.
    """
    from pyspark.sql import DataFrame

    folders = {path.rpartition("/")[0]: name for path, name in files}
    session, jvm = spark._jsparkSession, spark._jvm
    assert jvm is not None
    path_of, none = jvm.org.apache.hadoop.fs.Path, getattr(jvm.scala, "None$")
    none = getattr(none, "MODULE$")
    datasources = jvm.org.apache.spark.sql.execution.datasources
    places = sequence(
        spark,
        (
            datasources.PartitionPath(row, path_of(folder))
            for folder, row in zip(folders, _rows_of(spark, folders.values(), partition_columns), strict=True)
        ),
    )
    no_options = mapped(spark, {})
    keys = session.parseDataType(schema_of(partition_columns).json())
    index = datasources.InMemoryFileIndex(
        session,
        sequence(spark, (path_of(path) for path, _ in files)),
        no_options,
        none,
        getattr(getattr(datasources, "NoopCache$"), "MODULE$"),
        jvm.scala.Some(datasources.PartitionSpec(keys, places)),
        none,
    )
    formats = {"orc": datasources.orc.OrcFileFormat, "parquet": datasources.parquet.ParquetFileFormat}
    data = session.parseDataType(schema.json())
    relation = datasources.HadoopFsRelation(
        index, keys, data, none, formats[file_format](), no_options, session
    )
    return DataFrame(session.baseRelationToDataFrame(relation), spark)


def _rows_of(
    spark: SparkSession, names: Iterable[str], partition_columns: Sequence[HiveColumn]
) -> Iterator[Any]:
    """The values of partitions by their names, as Spark holds rows."""
    texts = dict.fromkeys((f"c{place}" for place in range(len(partition_columns))), "string")
    typed = (f"cast({name} as {column.type})" for name, column in zip(texts, partition_columns, strict=True))
    found = small_frame(spark, [values_of(name) for name in names], texts).selectExpr(*typed)
    yield from found._jdf.queryExecution().executedPlan().executeCollect()


def file_fact(frame: DataFrame, name: str) -> Column:
    """What Spark knows of the file of each row, such as its ``file_path``; files may have a column ``_metadata``."""
    return metadata_of(frame).getField(name)


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
