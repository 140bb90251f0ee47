"""Transactions of programs, as far as they need no Spark: rules of tables, rows, and macros without a project."""

from __future__ import annotations

import dataclasses
import decimal
import subprocess
import sys
from typing import Any
from unittest.mock import Mock

import pyarrow as pa
import pytest
from pyspark.sql import Row, types

from lakemerge.engine.merge.merge_options import MergeConfig
from lakemerge.engine.options.append import AppendConfig
from lakemerge.engine.packaged_macros import packaged_macros
from lakemerge.engine.publish.publisher import Publisher
from lakemerge.engine.relations.table_schema import plan_same
from lakemerge.engine.ruled_table import ORDER, keeps_history
from lakemerge.engine.strategies import config_of
from lakemerge.engine.transactions.rows import ChangeColumns
from lakemerge.errors import InvalidRecord, UnsupportedTable
from lakemerge.kernel import HiveColumn, TableName
from lakemerge.table_rules import RULES, TableRules
from sample_arguments import sample_values

COLUMNS = ChangeColumns(
    "shop.orders",
    {
        "id": types.LongType(),
        "amount": types.DecimalType(5, 2),
        "share": types.DoubleType(),
        "name": types.StringType(),
    },
)
MERGE: dict[str, Any] = {
    "unique_key": ["id", "place"],
    "sequence_by": "ts",
    "ignore_null_updates": True,
    "tombstone_retention": "12 hours",
    "write_mode": "merge_on_read",
    "target_file_size": "1mb",
    "partition_moves": False,
}


def test_importing_lakemerge_loads_neither_dbt_nor_spark() -> None:
    code = "import sys, lakemerge; print([n for n in sys.modules if n.split('.')[0] in ('dbt', 'pyspark', 'py4j')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# -- rules -------------------------------------------------------------------------------------


def test_a_merge_is_the_same_after_its_options_were_recorded() -> None:
    config: Any = config_of({**MERGE, "apply_as_deletes": "op = 'D'", "sync": "none"}, "merge")
    text = TableRules(
        config.changed_by, config.recorded, {"not_null_id": "`id` is null"}, {"op": "string"}
    ).text
    rules = TableRules.of_text(text, "shop.orders")
    assert (rules.strategy, rules.feed) == ("merge", {"op": "string"})
    assert MergeConfig.of(rules.options) == dataclasses.replace(config, apply_as_deletes="")


def test_rules_say_in_what_they_differ() -> None:
    one = TableRules("merge", {"unique_key": ["id"], "sequence_by": ["ts"]}, {"c": "x > 1"})
    assert one.differences(TableRules.of_text(one.text, "t")) == []
    other = TableRules("merge", {"unique_key": ["id", "region"], "on_sequence_tie": "any"})
    assert one.differences(other) == ["constraints", "on_sequence_tie", "sequence_by", "unique_key"]


def test_only_what_differs_from_the_defaults_is_recorded() -> None:
    assert config_of({"unique_key": "id"}, "merge").recorded == {"unique_key": ["id"]}
    assert config_of({}, "append").recorded == {}
    layout = {"append_layout": "commit_partitioned", "compaction": "off"}
    assert AppendConfig.of(config_of(layout, "append").recorded) == config_of(layout, "append")


@pytest.mark.parametrize(
    ("config", "strategy", "changed_by"),
    [
        ({"unique_key": "id"}, "merge", "merge"),
        ({"unique_key": "id"}, "delete+insert", ""),
        ({"unique_key": "id", "sequence_by": "ts", "stored_as_scd_type": 2}, "merge", "merge"),
        ({}, "append", "append"),
        ({}, "replace", "append"),
        ({}, "insert_overwrite", ""),
    ],
)
def test_programs_change_tables_that_are_merged_or_appended_to(
    config: dict[str, Any], strategy: str, changed_by: str
) -> None:
    assert config_of(config, strategy).changed_by == changed_by


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"history_column_names": "dbt", "track_history_column_list": ["name"]},
        {"bitemporal": True, "history_column_names": {"known_to": "until"}, "history_partition": "closed in"},
        {"track_history_except_column_list": ["email"], "history_layout": "split"},
    ],
)
def test_rules_of_a_history_are_read_as_they_were_recorded(more: dict[str, Any]) -> None:
    history = {"unique_key": "id", "sequence_by": "ts", "stored_as_scd_type": 2, **more}
    made = config_of(history, "merge")
    rules = TableRules.of_text(TableRules(made.changed_by, made.recorded).text, "shop.orders")
    again = config_of(rules.options, rules.strategy)
    assert [getattr(again, name) for name in made.rules] == [getattr(made, name) for name in made.rules]
    assert again.partition_columns == made.partition_columns
    assert keeps_history(rules)


