"""The tables that routes name, by dbt's models or by themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lakemerge.engine.ingest.route_options import RouteOptions
from lakemerge.errors import InvalidConfig
from lakemerge.kernel import TableName


def route_tables(routes: Sequence[RouteOptions], own: TableName, graph: Mapping[str, Any]) -> list[TableName]:
    """The table of each route.

    Args:
        own: the ingest's own table; a name that is no model's is one of its schema.
        graph: dbt's, with the project's nodes.

    Raises:
        InvalidConfig: two routes go to one table, one goes to the model's own, or a name is that of several models.
    """
    tables = [_table(route, own, graph) for route in routes]
    twice = sorted({str(name) for name in tables if tables.count(name) > 1})
    if twice:
        raise InvalidConfig(
            expected="a table of its own for each route",
            found=f"several for {', '.join(twice)}",
            action="Let route_by give one value for all records of a table, such as "
            "regexp_replace(table, '_[0-9]+$', '').",
        )
    if own in tables:
        raise InvalidConfig(
            expected="routes to other tables than the model's own, which has every record anyway",
            found=f"one to {own}",
            action="Leave the route out, and set unknown_route: keep.",
        )
    return tables


def _table(route: RouteOptions, own: TableName, graph: Mapping[str, Any]) -> TableName:
    named = TableName.parse(route.table, "")
    if named.schema:
        return named
    name = named.name
    models = [
        node
        for node in (graph.get("nodes") or {}).values()
        if node["resource_type"] == "model" and str(node["name"]).lower() == name
    ]
    if len(models) > 1:
        raise InvalidConfig(
            expected=f"one model named {name}, for the route {route.value}",
            found=", ".join(sorted(str(node["unique_id"]) for node in models)),
            action="Name its table with the schema.",
        )
    if models:
        return TableName(str(models[0]["schema"]), str(models[0]["alias"]))
    return TableName(own.schema, name)


def require_order(routes: Sequence[RouteOptions], model: Mapping[str, Any], graph: Mapping[str, Any]) -> None:
    """Check that dbt runs the models which make the routes' tables first.

    Raises:
        InvalidConfig: the model does not refer to them.
    """
    known = set((model.get("depends_on") or {}).get("nodes") or ())
    named = {route.table.lower(): route.table for route in routes if "." not in route.table}
    nodes = (graph.get("nodes") or {}).items()
    missing = [
        named[str(node["name"]).lower()]
        for key, node in nodes
        if node["resource_type"] == "model" and str(node["name"]).lower() in named and key not in known
    ]
    if missing:
        calls = " ".join(f"{{% do ref('{name}') %}}" for name in missing)
        raise InvalidConfig(
            expected="an ingest model that refers to the models of its routes, so that dbt runs them first",
            found=f"no reference to {', '.join(missing)}",
            action=f"Write {calls} into the model's file.",
        )
