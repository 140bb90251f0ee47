"""What an ingest model says about the tables that its records go on to, checked before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lakemerge.engine.options.reader import OptionReader
from lakemerge.engine.sql_text import one_line_strings
from lakemerge.errors import InvalidConfig


@dataclass(frozen=True)
class RouteOptions:
    """Where the records of a route go, and what they say there.

    Attributes:
        value: what ``route_by`` gives for them.
        table: a table's name with its schema, or a model's name.
        columns: SQL over the record's columns, by the table's column; others take the record's column of the same name.
        deletes: SQL over the record's columns that is true where a record deletes its key; empty for never.
        truncates: SQL that is true where a record ends all rows up to its place in the sequence; empty for never.
    """

    value: str
    table: str
    columns: Mapping[str, str] = field(default_factory=dict)
    deletes: str = ""
    truncates: str = ""


@dataclass(frozen=True)
class RoutingOptions:
    """How records find their tables; see docs/guides/routes.md.

    Attributes:
        by: SQL over the record's columns whose value names the route.
        keeps_unknown: whether a record of no route is kept in the model's own table, rather than put in quarantine.
    """

    by: str
    routes: tuple[RouteOptions, ...]
    keeps_unknown: bool = False

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> RoutingOptions | None:
        """Read a dbt config; ``None`` if it has no routes.

        Raises:
            InvalidConfig: some options are wrong; the message names them all.
        """
        problems: list[str] = []
        reader = OptionReader(config, problems)
        by, unknown, given = cls.read(reader)
        reader.check_names()
        if given is None:
            names = [name for name in ("route_by", "unknown_route") if reader.value(name) is not None]
            problems += [f"{name} has no meaning without routes" for name in names]
            reader.require_sound()
            return None
        if not by:
            problems.append("routes needs route_by, the column or SQL whose value names a record's route")
        if not isinstance(given, Mapping) or not given:
            problems.append(f"routes must map values of route_by to tables, not {given!r}")
            given = {}
        routes = tuple(_route(str(value), said, problems) for value, said in given.items())
        reader.require_sound("routes that say where records go", "Correct these options of the model.")
        return cls(by, routes, unknown == "keep")

    @classmethod
    def read(cls, reader: OptionReader) -> tuple[str, str, Any]:
        """Read the options one by one: ``route_by``, ``unknown_route``, and ``routes`` as they are given."""
        return (
            reader.text("route_by"),
            reader.choice("unknown_route", "quarantine", "keep"),
            reader.value("routes", "a mapping of values to tables"),
        )


def _route(value: str, said: Any, problems: list[str]) -> RouteOptions:
    """One route; a text alone is the name of its table."""
    if isinstance(said, str):
        said = {"table": said}
    if not isinstance(said, Mapping):
        problems.append(f"the route {value} must name its table, not {said!r}")
        return RouteOptions(value, "")
    found: list[str] = []
    reader = OptionReader(said, found)
    table = reader.text("table")
    if not table:
        found.append("it needs a table")
    route = RouteOptions(
        value,
        table,
        _columns(reader.value("columns"), found),
        reader.text("deletes"),
        reader.text("truncates"),
    )
    reader.refuse_others()
    problems += [f"the route {value}: {problem}" for problem in found]
    return route


def _columns(given: Any, problems: list[str]) -> dict[str, str]:
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(
        isinstance(sql, str) and sql.strip() for sql in given.values()
    ):
        problems.append(
            f"columns must map the table's columns to SQL over those of the record, not {given!r}"
        )
        return {}
    return {str(name).lower(): one_line_strings(sql.strip()) for name, sql in given.items()}


def require_repeatable(repeats: str, once_only: list[str]) -> None:
    """Refuse to read records again if their tables cannot recognise that they already have them.

    Args:
        repeats: why records would be read again.
        once_only: the tables without a sequence.

    Raises:
        InvalidConfig: there are such tables.
    """
    if once_only:
        raise InvalidConfig(
            expected=f"a sequence_by on the tables of all routes, because {repeats} sends records there again",
            found=f"none on {', '.join(once_only)}, which would take these records for new ones",
            action="Leave it out. To start over, empty those tables and drop this model's own, and run again.",
        )
