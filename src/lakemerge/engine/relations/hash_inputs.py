"""What a hash has to see of a value, so that values which differ in nulls and nesting alone have different hashes."""

from __future__ import annotations

import itertools

from pyspark.sql import types as spark_types
from pyspark.sql.types import DataType, StructField, StructType

from lakemerge.engine.relations.table_schema import comparable
from lakemerge.engine.sql_text import quote


def hash_inputs(expression: str, kind: DataType) -> list[str]:
    """The arguments of a hash that tell values apart, whatever the hash makes of nulls.

    Spark's hashes skip nulls and do not see where one value of an array or a struct ends: ``(1, null)`` and
    ``(null, 1)``, or ``[[1], []]`` and ``[[], [1]]``, have one hash. So what says how to read a value goes before it:
    whether it is null, how many items it has.
    """
    if isinstance(kind, StructType):
        members = [hash_inputs(f"{expression}.{quote(field.name)}", field.dataType) for field in kind.fields]
        return [f"{expression} is null", *itertools.chain(*members)]
    if isinstance(kind, spark_types.ArrayType):
        item = ", ".join(hash_inputs("item", kind.elementType))
        return [f"coalesce(size({expression}), -1)", f"transform({expression}, item -> struct({item}))"]
    if isinstance(kind, spark_types.MapType):
        key, value = (
            hash_inputs("entry.key", kind.keyType),
            hash_inputs("entry.value", _comparable_type(kind.valueType)),
        )
        entry = ", ".join([*key, *value])
        entries = f"transform({comparable(expression, kind)}, entry -> struct({entry}))"
        return [f"coalesce(size({expression}), -1)", entries]
    return [f"{expression} is null", expression]


def _comparable_type(kind: DataType) -> DataType:
    """The type of a value after :func:`comparable`."""
    if isinstance(kind, spark_types.MapType):
        fields = [StructField("key", kind.keyType), StructField("value", _comparable_type(kind.valueType))]
        return spark_types.ArrayType(StructType(fields))
    if isinstance(kind, spark_types.ArrayType):
        return spark_types.ArrayType(_comparable_type(kind.elementType))
    if isinstance(kind, StructType):
        return StructType(
            [StructField(field.name, _comparable_type(field.dataType)) for field in kind.fields]
        )
    return kind
