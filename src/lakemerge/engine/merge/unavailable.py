"""Values that a change does not bring, and for which its feed has a placeholder, as Debezium's does.

A database may log a large value only where it changes. Debezium then writes its ``unavailable.value.placeholder``, in a
form of the column's type. Such a value is not changed; a null is.
"""

from __future__ import annotations

import base64
import hashlib
import json
import uuid

from pyspark.sql import types as spark_types
from pyspark.sql.types import DataType

from lakemerge.engine.sql_text import literal


def unavailable_sql(expression: str, kind: DataType, placeholder: str) -> str:
    """SQL that is true where a value is the placeholder, in the form of its type; empty for a type that has none.

    The placeholder of bytes is its own bytes, of numbers their values, of a UUID a hash. Text may also be what a
    connector makes of bytes (base64 or hexadecimal), or the JSON of an array or of ``hstore``.
    """
    text = _literal(placeholder)
    data = placeholder.encode()
    if isinstance(kind, spark_types.StringType | spark_types.VarcharType | spark_types.CharType):
        value = f"rtrim({expression})" if isinstance(kind, spark_types.CharType) else expression
        forms = [text, *map(_literal, _texts(placeholder, data))]
        return f"{value} in ({', '.join(forms)})"
    if isinstance(kind, spark_types.BinaryType):
        return f"{expression} = {_bytes(data)}"
    if isinstance(kind, spark_types.MapType):
        texts = isinstance(kind.keyType, spark_types.StringType)
        return f"map_keys({expression}) = array({text})" if texts else ""
    return (
        _of_array(expression, kind.elementType, text, data) if isinstance(kind, spark_types.ArrayType) else ""
    )


def _of_array(expression: str, item: DataType, text: str, data: bytes) -> str:
    if isinstance(item, spark_types.StringType):
        return f"{expression} in (array({text}), array({_literal(_uuid_of(data))}))"
    if isinstance(item, spark_types.BinaryType):
        return f"{expression} = array({_bytes(data)})"
    if isinstance(item, spark_types.IntegerType | spark_types.LongType):
        numbers = ", ".join(f"{number}L" for number in data)
        return f"cast({expression} as array<bigint>) = array({numbers})"
    return ""


def _literal(text: str) -> str:
    """A string of this text without ``{}``, which stands for the value in the SQL of a :class:`MergeColumn`."""
    return literal(text).replace("{}", r"{\u007D")


def _texts(placeholder: str, data: bytes) -> list[str]:
    """What else a column of text may have for it."""
    objects = ({placeholder: placeholder}, [placeholder], placeholder)
    written = [json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in objects]
    return [base64.b64encode(data).decode(), data.hex(), *written]


def _bytes(data: bytes) -> str:
    return f"X'{data.hex()}'"


def _uuid_of(data: bytes) -> str:
    """The UUID that Java names by these bytes."""
    return str(uuid.UUID(bytes=hashlib.md5(data, usedforsecurity=False).digest(), version=3))
