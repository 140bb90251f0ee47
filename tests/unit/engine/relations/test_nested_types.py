"""How nested types meet: fields by name, whatever their order and the case of their names."""

from __future__ import annotations

from pyspark.sql.types import ArrayType, DataType, IntegerType, LongType, MapType, StringType, StructType

from lakemerge.engine.relations.nested_types import (
    cast_by_name,
    evolved,
    loses_map_keys,
    misfits,
    same_type,
)

INT, LONG, TEXT = IntegerType(), LongType(), StringType()


def struct(**fields: DataType) -> StructType:
    kind = StructType()
    for name, field in fields.items():
        kind = kind.add(name, field)
    return kind


def problems(source: DataType, target: DataType, *, may_add: bool = False) -> list[str]:
    def misfit(one: DataType, other: DataType) -> str | None:
        return None if one == other else f"{one.simpleString()} into {other.simpleString()}"

    return list(misfits(source, target, "c", misfit, may_add=may_add))


class TestCastByName:
    def test_same_places_are_one_cast(self) -> None:
        assert cast_by_name("`c`", struct(a=INT, B=TEXT), struct(A=LONG, b=TEXT)) == (
            "cast(`c` as struct<A:bigint,b:string>)"
        )

    def test_other_places_are_matched_by_name(self) -> None:
        found = cast_by_name("`c`", struct(a=INT, b=TEXT), struct(B=TEXT, x=LONG))
        assert found == (
            "if(`c` is null, null, named_struct('B', cast(`c`['b'] as string), 'x', cast(null as bigint)))"
        )

    def test_arrays_and_maps_are_walked_through(self) -> None:
        one, other = struct(a=INT, b=INT), struct(b=INT, a=INT)
        assert cast_by_name("`c`", ArrayType(one), ArrayType(other)).startswith(
            "transform(`c`, item -> if(item is"
        )
        assert cast_by_name("`c`", MapType(one, INT), MapType(other, LONG)).startswith(
            "map_from_entries(transform(map_entries(`c`), entry -> struct(if(entry['key'] is null"
        )


class TestSameType:
    def test_order_and_case_do_not_matter_and_types_do(self) -> None:
        one = ArrayType(struct(a=INT, b=MapType(INT, struct(x=INT, y=INT))))
        other = ArrayType(struct(B=MapType(INT, struct(Y=INT, x=INT)), a=INT))
        assert same_type(one, other)
        assert not same_type(struct(a=INT), struct(a=LONG))
        assert not same_type(struct(a=INT), struct(a=INT, b=INT))
        assert not same_type(struct(a=INT, b=INT), struct(a=INT, c=INT))


class TestMisfits:
    def test_each_has_the_path_to_its_field(self) -> None:
        stored = struct(m=MapType(struct(k=INT), ArrayType(struct(a=INT, b=INT))))
        offered = struct(m=MapType(struct(k=LONG), ArrayType(struct(a=INT, c=TEXT))))
        assert problems(offered, stored) == [
            "c.m.key.k: bigint into int",
            "c.m.value.element.c: a new field, string",
            "c.m.value.element.b: missing, int in the table",
        ]

    def test_a_target_may_have_more_where_it_is_asked_for(self) -> None:
        assert problems(struct(a=INT), struct(a=INT, b=INT), may_add=True) == []
        assert problems(struct(a=INT, b=INT), struct(a=INT), may_add=True) == ["c.b: a new field, int"]


class TestEvolved:
    def test_stored_fields_keep_order_and_case_and_new_ones_follow(self) -> None:
        stored, offered = struct(A=INT, b=INT, c=INT), struct(d=TEXT, c=LONG, a=INT)
        grown = evolved(stored, offered, lambda one, other: other, adds=True)
        assert grown.simpleString() == "struct<A:int,b:int,c:bigint,d:string>"
        synced = evolved(
            ArrayType(stored), ArrayType(offered), lambda one, other: other, adds=True, drops=True
        )
        assert synced.simpleString() == "array<struct<A:int,c:bigint,d:string>>"
        assert evolved(stored, offered, lambda one, other: one) == stored


class TestMapKeys:
    def test_a_key_that_loses_a_field_is_found_and_one_that_gains_a_field_is_not(self) -> None:
        wide, narrow = struct(a=INT, b=INT), struct(a=INT)
        assert loses_map_keys(
            struct(x=ArrayType(MapType(wide, INT))), struct(x=ArrayType(MapType(narrow, INT)))
        )
        assert not loses_map_keys(MapType(narrow, wide), MapType(wide, narrow))
