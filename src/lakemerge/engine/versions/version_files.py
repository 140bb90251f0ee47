"""A version as files, for engines that read files by themselves: Arrow, DuckDB, Polars."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import types as spark_types
from pyspark.sql.types import DataType

from lakemerge.engine.relations.file_frames import schema_of, values_of
from lakemerge.engine.spark.small_frames import small_frame
from lakemerge.engine.versions.version_rows import VersionRows
from lakemerge.errors import UnsupportedTable
from lakemerge.kernel import HiveColumn

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.dataset
    from pyspark.sql import SparkSession

_SIMPLE: dict[type[spark_types.DataType], str] = {
    spark_types.BooleanType: "bool_",
    spark_types.ByteType: "int8",
    spark_types.ShortType: "int16",
    spark_types.IntegerType: "int32",
    spark_types.LongType: "int64",
    spark_types.FloatType: "float32",
    spark_types.DoubleType: "float64",
    spark_types.StringType: "string",
    spark_types.BinaryType: "binary",
    spark_types.DateType: "date32",
}
# What comes before a path in a URI, and the schemes whose paths begin at a root of their own.
_ROOT = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://[^/]*")
_WITH_ROOT = ("file", "hdfs", "viewfs")


@dataclass(frozen=True)
class VersionFile:
    """A data file of a version.

    Attributes:
        path: its URI, such as ``file:///warehouse/…``.
        bytes: its size.
        partition: the values of the partition columns as texts, by column; ``None`` for null. The file does not hold
            them.
    """

    path: str
    bytes: int
    partition: dict[str, str | None]


def files_of(rows: VersionRows) -> list[VersionFile]:
    """The files that hold a version.

    Raises:
        UnsupportedTable: changes lie beside them, which a list of files does not show.
    """
    _require_no_deltas(rows)
    keys = [column.name for column in rows.manifest.partition_columns]
    return [
        VersionFile(_as_uri(entry.path), entry.size, dict(zip(keys, values_of(name), strict=True)))
        for entry, name in rows.files()
    ]


def dataset_of(spark: SparkSession, rows: VersionRows, filesystem: Any = None) -> pyarrow.dataset.Dataset:
    """A version as a dataset of Arrow, with the columns that it had; times in ORC have no zone there.

    Args:
        filesystem: one of Arrow's, where Arrow cannot find it by the files' URIs.

    Raises:
        UnsupportedTable: as of :func:`files_of`.
    """
    from pyarrow import dataset, fs

    version, files = rows.manifest, files_of(rows)
    is_orc = version.file_format == "orc"
    keys = version.partition_columns
    schema = _arrow_schema([*version.columns, *keys], is_orc)
    if files and filesystem is None:
        filesystem, _ = fs.FileSystem.from_uri(f"{_ROOT.match(files[0].path)[0]}/")  # type: ignore[index]
    file_format = dataset.OrcFileFormat() if is_orc else dataset.ParquetFileFormat()
    values = _typed_values(spark, {tuple(one.partition.values()) for one in files}, keys)
    fragments = []
    for one in files:
        is_there = None
        for key, value in zip(keys, values.get(tuple(one.partition.values()), ()), strict=True):
            field = dataset.field(key.name)
            is_value = (
                field.is_null() if value is None else field == _scalar(value, schema.field(key.name).type)
            )
            is_there = is_value if is_there is None else is_there & is_value
        fragments.append(file_format.make_fragment(_path_in_arrow(one.path), filesystem, is_there))
    return dataset.FileSystemDataset(fragments, schema, file_format, filesystem)


def _require_no_deltas(rows: VersionRows) -> None:
    if rows.deltas:
        raise UnsupportedTable(
            expected=f"version {rows.manifest.version} to lie in its files alone",
            found=f"a table that is merged on read, with {len(rows.deltas)} deltas beside its base",
            action="Read it by frame(), which merges them; or compact them (lakemerge_compact with deltas: major), and "
            "take the version that this makes.",
        )


def _path_in_arrow(uri: str) -> str:
    """A file as Arrow's file systems name it: object stores by bucket and key."""
    root = _ROOT.match(uri)
    assert root is not None, "a URI has a scheme"
    return uri.removeprefix(f"{root['scheme']}://" if root["scheme"] not in _WITH_ROOT else root[0])


def _as_uri(path: str) -> str:
    return re.sub(r"^file:/+", "file:///", path)


def _typed_values(
    spark: SparkSession, texts: set[tuple[str | None, ...]], keys: tuple[HiveColumn, ...]
) -> dict[tuple[str | None, ...], tuple[Any, ...]]:
    """The values of partitions as Spark makes them of their texts; times in microseconds since 1970."""
    if not keys:
        return {(): ()}
    listed, names = sorted(texts, key=str), [f"c{place}" for place in range(len(keys))]
    if not listed:
        return {}
    typed = []
    for name, key in zip(names, keys, strict=True):
        value = f"cast({name} as {key.type})"
        typed.append(f"unix_micros({value})" if key.type == "timestamp" else value)
    found = small_frame(spark, listed, dict.fromkeys(names, "string")).selectExpr(*typed).collect()
    return {row: tuple(values) for row, values in zip(listed, found, strict=True)}


def _scalar(value: Any, kind: pyarrow.DataType) -> Any:
    import pyarrow

    if pyarrow.types.is_timestamp(kind):
        return pyarrow.scalar(value, pyarrow.int64()).cast(kind)
    return pyarrow.scalar(value, kind)


def _arrow_schema(columns: list[HiveColumn], is_orc: bool) -> pyarrow.Schema:
    import pyarrow

    # ORC holds local times of the Java that wrote them, and Arrow shows them as such
    zone = None if is_orc else "UTC"
    return pyarrow.schema(
        [(field.name, _arrow_type(field.dataType, zone)) for field in schema_of(columns).fields]
    )


def _arrow_type(kind: DataType, zone: str | None) -> pyarrow.DataType:
    import pyarrow

    if isinstance(kind, spark_types.DecimalType):
        return pyarrow.decimal128(kind.precision, kind.scale)
    if isinstance(kind, spark_types.TimestampType):
        return pyarrow.timestamp("us", tz=zone)
    if isinstance(kind, spark_types.ArrayType):
        return pyarrow.list_(_arrow_type(kind.elementType, zone))
    if isinstance(kind, spark_types.MapType):
        return pyarrow.map_(_arrow_type(kind.keyType, zone), _arrow_type(kind.valueType, zone))
    if isinstance(kind, spark_types.StructType):
        return pyarrow.struct([(field.name, _arrow_type(field.dataType, zone)) for field in kind.fields])
    return getattr(pyarrow, _SIMPLE[type(kind)])()
