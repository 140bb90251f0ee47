"""The SQL that records become changes of their tables by."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from lakemerge.engine.ingest.route_plan import RoutingPlan
from render_macros import Macros
from sample_arguments import sample_values

ROUTING: RoutingPlan = sample_values("routing", "any")[0]
MACROS = Macros(Path(__file__).parents[4] / "macros")


def call(name: str, *arguments: Any) -> Any:
    return MACROS._callable[name](*arguments)


def test_records_get_a_change_for_each_route() -> None:
    sql = call("lakemerge_route_values_sql", ROUTING, "select * from lines")
    assert sql.count("named_struct(") == 2
    assert "if(_lakemerge_route = 'table_0', named_struct(" in sql
    assert sql.count("coalesce(column_char = 'd', false)") == 1, "one of the tables has a key"
    assert "try_cast((column_string) as decimal(8,2))" in sql
    assert "cast(column_string as string) as _lakemerge_route" in sql


def test_every_value_that_may_not_fit_has_a_rule_and_so_has_what_a_table_asks() -> None:
    rules = call("lakemerge_route_rules", ROUTING)
    unknown, *others = rules
    assert (unknown[1], unknown[2]) == ("'unknown_route'", "null")
    assert "_lakemerge_route in ('table_0', 'table_1')" in unknown[0]
    text, short, day, key = (rule[0] for rule in others[:4])
    assert "_lakemerge_feed_0.`column_decimal` is not null" in text
    assert "char_length(column_string) <= 3" in short
    assert "_lakemerge_feed_0.`day` between date '0001-01-01'" in day
    assert key == "_lakemerge_feed_0 is null or coalesce(_lakemerge_feed_0.`day` is not null, false)"
    assert len(others) == 8
    assert call("lakemerge_route_rules", None) == []


def test_records_of_no_route_may_be_kept() -> None:
    rules = call("lakemerge_route_rules", replace(ROUTING, keeps_unknown=True))
    assert not any("unknown_route" in rule[1] for rule in rules)


def test_a_feed_has_the_order_of_records_only_where_keys_need_it() -> None:
    merged, appended = (call("lakemerge_routed_records_sql", route, "records") for route in ROUTING.routes)
    assert "_lakemerge_place as __lakemerge_order" in merged
    assert "__lakemerge_order" not in appended
    assert "where _lakemerge_ok and _lakemerge_feed_1 is not null" in appended


def test_a_route_of_debezium_says_what_its_events_do() -> None:
    route = call("lakemerge_debezium_route", "orders", ["id"])
    assert route == {
        "table": "orders",
        "columns": {
            "id": "if(op = 'd', before.`id`, after.`id`)",
            "__sequence_1": "source.ts_ms",
            "__sequence_2": "source.lsn",
        },
        "deletes": "op = 'd'",
        "truncates": "op = 't'",
    }
    plain = call("lakemerge_debezium_route", "shop.orders", ["id"], [])
    assert (list(plain["columns"]), "truncates" in plain) == (["id"], False)


def test_the_counts_tell_which_tables_change() -> None:
    assert ROUTING.counts == {
        "_lakemerge_feed_0": "count_if(_lakemerge_ok and _lakemerge_feed_0 is not null)",
        "_lakemerge_feed_1": "count_if(_lakemerge_ok and _lakemerge_feed_1 is not null)",
    }
    assert (ROUTING.values_sql, ROUTING.values_text) == ("'table_0', 'table_1'", "'table_0, table_1'")
    assert ROUTING.size == 6