@pytest.mark.parametrize(
    ("config", "strategy", "rules"),
    [
        (
            {"unique_key": "id"},
            "merge",
            '{"feed": {"op": "string"}, "options": {"unique_key": ["id"]}, "strategy": "merge"}',
        ),
        ({}, "append", '{"strategy": "append"}'),
        ({"unique_key": "id"}, "delete+insert", ""),
    ],
)
def test_a_models_commits_record_its_rules(config: dict[str, Any], strategy: str, rules: str) -> None:
    def publisher(**more: bool) -> Publisher[Any]:
        options, name = config_of(config, strategy), TableName("shop", "orders")
        return Publisher(Mock(), Mock(), name, options, constraints={}, **more)  # type: ignore[arg-type]

    feed = Mock(dtypes=[("id", "bigint"), ("OP", "string")])
    plan = plan_same([HiveColumn("id", "bigint")], [])
    for keep in (["id"], ["id", "OP"]):  # the table keeps its columns, whatever the feed has
        assert publisher(records_rules=True)._rules(feed, keep, plan) == {RULES: rules}
    assert publisher()._rules(feed, ["id"], plan) == {}, "of an operation, which knows no model"


@pytest.mark.parametrize("text", ['{"strategy": "merge", "colour": 1}', "[]", "{", "{}"])
def test_rules_of_a_newer_version_are_refused(text: str) -> None:
    with pytest.raises(UnsupportedTable, match=r"rules of shop\.orders that this version knows"):
        TableRules.of_text(text, "shop.orders")


# -- rows --------------------------------------------------------------------------------------


def tuples(*records: Any) -> list[tuple[Any, ...]]:
    return list(COLUMNS.tuples(records, ["id"]))


def test_records_get_the_columns_order_and_numbers_their_types() -> None:
    assert tuples({"NAME": "a", "id": 1, "share": 2, "amount": 3}, Row(id=2)) == [
        (1, decimal.Decimal(3), 2.0, "a"),
        (2, None, None, None),
    ]


@pytest.mark.parametrize(
    ("record", "found"),
    [
        ({"name": "a"}, "no value of id"),
        ({"id": 1, "ID": 2}, r"there twice \(id\)"),
        ({"id": 1, "colour": 2}, r"does not have \(colour\)"),
        ({"id": "1"}, "id"),
        ({"id": True}, "id"),
        ({"id": 2**63}, "id"),
        ({"id": 1, "name": 2}, "name"),
        ({"id": 1, "amount": decimal.Decimal("1.234")}, "1.234"),
        ({"id": 1, "amount": decimal.Decimal("1000")}, "1000"),
        ({"id": 1, "amount": decimal.Decimal("NaN")}, "NaN"),
        ({"id": 1, "share": 2**53 + 1}, "share"),
        ((1, "a"), "a tuple"),
        (None, "a NoneType"),
    ],
)
def test_records_that_do_not_fit_are_refused(record: Any, found: str) -> None:
    with pytest.raises(InvalidRecord, match=found) as info:
        tuples(record)
    assert not info.value.retriable


def test_numbers_of_arrow_get_the_tables_types_and_rows_their_places() -> None:
    table = COLUMNS.numbered(pa.table({"ID": pa.array([1.0, None]), "name": ["a", "b"]}), 7)
    assert table.to_pydict() == {"ID": [1, None], "name": ["a", "b"], ORDER: [7, 8]}
    assert table.schema.field("ID").type == pa.int64()
    with pytest.raises(InvalidRecord, match="id"):
        COLUMNS.numbered(pa.table({"id": [1.5]}), 0)


# -- macros ------------------------------------------------------------------------------------


@pytest.mark.parametrize("plan", sample_values("merge", "any"))
def test_macros_are_rendered_without_a_project(plan: Any) -> None:
    macros = packaged_macros()
    sql = macros.lakemerge_latest_changes_sql(plan)
    assert "__order" not in sql
    assert "lakemerge_typed_feed" in sql
    assert "keys" in macros.lakemerge_latest_counts(plan)
    ordered = macros.lakemerge_latest_changes_sql(dataclasses.replace(plan, change_order="`place`"))
    assert "`place` as __order" in ordered


# -- fields of structs --------------------------------------------------------------------------

NESTED = ChangeColumns(
    "shop.orders",
    {
        "id": types.LongType(),
        "place": types.StructType().add("city", types.StringType()).add("share", types.DoubleType()),
        "parts": types.ArrayType(types.StructType().add("a", types.LongType()).add("b", types.LongType())),
    },
)


@pytest.mark.parametrize(
    ("place", "part"),
    [
        ({"share": 1, "City": "x"}, {"b": 2, "a": 1}),
        (Row(share=1, city="x"), Row(b=2, a=1)),
        (("x", 1.0), (1, 2)),
    ],
)
def test_fields_are_matched_by_name_where_the_value_names_them(place: Any, part: Any) -> None:
    assert list(NESTED.tuples([{"id": 7, "place": place, "parts": [part]}], ["id"])) == [
        (7, ("x", 1.0), [(1, 2)])
    ]


@pytest.mark.parametrize(
    ("place", "part", "found"),
    [
        ({"city": "x"}, {"a": 1, "b": 2}, "no field share"),
        (Row(city="x", share=1.0, zip=5), {"a": 1, "b": 2}, "the field zip, which it does not have"),
        (
            {"city": "x", "share": 1},
            Row(a=1, c=2),
            "the field element.c, which it does not have; no field element.b",
        ),
    ],
)
def test_fields_that_are_unknown_or_missing_are_refused(place: Any, part: Any, found: str) -> None:
    with pytest.raises(InvalidRecord, match=found):
        list(NESTED.tuples([{"id": 7, "place": place, "parts": [part]}], ["id"]))
