"""How records become changes of the tables that they are routed to: what macros need to build the SQL for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql.types import DataType, NullType, StringType

from lakemerge.engine.ingest.ingest_options import IngestOptions
from lakemerge.engine.ingest.record_rules import RecordRule, partition_rules
from lakemerge.engine.ingest.record_types import RecordColumn, TypedField, ValueType, typed_value
from lakemerge.engine.ingest.route_options import RouteOptions, RoutingOptions
from lakemerge.engine.merge.merge_options import MergeConfig
from lakemerge.engine.ruled_table import DELETES, TRUNCATES, RuledTable
from lakemerge.engine.spark.error_texts import reason_of
from lakemerge.engine.sql_text import literal, quote
from lakemerge.errors import InvalidConfig

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class RouteColumn:
    """A column of a change.

    Attributes:
        column: the column, in the table's type.
        source: SQL over the record's columns.
        typed: how a source that has another type is read; ``None`` for a text, which is read like the texts of files.
    """

    column: RecordColumn
    source: str
    typed: TypedField | None


@dataclass(frozen=True)
class RoutePlan:
    """How the records of one route become changes of its table.

    Attributes:
        value: what the route is called in the records.
        table: the table's name.
        feed: the name of the column that has the change as a struct, null for records of other routes.
        columns: of the change.
        flags: what else a change says, such as that it deletes; SQL over the record's columns, by name in the struct.
        rules: the rules of the change, over :attr:`feed`.
        options: the model's, with the dates and times that the table holds.
        merges: whether the table has a key, so that the order of changes matters.
    """

    value: str
    table: str
    feed: str
    columns: tuple[RouteColumn, ...]
    flags: Mapping[str, str]
    rules: tuple[RecordRule, ...]
    options: IngestOptions
    merges: bool

    @property
    def literal(self) -> str:
        """The route's name in the records, as SQL."""
        return literal(self.value)

    def value_of(self, column: RouteColumn) -> str:
        """SQL of a column's value in the change."""
        return f"{self.feed}.{column.column.quoted}"

    @classmethod
    def make(
        cls, number: int, table: RuledTable, given: RouteOptions, records: DataFrame, options: IngestOptions
    ) -> RoutePlan:
        """Plan a route.

        Args:
            number: its place among the routes.
            records: a frame with the record's columns.
            options: the model's, with the dates and times that the table holds.

        Raises:
            InvalidConfig: the route does not give what a change of the table needs; the message names it all.
        """
        problems = _flag_problems(table, given)
        sources = _sources(table, given, records.columns, problems)
        types = _types(records, sources, given.value)
        _types(
            records,
            {"deletes": given.deletes or "false", "truncates": given.truncates or "false"},
            given.value,
        )
        found = [
            _column(name, kind, sources[name], types[name], problems) for name, kind in table.columns.items()
        ]
        columns = tuple(column for column in found if column is not None)
        if problems:
            raise InvalidConfig(
                expected=f"the route {given.value} to give what a change of {table.name} needs",
                found="; ".join(problems),
                action="Correct its columns, deletes and truncates. See the guide about routes.",
            )
        feed = f"_lakemerge_feed_{number}"
        return cls(
            value=given.value,
            table=str(table.name),
            feed=feed,
            columns=columns,
            flags=_flags(table, given),
            rules=tuple(_rules(records.sparkSession, table, given, feed)),
            options=options,
            merges=table.strategy == "merge",
        )


@dataclass(frozen=True)
class RoutingPlan:
    """The routes of one attempt.

    Attributes:
        by: SQL over the record's columns whose value names the route.
        keeps_unknown: whether records of no route are accepted.
    """

    by: str
    keeps_unknown: bool
    routes: tuple[RoutePlan, ...]

    @classmethod
    def make(cls, options: RoutingOptions, routes: Sequence[RoutePlan], records: DataFrame) -> RoutingPlan:
        """Plan the routing. Raises InvalidConfig where ``route_by`` is no SQL over the record's columns."""
        _types(records, {"route_by": options.by}, "")
        return cls(options.by, options.keeps_unknown, tuple(routes))

    @property
    def values_sql(self) -> str:
        """The names of the routes as SQL literals."""
        return ", ".join(route.literal for route in self.routes)

    @property
    def values_text(self) -> str:
        """The same as one text, as SQL."""
        return literal(", ".join(route.value for route in self.routes))

    @property
    def counts(self) -> dict[str, str]:
        """Aggregates over the accepted records: how many each route has."""
        return {route.feed: f"count_if(_lakemerge_ok and {route.feed} is not null)" for route in self.routes}

    @property
    def size(self) -> int:
        """The number of columns of all changes."""
        return sum(len(route.columns) for route in self.routes)


# -- what a route gives ------------------------------------------------------------------------


def _flag_problems(table: RuledTable, given: RouteOptions) -> list[str]:
    problems = []
    if table.strategy == "append" and (given.deletes or given.truncates):
        problems.append("deletes and truncates, of a table without a unique_key")
    elif given.truncates and not (table.sequence and table.updates_whole_rows):
        problems.append("truncates, of a table that has no sequence_by or takes partial updates")
    return problems


