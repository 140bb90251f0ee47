"""What Hive 4 makes of managed tables: external ones with a mark, whose files it moves when they are renamed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lakemerge.kernel.jvm.thrift import of_table, table_of
from lakemerge.kernel.ports.names import TableName

# The fields of a Thrift Table that matter here.
NAME, KIND, PARAMETERS = "1", "12", "9"
EXTERNAL = {"EXTERNAL": "TRUE", "external.table.purge": "TRUE"}
TRANSLATED = {**EXTERNAL, "TRANSLATED_TO_EXTERNAL": "TRUE"}


def body(kind: str, parameters: dict[str, str]) -> dict[str, Any]:
    """A row as the metastore sends it."""
    return {
        NAME: {"str": "t"},
        "2": {"str": "s"},
        KIND: {"str": kind},
        PARAMETERS: {"map": ["str", "str", len(parameters), parameters]},
    }


def written(row: dict[str, Any]) -> tuple[str, dict[str, str]]:
    return row[KIND]["str"], row[PARAMETERS]["map"][3]


def test_a_translated_table_is_a_managed_one_and_stays_translated() -> None:
    table = table_of(body("EXTERNAL_TABLE", {**TRANSLATED, "a": "1"}))
    assert (table.kind, table.parameters) == ("MANAGED_TABLE", {"a": "1"})
    changed = replace(table, parameters={"a": "2"})
    assert written(of_table(changed)) == ("EXTERNAL_TABLE", {**TRANSLATED, "a": "2"})


def test_it_is_renamed_as_one_that_hive_has_not_translated_and_remembered_as_one_that_it_has() -> None:
    table = table_of(body("EXTERNAL_TABLE", TRANSLATED))
    renamed = of_table(replace(table, name=TableName("s", "other")))
    kept = {**TRANSLATED, "TRANSLATED_TO_EXTERNAL": "FALSE"}
    assert written(renamed) == ("EXTERNAL_TABLE", kept)
    again = table_of(renamed)
    assert (again.kind, again.parameters) == ("MANAGED_TABLE", {})
    assert written(of_table(again)) == ("EXTERNAL_TABLE", kept)


def test_other_tables_are_what_they_are() -> None:
    for kind, parameters in (
        ("EXTERNAL_TABLE", EXTERNAL),
        ("MANAGED_TABLE", {"a": "1"}),
        ("VIRTUAL_VIEW", {}),
    ):
        table = table_of(body(kind, parameters))
        assert (table.kind, table.parameters) == (kind, parameters)
        for name in (table.name, TableName("s", "other")):
            assert written(of_table(replace(table, name=name))) == (kind, parameters)


def test_a_view_takes_the_place_of_a_translated_table() -> None:
    table = table_of(body("EXTERNAL_TABLE", TRANSLATED))
    view = replace(table, kind="VIRTUAL_VIEW", view_text="select 1")
    assert written(of_table(view)) == ("VIRTUAL_VIEW", {})
