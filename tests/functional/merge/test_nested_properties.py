"""Whatever fields a nested type gets, loses, or gets in another order: values stay with their names.

Many cases share a query, each a column of its own, because a query takes longer than all its cases.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql.types import (
    ArrayType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    Row,
    StringType,
    StructField,
    StructType,
)

from lakemerge.engine.relations.nested_types import cast_by_name, field_of, lost_value

# some of them are what the SQL itself calls things
NAMES = ("a", "B", "c_d", "key", "value", "item", "entry", "x1")
SIMPLE = (IntegerType(), StringType())


def nested(ways: random.Random, depth: int) -> DataType:
    """A type of at most this depth."""
    form = ways.choice(("struct", "struct", "array", "map", "simple")) if depth else "simple"
    if form == "struct":
        names = ways.sample(NAMES, ways.randint(1, 4))
        return StructType([StructField(name, nested(ways, depth - 1)) for name in names])
    if form == "array":
        return ArrayType(nested(ways, depth - 1))
    if form == "map":
        return MapType(
            ways.choice((*SIMPLE, StructType().add("k", SIMPLE[0]).add("l", SIMPLE[1]))),
            nested(ways, depth - 1),
        )
    return ways.choice(SIMPLE)


def changed(ways: random.Random, kind: DataType, *, drops: bool = True) -> DataType:
    """The type with other fields, in another order and in another case."""
    if isinstance(kind, ArrayType):
        return ArrayType(changed(ways, kind.elementType, drops=drops))
    if isinstance(kind, MapType):
        key = changed(ways, kind.keyType, drops=False)
        return MapType(key, changed(ways, kind.valueType, drops=drops))
    if not isinstance(kind, StructType):
        return LongType() if isinstance(kind, IntegerType) and ways.random() < 0.3 else kind
    fields = [
        StructField(
            ways.choice((str.upper, str.lower))(field.name), changed(ways, field.dataType, drops=drops)
        )
        for field in kind.fields
        if not drops or ways.random() < 0.8
    ]
    if not fields or ways.random() < 0.4:
        # a key cannot have a map in it
        fields.append(StructField("new", nested(ways, 1 if drops else 0)))
    ways.shuffle(fields)
    return StructType(fields)


def value(ways: random.Random, kind: DataType) -> Any:
    """A value of a type."""
    if isinstance(kind, StructType):
        return Row(*(value(ways, field.dataType) if ways.random() < 0.9 else None for field in kind.fields))
    if isinstance(kind, ArrayType):
        return [value(ways, kind.elementType) for _ in range(ways.randint(0, 2))]
    if isinstance(kind, MapType):
        return {value(ways, kind.keyType): value(ways, kind.valueType) for _ in range(ways.randint(0, 2))}
    number = ways.randint(1, 10**6)
    return str(number) if isinstance(kind, StringType) else number


def by_name(found: Any, source: DataType, target: DataType) -> Any:
    """What a value becomes, in a form that can be compared: the fields of structs with their names."""
    if found is None:
        return None
    if isinstance(source, StructType) and isinstance(target, StructType):
        values = dict(zip((field.name for field in source.fields), found, strict=True))
        pairs = ((field, field_of(source, field.name)) for field in target.fields)
        return tuple(
            (field.name, match and by_name(values[match.name], match.dataType, field.dataType))
            for field, match in sorted(pairs, key=lambda pair: pair[0].name)
        )
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        return tuple(by_name(item, source.elementType, target.elementType) for item in found)
    if isinstance(source, MapType) and isinstance(target, MapType):
        return frozenset(
            (by_name(key, source.keyType, target.keyType), by_name(item, source.valueType, target.valueType))
            for key, item in found.items()
        )
    return found


@pytest.fixture(scope="class")
def models() -> dict[str, str]:
    return {}


class TestNestedTypes:
    @pytest.mark.parametrize("cases", [20])
    def test_values_stay_with_their_names(self, project: Any, tmp_path: Path, cases: int) -> None:
        adapter = project.adapter

        @given(seed=st.integers(0, 2**32))
        @settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
        def run(seed: int) -> None:
            ways = random.Random(seed)
            sources = [nested(ways, 3) for _ in range(cases)]
            targets = [changed(ways, source) for source in sources]
            rows = [tuple(value(ways, source) for source in sources) for _ in range(3)]
            wanted = [
                [by_name(found, *types) for found, *types in zip(row, sources, targets, strict=True)]
                for row in rows
            ]
            schema = StructType([StructField(f"c{n}", kind) for n, kind in enumerate(sources)])
            with adapter.connection_named("nested"):
                frame = adapter.handle.spark.createDataFrame(rows, schema).coalesce(1)
                casts = [
                    cast_by_name(f"c{n}", *types)
                    for n, types in enumerate(zip(sources, targets, strict=True))
                ]
                found = frame.selectExpr(*casts).collect()
                lost = [
                    lost_value(
                        f"c{n}",
                        *types,
                        lambda sql, kind: (
                            f"{sql} is not null and try_cast({sql} as {kind.simpleString()}) is null"
                        ),
                    )
                    for n, types in enumerate(zip(sources, targets, strict=True))
                ]
                assert not any(any(row) for row in frame.selectExpr(*lost).collect())
            for row, of_row in zip(found, wanted, strict=True):
                for item, of_item, kind in zip(row, of_row, targets, strict=True):
                    assert by_name(item, kind, kind) == of_item

        run()
