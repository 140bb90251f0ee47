"""What Debezium writes for a value that it does not have, by the type of its column."""

from __future__ import annotations

import pytest
from pyspark.sql import types

from lakemerge.engine.merge.unavailable import unavailable_sql

P = "it's gone"
BYTES = P.encode()


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        (types.StringType(), "'aXQncyBnb25l'"),
        (types.StringType(), f"'{BYTES.hex()}'"),
        (types.StringType(), r"""'{"it\'s gone":"it\'s gone"}'"""),
        (types.StringType(), r"""'["it\'s gone"]'"""),
        (types.VarcharType(40), r"v in ('it\'s gone', "),
        (types.CharType(40), r"rtrim(v) in ('it\'s gone', "),
        (types.BinaryType(), f"v = X'{BYTES.hex()}'"),
        (types.ArrayType(types.StringType()), r"v in (array('it\'s gone'), array('"),
        (types.ArrayType(types.BinaryType()), f"v = array(X'{BYTES.hex()}')"),
        (types.ArrayType(types.IntegerType()), f"cast(v as array<bigint>) = array({BYTES[0]}L, "),
        (types.MapType(types.StringType(), types.StringType()), r"map_keys(v) = array('it\'s gone')"),
    ],
)
def test_it_has_a_form_of_the_columns_type(kind: types.DataType, form: str) -> None:
    assert form in unavailable_sql("v", kind, P)


@pytest.mark.parametrize(
    "kind",
    [
        types.IntegerType(),
        types.TimestampType(),
        types.StructType([types.StructField("a", types.StringType())]),
        types.ArrayType(types.DoubleType()),
        types.MapType(types.IntegerType(), types.StringType()),
    ],
)
def test_other_types_have_none(kind: types.DataType) -> None:
    assert unavailable_sql("v", kind, P) == ""
