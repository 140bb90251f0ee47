"""What an ingest's yml may say of columns."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.adapters.lakemerge.ingest_options import IngestOptions
from dbt.adapters.lakemerge.record_types import RecordColumn, record_columns

from lakemerge.errors import InvalidConfig


def columns_of(columns: dict[str, str | None], **config: Any) -> tuple[RecordColumn, ...]:
    config = {"landing": "/landing", **config}
    described = {name: {"name": name, "data_type": kind} for name, kind in columns.items()}
    return record_columns({"columns": described, "config": config}, IngestOptions.of(config))


def test_columns_that_no_record_has_may_be_described() -> None:
    described = {"id": "int", "_file": None, "_line": "bigint", "_commit": None}
    columns = columns_of(described, record_columns=["_line", "_file"])
    assert [(column.name, column.type.sql) for column in columns] == [
        ("id", "int"),
        ("_line", "bigint"),
        ("_file", "string"),
    ]


def test_the_commit_column_goes_by_its_own_name() -> None:
    assert [column.name for column in columns_of({"id": "int", "added": None}, commit_column="ADDED")] == [
        "id"
    ]
    with pytest.raises(InvalidConfig, match="_commit has no data_type"):
        columns_of({"id": "int", "_commit": None}, commit_column="added")


def test_another_type_than_they_have_is_refused() -> None:
    with pytest.raises(InvalidConfig, match="_line has the data_type string, and is bigint"):
        columns_of({"id": "int", "_line": "string"}, record_columns=["_line"])


def test_a_record_column_that_is_not_asked_for_is_a_column_of_the_records() -> None:
    with pytest.raises(InvalidConfig, match="_line has no data_type"):
        columns_of({"id": "int", "_line": None})
