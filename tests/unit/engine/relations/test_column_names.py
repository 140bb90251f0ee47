"""Names that a table could be made with, but not be read by, are refused, each with its path."""

from __future__ import annotations

import pytest
from pyspark.sql.types import ArrayType, IntegerType, MapType, StructField, StructType

from lakemerge.engine.relations.column_names import require_sound_names
from lakemerge.errors import UnsupportedColumnName
from odd_names import ODD_NAMES

INT = IntegerType()


def of(*names: str) -> StructType:
    return StructType([StructField(name, INT) for name in names])


def column(kind: object) -> StructType:
    return StructType([StructField("c", kind)])  # type: ignore[arg-type]


def test_spark_and_hive_read_most_names() -> None:
    require_sound_names(of(*ODD_NAMES))
    require_sound_names(column(of("a_b", "_1", "1a", "select", "E5")))


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        (of("a`b"), "a`b (a backtick"),
        (of("a\0"), "a line end, or a character of code 0"),
        (of("a\nb"), "a line end, or a character of code 0"),
        (of(""), "a column without a name"),
        (of("Id", "x", "ID"), "Id and ID (the same but for case)"),
        (of("x" * 768), "768 characters of at most 767"),
        (column(of("a-b")), "the field c.a-b"),
        (column(of("größe")), "the field c.größe"),
        (column(ArrayType(of("a b"))), "the field c.element.a b"),
        (column(MapType(of("a.b"), of("a,b"))), "the field c.key.a.b; the field c.value.a,b"),
        (column(of("123")), "the field c.123"),
        (column(of("1e5")), "the field c.1e5"),
        (column(of("")), "the field c.''"),
        (column(of("a", "A")), "c.a and c.A (the same but for case)"),
        (column(StructType()), "c (a struct without fields)"),
    ],
)
def test_others_are_refused(schema: StructType, found: str) -> None:
    with pytest.raises(UnsupportedColumnName) as error:
        require_sound_names(schema)
    assert found in error.value.found


def test_a_partition_columns_name_is_shorter() -> None:
    require_sound_names(of("x" * 129))
    with pytest.raises(UnsupportedColumnName, match="129 characters of at most 128"):
        require_sound_names(of("x" * 129), ["X" * 129])
