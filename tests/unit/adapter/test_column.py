from __future__ import annotations

import pytest
from dbt.adapters.lakemerge.column import LakemergeColumn
from dbt_common.exceptions import DbtRuntimeError


def column(dtype: str, name: str = "c") -> LakemergeColumn:
    return LakemergeColumn(name, dtype)


@pytest.mark.parametrize("dtype", ["string", "varchar(10)", "char(3)", "VARCHAR(7)"])
def test_strings(dtype: str) -> None:
    assert column(dtype).is_string()
    assert not column(dtype).is_number()


@pytest.mark.parametrize("dtype", ["tinyint", "smallint", "int", "integer", "bigint", "BIGINT"])
def test_integers(dtype: str) -> None:
    assert column(dtype).is_integer()
    assert column(dtype).is_number()
    assert not column(dtype).is_float()


@pytest.mark.parametrize("dtype", ["float", "double", "real"])
def test_floats(dtype: str) -> None:
    assert column(dtype).is_float()
    assert column(dtype).is_number()


@pytest.mark.parametrize("dtype", ["decimal", "decimal(10,2)", "decimal(10, 2)", "numeric(4,1)"])
def test_decimals(dtype: str) -> None:
    assert column(dtype).is_numeric()
    assert column(dtype).is_number()
    assert not column(dtype).is_integer()


@pytest.mark.parametrize("dtype", ["struct<a:int,b:string>", "array<string>", "map<string,int>", "date"])
def test_other_types_are_none_of_these(dtype: str) -> None:
    assert not column(dtype).is_number()
    assert not column(dtype).is_string()
    assert column(dtype).data_type == dtype


def test_a_type_keeps_its_name_when_dbt_makes_the_column() -> None:
    assert LakemergeColumn.create("c", "string").data_type == "string"
    assert LakemergeColumn.from_description("c", "decimal(10,2)").data_type == "decimal(10,2)"


def test_strings_expand_to_longer_ones_only() -> None:
    assert column("varchar(5)").can_expand_to(column("varchar(6)"))
    assert column("varchar(5)").can_expand_to(column("string"))
    assert not column("varchar(5)").can_expand_to(column("varchar(5)"))
    assert not column("string").can_expand_to(column("varchar(5)"))
    assert not column("int").can_expand_to(column("string"))
    assert LakemergeColumn.string_type(column("varchar(5)").string_size()) == "varchar(5)"
    assert LakemergeColumn.string_type(column("string").string_size()) == "string"


def test_the_size_of_a_number_is_an_error() -> None:
    with pytest.raises(DbtRuntimeError, match="found c of type int"):
        column("int").string_size()


def test_names_are_quoted_and_values_cast() -> None:
    assert column("int", "a`b").quoted == "`a``b`"
    assert column("decimal(4,1)").literal("1") == "cast(1 as decimal(4,1))"
