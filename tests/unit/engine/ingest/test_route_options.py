"""What a model says about routes, and the tables that it names."""

from __future__ import annotations

from typing import Any

import pytest

from lakemerge.engine.ingest.route_names import require_order, route_tables
from lakemerge.engine.ingest.route_options import (
    RouteOptions,
    RoutingOptions,
    require_repeatable,
)
from lakemerge.errors import InvalidConfig
from lakemerge.kernel import TableName

OWN = TableName("shop", "events")


def node(name: str, alias: str | None = None, package: str = "shop") -> tuple[str, dict[str, Any]]:
    key = f"model.{package}.{name}"
    return key, {
        "resource_type": "model",
        "unique_id": key,
        "name": name,
        "schema": "Dev",
        "alias": alias or name,
    }


GRAPH = {"nodes": dict([node("orders", "Orders_Master"), node("stock"), node("stock", package="other")])}


def test_routes_say_where_records_go_and_what_they_say_there() -> None:
    options = RoutingOptions.of(
        {
            "route_by": " source.table ",
            "unknown_route": "keep",
            "routes": {
                "orders": "orders",
                7: {"table": "shop.log", "columns": {"What": " name "}, "deletes": "op = 'd'"},
            },
        }
    )
    assert options == RoutingOptions(
        "source.table",
        (
            RouteOptions("orders", "orders"),
            RouteOptions("7", "shop.log", {"what": "name"}, "op = 'd'"),
        ),
        keeps_unknown=True,
    )


def test_a_model_without_routes_has_none() -> None:
    assert RoutingOptions.of({"landing": "/landing"}) is None


@pytest.mark.parametrize(
    ("config", "reported"),
    [
        ({"route_by": "op"}, "route_by has no meaning without routes"),
        ({"unknown_route": "keep"}, "unknown_route has no meaning without routes"),
        ({"routes": {"a": "b"}}, "routes needs route_by"),
        ({"routes": ["a"], "route_by": "op"}, "routes must map"),
        ({"routes": {}, "route_by": "op"}, "routes must map"),
        ({"routes": {"a": 1}, "route_by": "op"}, "the route a must name its table, not 1"),
        ({"routes": {"a": {}}, "route_by": "op"}, "the route a: it needs a table"),
        (
            {"routes": {"a": {"table": "b", "key": "id"}}, "route_by": "op"},
            "the route a: key is not known: it has columns",
        ),
        ({"routes": {"a": {"table": "b", "columns": ["id"]}}, "route_by": "op"}, "columns must map"),
        ({"routes": {"a": {"table": "b", "columns": {"id": ""}}}, "route_by": "op"}, "columns must map"),
        ({"routes": {"a": "b"}, "route_by": "op", "unknown_route": "drop"}, "one of quarantine, keep"),
    ],
)
def test_wrong_options_are_named(config: dict[str, Any], reported: str) -> None:
    with pytest.raises(InvalidConfig, match=reported):
        RoutingOptions.of(config)


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("orders", TableName("dev", "orders_master")),
        ("ORDERS", TableName("dev", "orders_master")),
        ("elsewhere", TableName("shop", "elsewhere")),
        ("other.orders", TableName("other", "orders")),
        ("`other`.`orders`", TableName("other", "orders")),
    ],
)
def test_a_name_is_a_models_or_a_tables(name: str, table: TableName) -> None:
    assert route_tables([RouteOptions("a", name)], OWN, GRAPH) == [table]


@pytest.mark.parametrize(
    ("names", "reported"),
    [
        (["stock"], r"model\.other\.stock, model\.shop\.stock"),
        (["shop.a", "b", "a"], r"several for shop\.a"),
        (["events"], r"one to shop\.events"),
    ],
)
def test_tables_that_a_route_cannot_have(names: list[str], reported: str) -> None:
    with pytest.raises(InvalidConfig, match=reported):
        route_tables([RouteOptions(str(n), name) for n, name in enumerate(names)], OWN, GRAPH)


def test_models_of_routes_are_to_come_first() -> None:
    routes = [RouteOptions("a", "Orders"), RouteOptions("b", "dev.orders_master")]
    require_order(routes, {"depends_on": {"nodes": ["model.shop.orders"]}}, GRAPH)
    with pytest.raises(InvalidConfig, match=r"\{% do ref\('Orders'\) %\}"):
        require_order(routes, {"depends_on": {"nodes": []}}, GRAPH)


def test_records_are_read_again_only_for_tables_that_know_them() -> None:
    require_repeatable("--full-refresh", [])
    with pytest.raises(InvalidConfig, match=r"--full-refresh.*none on shop\.log"):
        require_repeatable("--full-refresh", ["shop.log"])
