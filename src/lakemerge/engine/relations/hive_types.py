"""The columns of a query as Hive's metastore keeps them: names and types."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import types as spark_types
from pyspark.sql.types import DataType, StructField, StructType

from lakemerge.engine.relations.column_names import require_sound_names
from lakemerge.engine.relations.sized_text import CHAR_TYPE
from lakemerge.errors import UnsupportedColumnType
from lakemerge.kernel import HiveColumn


def hive_columns(schema: StructType, partition_by: Iterable[str] = ()) -> tuple[HiveColumn, ...]:
    """The columns of a query as the metastore keeps them.

    Raises:
        UnsupportedColumnName: see :func:`require_sound_names`.
        UnsupportedColumnType: some have a type that a Hive table cannot hold; all of them are named.
    """
    require_sound_names(schema, partition_by)
    columns, refused = [], []
    for field in schema.fields:
        try:
            columns.append(HiveColumn(field.name.lower(), _hive_type_of(field)))
        except _NoHiveType as error:
            refused.append(f"{field.name} ({error})")
    if refused:
        raise UnsupportedColumnType(
            expected="columns of types that Hive tables can hold",
            found=", ".join(refused),
            action="Cast them in the model, such as `cast(null as string)` for a bare null.",
        )
    return tuple(columns)


class _NoHiveType(Exception):
    """The name of a type that Hive does not have."""


def _hive_type_of(field: StructField) -> str:
    declared = field.metadata.get(CHAR_TYPE)
    return str(declared) if declared else hive_type(field.dataType)


def hive_type(kind: DataType) -> str:
    """Hive's name of a Spark type; a time stamp without zone becomes Hive's ``timestamp``, which has none."""
    if isinstance(kind, spark_types.ArrayType):
        return f"array<{hive_type(kind.elementType)}>"
    if isinstance(kind, spark_types.MapType):
        return f"map<{hive_type(kind.keyType)},{hive_type(kind.valueType)}>"
    if isinstance(kind, StructType):
        fields = ",".join(f"{field.name}:{hive_type(field.dataType)}" for field in kind.fields)
        return f"struct<{fields}>"
    if isinstance(kind, spark_types.TimestampNTZType):
        return "timestamp"
    if type(kind) is spark_types.StringType:
        return "string"  # whatever its collation, which the metastore and files do not have
    known = (
        spark_types.ByteType,
        spark_types.ShortType,
        spark_types.IntegerType,
        spark_types.LongType,
        spark_types.StringType,
        spark_types.BooleanType,
        spark_types.FloatType,
        spark_types.DoubleType,
        spark_types.DecimalType,
        spark_types.BinaryType,
        spark_types.DateType,
        spark_types.TimestampType,
        spark_types.CharType,
        spark_types.VarcharType,
    )
    if not isinstance(kind, known) or type(kind).__name__.endswith("IntervalType"):
        raise _NoHiveType(kind.simpleString())
    return str(kind.simpleString())
