"""What keeps the case of columns' names: the schema that Spark has among a table's parameters."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from kernel.support import COLUMNS, KEYS, OTHER_KEYS, WIDER_COLUMNS, stage
from lakemerge.kernel import Kernel, TableDefinition, add_overlay, set_spelling
from lakemerge.kernel.ports.metastore import HiveColumn, HiveTable, Storage
from lakemerge.kernel.ports.names import TableName
from lakemerge.kernel.table.definition import new_table
from lakemerge.kernel.table.spark_schema import (
    respelled,
    schema_parameters,
    spelled,
    spelling_of,
    with_spelling,
)

SCHEMA = "spark.sql.sources.schema"
NESTED = "struct<Inner:int,b:array<struct<X:decimal(10,2)>>,m:map<string,binary>>"


def table(*columns: HiveColumn, keys: tuple[HiveColumn, ...] = ()) -> HiveTable:
    name = TableName("shop", "orders")
    return HiveTable(name, "MANAGED_TABLE", Storage(columns=columns), keys, {"own": "1"})


def test_it_is_as_spark_itself_writes_it() -> None:
    columns = (HiveColumn("id", "bigint", "über"), HiveColumn("v", "varchar(5)"), HiveColumn("s", NESTED))
    key = HiveColumn("pt", "string")
    found = schema_parameters(columns, (key,), {"id": "Id", "pt": "Pt"})
    assert found[f"{SCHEMA}.numPartCols"] == "1"
    assert found[f"{SCHEMA}.partCol.0"] == "Pt"
    fields = json.loads(found[SCHEMA])["fields"]
    assert [field["name"] for field in fields] == ["Id", "v", "s", "Pt"]
    assert fields[0] == {"name": "Id", "type": "long", "nullable": True, "metadata": {"comment": "über"}}
    assert fields[1]["type"] == "string"
    assert fields[1]["metadata"] == {"__CHAR_VARCHAR_TYPE_STRING": "varchar(5)"}
    inner = fields[2]["type"]["fields"]
    assert [field["name"] for field in inner] == ["Inner", "b", "m"]
    assert inner[1]["type"]["elementType"]["fields"][0]["type"] == "decimal(10,2)"
    assert inner[2]["type"]["valueType"] == "binary"


def test_names_in_lower_case_need_none() -> None:
    row = table(HiveColumn("id", "int"))
    assert with_spelling(row, {"id": "id", "gone": "Gone"}) == row


def test_a_long_one_is_split() -> None:
    columns = tuple(HiveColumn(f"column_{number}", "int") for number in range(200))
    row = with_spelling(table(*columns), {"column_7": "Column_7"})
    assert SCHEMA not in row.parameters
    count = int(row.parameters[f"{SCHEMA}.numParts"])
    assert count > 1
    assert all(len(row.parameters[f"{SCHEMA}.part.{part}"]) <= 4000 for part in range(count))
    assert spelling_of(row)["column_7"] == "Column_7"
    short = respelled(replace(row, storage=Storage(columns=columns[7:8])))
    assert set(short.parameters) == {"own", SCHEMA}
    assert [column.name for column in spelled(short)] == ["Column_7"]


def test_columns_that_another_program_has_changed_are_shown_as_they_are() -> None:
    row = with_spelling(table(HiveColumn("id", "int"), HiveColumn("old", "int")), {"id": "Id", "old": "Old"})
    changed = replace(row, storage=Storage(columns=(HiveColumn("id", "string"), HiveColumn("new", "int"))))
    assert [(column.name, column.type) for column in spelled(changed)] == [("Id", "string"), ("new", "int")]


@pytest.mark.parametrize("text", ["", "no JSON", "[]", '{"fields": 1}', '{"fields": [{}]}'])
def test_what_another_program_has_broken_counts_as_none(text: str) -> None:
    row = replace(table(HiveColumn("id", "int")), parameters={SCHEMA: text})
    assert spelling_of(row) == {}


@pytest.mark.parametrize("kind", ["uniontype<int>", "struct<a-b:int>", "struct<a:int", "array<>", "int x"])
def test_there_is_none_for_types_that_spark_does_not_know(kind: str) -> None:
    assert schema_parameters([HiveColumn("a", kind)], (), {"a": "A"}) == {}


# -- commits ------------------------------------------------------------------------------------

NAME = TableName("s", "sales")
CREATED = TableDefinition(NAME, COLUMNS, KEYS, spelling={"line": "Line", "p": "P"})


def shown(kernel: Kernel) -> list[str]:
    row = kernel.metastore.get_table(NAME)
    assert row is not None
    # Spark ignores a copy that differs from the columns in more than case
    assert set(spelling_of(row)) in (
        {column.name for column in (*row.columns, *row.partition_columns)},
        set(),
    )
    return [column.name for column in spelled(row)]


def test_commits_keep_the_names_of_columns_that_stay(kernel: Kernel) -> None:
    txn = kernel.create(CREATED, "create")
    stage(kernel, txn, {"p=1": ["a"]})
    txn.commit()
    assert shown(kernel) == ["Line", "P"]

    txn = kernel.begin(NAME, "merge")
    txn.set_schema(WIDER_COLUMNS)
    set_spelling(txn, {"line": "Line", "extra": "EXTRA", "p": "P"})
    stage(kernel, txn, {"p=2": ["b"]})
    txn.commit()
    assert shown(kernel) == ["Line", "EXTRA", "P"]

    txn = kernel.begin(NAME, "alter")
    txn.set_schema(COLUMNS)
    txn.commit()
    assert shown(kernel) == ["Line", "P"]


def test_a_row_that_is_made_anew_has_the_new_names(kernel: Kernel) -> None:
    txn = kernel.create(CREATED, "create")
    stage(kernel, txn, {"p=1": ["a"]})
    txn.commit()
    txn = kernel.begin(NAME, "replace")
    txn.replace_all()
    txn.set_schema(COLUMNS, OTHER_KEYS)
    set_spelling(txn, {"line": "LINE", "q": "Q"})
    stage(kernel, txn, {"q=1/r=x": ["b"]})
    txn.commit()
    assert shown(kernel) == ["LINE", "Q", "r"]

    txn = kernel.begin(NAME, "replace")
    txn.replace_all()
    txn.set_schema(COLUMNS, OTHER_KEYS)
    set_spelling(txn, {"line": "line"})
    txn.add_staged()
    txn.commit()
    assert shown(kernel) == ["line", "q", "r"]
    row = kernel.metastore.get_table(NAME)
    assert row is not None
    assert not any(name.startswith(SCHEMA) for name in row.parameters)


def test_an_adopted_table_keeps_them(kernel: Kernel) -> None:
    root = kernel.default_root(NAME)
    kernel.files.make_directory(root)
    row = new_table(CREATED, root, root)
    spark_schema = {key: value for key, value in row.parameters.items() if key.startswith(SCHEMA)}
    provider = {"spark.sql.sources.provider": "orc", "spark.sql.partitionProvider": "catalog"}
    kernel.metastore.create_table(replace(row, parameters={**spark_schema, **provider}))
    kernel.settled(NAME)
    found = kernel.metastore.get_table(NAME)
    assert found is not None
    assert "spark.sql.sources.provider" not in found.parameters
    assert shown(kernel) == ["Line", "P"]


def test_a_view_over_a_base_shows_them(kernel: Kernel) -> None:
    txn = kernel.create(CREATED, "create")
    stage(kernel, txn, {"p=1": ["a"]})
    txn.commit()
    txn = kernel.begin(NAME, "write_mode", data_change=False)
    add_overlay(txn, "select * from s.sales__base", ["line"])
    txn.commit()
    row = kernel.metastore.get_table(NAME)
    assert row is not None
    assert row.kind == "VIRTUAL_VIEW"
    assert [column.name for column in spelled(row)] == ["Line", "P"]
