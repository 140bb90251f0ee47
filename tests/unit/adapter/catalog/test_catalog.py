from __future__ import annotations

from typing import Any

import pytest
from dbt.adapters.lakemerge.catalog.catalog import catalog_rows, catalog_table, statistics

from lakemerge.kernel.ports.metastore import HiveColumn, HiveTable, Storage
from lakemerge.kernel.ports.names import TableName


def table(kind: str = "MANAGED_TABLE", columns: tuple[HiveColumn, ...] = (), **fields: Any) -> HiveTable:
    return HiveTable(
        name=TableName("S", "T"),
        kind=kind,
        storage=Storage(columns, "file:/t"),
        partition_columns=fields.get("partition_columns", ()),
        parameters=fields.get("parameters", {}),
        owner="me",
    )


def rows_of(found: HiveTable, view_columns: tuple[HiveColumn, ...] = ()) -> list[dict[str, Any]]:
    return list(catalog_rows(found, lambda _: view_columns))


def test_positions_start_at_one_and_partition_columns_come_last() -> None:
    found = table(
        columns=(HiveColumn("id", "bigint", "the key"), HiveColumn("v", "struct<a:int>")),
        partition_columns=(HiveColumn("day", "date"),),
    )
    rows = [(row["column_index"], row["column_name"], row["column_type"]) for row in rows_of(found)]
    assert rows == [(1, "id", "bigint"), (2, "v", "struct<a:int>"), (3, "day", "date")]


def test_comments_are_whole_where_the_metastore_has_a_part() -> None:
    columns = (HiveColumn("id", "int", "cut…"), HiveColumn("b", "int", "short"), HiveColumn("c", "int"))
    found = table(columns=columns, parameters={"comment": "about", "lakemerge.comment.id": "the whole text"})
    rows = rows_of(found)
    assert [row["column_comment"] for row in rows] == ["the whole text", "short", None]
    assert {row["table_comment"] for row in rows} == {"about"}


@pytest.mark.parametrize("stored", [(), (HiveColumn("col", "array<string>", "from deserializer"),)])
def test_a_view_without_columns_in_the_metastore_is_asked_of_spark(stored: tuple[HiveColumn, ...]) -> None:
    rows = rows_of(table("VIRTUAL_VIEW", stored), (HiveColumn("id", "int"),))
    assert [(row["table_type"], row["column_name"]) for row in rows] == [("view", "id")]


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"totalSize": "10", "numFiles": "2", "numRows": "7"}, (10, 7, 2, None)),
        ({"spark.sql.statistics.totalSize": "11", "totalSize": "10"}, (11, None, None, None)),
        ({"numRows": "-1", "lakemerge.version": "13:abc"}, (None, None, None, 13)),
        ({}, (None, None, None, None)),
    ],
)
def test_statistics_that_are_known(parameters: dict[str, str], expected: tuple[int | None, ...]) -> None:
    row = statistics(table(parameters=parameters))
    found = tuple(row[f"stats:{name}:value"] for name in ("bytes", "rows", "files", "version"))
    assert found == expected
    assert [row[f"stats:{name}:include"] for name in ("bytes", "rows")] == [
        True if value is not None else None for value in expected[:2]
    ]


def test_texts_stay_texts_in_the_table() -> None:
    columns = (HiveColumn("1", "int", "2020-01-01"),)
    (row,) = catalog_table(rows_of(table(columns=columns, parameters={"comment": "42"}))).rows
    assert (row["column_name"], row["column_comment"], row["table_comment"]) == ("1", "2020-01-01", "42")
    assert row["column_index"] == 1


def test_no_tables_give_an_empty_catalog() -> None:
    assert len(catalog_table([]).rows) == 0