def _flags(table: RuledTable, given: RouteOptions) -> dict[str, str]:
    if table.strategy == "append":
        return {}
    flags = {DELETES: given.deletes or "false"}
    return {**flags, TRUNCATES: given.truncates} if given.truncates else flags


def _sources(
    table: RuledTable, given: RouteOptions, recorded: Sequence[str], problems: list[str]
) -> dict[str, str]:
    """SQL of the table's columns over those of the record."""
    names = {name.lower(): name for name in recorded}
    unknown = [name for name in given.columns if name not in table.columns]
    problems += [f"{name}, which the table does not have" for name in unknown]
    sources = {}
    for name in table.columns:
        if name in given.columns:
            sources[name] = given.columns[name]
        elif name in names:
            sources[name] = quote(names[name])
    missing = [name for name in table.new_row_columns if name not in sources]
    problems += [f"no {name}, and no column of that name in the records" for name in missing]
    return {name: sources.get(name, "null") for name in table.columns}


def _types(records: DataFrame, sources: Mapping[str, str], route: str) -> dict[str, DataType]:
    """The types of some SQL over the record's columns. Raises InvalidConfig if it is not such SQL."""
    found = {}
    for name, sql in sources.items():
        try:
            found[name] = records.selectExpr(f"({sql}) as found").schema["found"].dataType
        except PySparkException as error:
            raise InvalidConfig(
                expected="SQL over the columns of the records"
                + (f" for {name} in the route {route}" if route else f" in {name}"),
                found=f"{sql} ({reason_of(error)})",
                action=f"The records have the columns {', '.join(records.columns)}.",
            ) from error
    return found


def _column(name: str, declared: str, source: str, kind: DataType, problems: list[str]) -> RouteColumn | None:
    column = RecordColumn(name, declared, ValueType.of(declared), name)
    if isinstance(kind, NullType):
        value = f"cast(null as {column.type.sql})"
        return RouteColumn(column, source, TypedField(value, value, "true"))
    if isinstance(kind, StringType) and column.type.kind not in ("string", "char") and not column.type.depth:
        return RouteColumn(column, source, None)
    typed = typed_value(column, f"({source})", kind)
    if typed is None:
        problems.append(f"{name} as {kind.simpleString()}, which does not become {declared}: cast it")
        return None
    return RouteColumn(column, source, typed)


# -- what its table asks -----------------------------------------------------------------------


def _rules(spark: SparkSession, table: RuledTable, given: RouteOptions, feed: str) -> Iterator[RecordRule]:
    """What would fail a whole commit if a single row broke it, as rules of single records."""
    names = {name: f"{feed}.{quote(name)}" for name in table.columns}
    deletes = f"{feed}.{quote(DELETES)}" if table.strategy == "merge" else "false"
    truncates = f"{feed}.{quote(TRUNCATES)}" if given.truncates else "false"
    for key in table.keys:
        empty = f" and cast({names[key]} as string) <> ''" if key in table.partitions else ""
        keeps = f"{truncates} or coalesce({names[key]} is not null{empty}, false)"
        yield RecordRule(keeps, "null_key", key, f"expected a value in the key of {table.name}")
    yield from partition_rules(table.partition_columns, {name: names[name] for name in table.partitions})
    if isinstance(table.config, MergeConfig):
        for part in table.config.sequence_by:
            keeps = f"({with_columns(spark, part, names)}) is not null"
            yield RecordRule(
                keeps, "null_sequence", "", f"expected a value of {part}, the order of {table.name}"
            )
    # after a partial update, the resulting row may keep a constraint that the change alone does not
    for name, broken in table.constraints.items() if table.shows_whole_rows else ():
        keeps = f"{deletes} or {truncates} or not coalesce({with_columns(spark, broken, names)}, false)"
        yield RecordRule(keeps, "constraint_violated", "", f"{name} of {table.name}")


def with_columns(spark: SparkSession, expression: str, columns: Mapping[str, str]) -> str:
    """An SQL expression with other SQL in the place of its columns.

    Args:
        columns: the other SQL, by column name in lower case; other names stay.
    """
    leaves = spark._jsparkSession.sessionState().sqlParser().parseExpression(expression).collectLeaves()
    places: list[tuple[int, int, str]] = []
    for leaf in (leaves.apply(number) for number in range(leaves.size())):
        if leaf.getClass().getSimpleName() != "UnresolvedAttribute":
            continue
        parts: Any = leaf.nameParts()
        first, *others = (str(parts.apply(number)) for number in range(parts.size()))
        if first.lower() in columns:
            text = ".".join([columns[first.lower()], *map(quote, others)])
            origin = leaf.origin()
            places.append((int(origin.startIndex().get()), int(origin.stopIndex().get()), text))
    for start, stop, text in sorted(places, reverse=True):
        expression = expression[:start] + text + expression[stop + 1 :]
    return expression
