"""A piece of work on one table, as plain data, and how it is done: what programs, commands and procedures ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from lakemerge.engine.consume.consume_options import ConsumeConfig
from lakemerge.engine.consume.consumption import Consumption
from lakemerge.engine.consume.consumption import Request as Use
from lakemerge.engine.failures import typed_failures
from lakemerge.engine.lifecycle import Lifecycle
from lakemerge.engine.macros import Macros
from lakemerge.engine.options.write import WriteConfig
from lakemerge.engine.packaged_macros import packaged_macros
from lakemerge.engine.publish.feeds import FEED, give_feed, pass_on
from lakemerge.engine.publish.publisher import Publisher
from lakemerge.engine.publish.result import CommitResult
from lakemerge.engine.spark.beside import session_beside
from lakemerge.engine.spark.handle import SessionHandle
from lakemerge.engine.spark.session import application_of
from lakemerge.engine.sql_text import qualified, quote
from lakemerge.engine.strategies import STRATEGIES, config_of, run_as
from lakemerge.errors import InvalidConfig, UnsupportedTable
from lakemerge.kernel import Kernel, Settings, TableName, find_row
from lakemerge.table_rules import RULES, TableRules

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Strategies of dbt's nodes alone: their SQL is made of what dbt knows of the node.
_OF_NODES = ("microbatch", "snapshot", "custom")
#: The view from which a query reads the changes of another table.
CHANGES = "changes"
# Options of dbt's runs alone.
_OF_RUNS = ("publish",)


@dataclass(frozen=True)
class Request:
    """What is asked for.

    Attributes:
        table: ``schema.table``; without a schema, a table of the session's current database.
        strategy: one of :data:`STRATEGIES`.
        options: as a dbt model's config has them, by their names.
        query: SQL of the rows; empty where they are given as a frame.
        agent: who asks, for the table's history.
        rebuild: whether a new table takes the place of what is there, whatever its schema.
    """

    table: str
    strategy: str
    options: Mapping[str, Any] = field(default_factory=dict)
    query: str = ""
    agent: str = "lakemerge"
    rebuild: bool = False

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Request:
        """A request from what :meth:`as_dict` gives, such as parsed JSON. Raises InvalidConfig."""
        try:
            return cls(**data)
        except TypeError as error:
            raise InvalidConfig(
                expected="a request with table and strategy, and maybe options, query, agent and rebuild",
                found=", ".join(map(str, data)) or "none of these",
                action="Correct the names.",
            ) from error

    def as_dict(self) -> dict[str, Any]:
        """The request for JSON."""
        return asdict(self)


def life_of(request: Request, publisher: Publisher[Any], macros: Macros, *, exists: bool) -> Lifecycle:
    """The life of the commit by which a request is met, whichever door it came through.

    Args:
        publisher: of the request's table and its options; the rows are readable as its feed.
        exists: whether the table is there.
    """
    options = publisher.config
    chosen, anew = run_as(request.strategy, options, rebuild=request.rebuild, exists=exists)
    return Lifecycle(chosen.driver_for(options)(publisher, macros, rebuild=anew))


def run(request: Request, spark: SparkSession, rows: DataFrame | None = None) -> CommitResult:
    """Do what a request asks for, by one commit.

    A table whose earlier commits have recorded rules, such as a dbt model's, keeps them: options that are not given are
    those of the rules, and another value than theirs is refused.

    Args:
        spark: a session with Hive support. Its time zone and its current database apply; its other settings do not.
        rows: a frame of that session, in the place of a query.

    Raises:
        InvalidConfig: an option is unknown, wrong, or not that of the table's rules; or the strategy is none of these.
        UnsupportedTable: the table is written by another strategy, or cannot be written at all.
        LakemergeError, PySparkException: nothing was published, unless the error says otherwise.
    """
    with _begun(request, spark) as (handle, publish):
        _give_feed(handle, spark, request.query, rows)
        return publish()


def run_on_changes(
    request: Request,
    spark: SparkSession,
    source: TableName,
    config: ConsumeConfig,
    rows: Callable[[DataFrame], DataFrame] | None = None,
) -> CommitResult:
    """Bring what has changed in another table since the last such call into the request's table, each change once.

    The request's query reads the changes by the name :data:`CHANGES`. A call makes more than one commit only where
    earlier ones have failed, and versions are therefore tried in smaller groups.

    Args:
        source: the table whose changes are taken.
        rows: makes the rows of a frame of the changes, in the place of a query; called anew for each attempt.

    Raises:
        ConsumerExpired, ConsumerFenced: see there.
        As :func:`run`; what earlier commits of the call have brought in stands.
    """
    with _begun(request, spark) as (handle, publish):
        consumption = Consumption(handle.spark, publish.kernel, publish.name)
        handle.processing = consumption
        use = Use(CHANGES, source, config, packaged_macros())
        turns = consumption.run([use], rebuild=request.rebuild, once=not publish.exists)
        done = []
        try:
            for batches in turns:
                held = handle.held
                consumption.open([use], batches)
                _give_changes(handle, spark, request.query, rows)
                done.append(publish())
                handle.release(held)
        except BaseException as error:
            consumption.release(error)
            raise
    return CommitResult.of_all(done, sum(left.total for left in turns.left))


@dataclass(frozen=True)
class _Work:
    """A request that is about to be met in a session of its own; a call meets it with the rows of the feed."""

    request: Request
    kernel: Kernel
    publisher: Publisher[Any]

    @property
    def name(self) -> TableName:
        return self.publisher.name

    @property
    def exists(self) -> bool:
        return self.kernel.exists(self.name)

    def __call__(self) -> CommitResult:
        return life_of(self.request, self.publisher, packaged_macros(), exists=self.exists).publish()


@contextmanager
def _begun(request: Request, spark: SparkSession) -> Iterator[tuple[SessionHandle, _Work]]:
    """The session of a request, and its work. Raises as :func:`run`."""
    if request.strategy not in STRATEGIES or request.strategy in _OF_NODES:
        known = [name for name in STRATEGIES if name not in _OF_NODES]
        raise InvalidConfig(
            expected=f"one of the strategies {', '.join(known)}",
            found=repr(request.strategy),
            action="Choose one of them; microbatch models and snapshots are nodes of dbt.",
        )
    name = TableName.parse(request.table, str(spark.catalog.currentDatabase()))
    ports = application_of(spark).ports
    row = find_row(ports.metastore, name)
    options, constraints = _options(request, name, None if row is None else row.parameters.get(RULES))
    policy: Any = options.on_foreign_write
    kernel = Kernel(ports, Settings(writer={"agent": request.agent}, on_foreign_write=policy))
    with typed_failures(), session_beside(spark, f"{request.strategy} {name}") as handle:
        # `replace` makes a table by no rule: the first merge or append brings it
        publisher = Publisher(
            handle,
            kernel,
            name,
            options,
            constraints=constraints,
            records_rules=request.strategy != "replace",
        )
        yield handle, _Work(request, kernel, publisher)
    spark.catalog.refreshTable(qualified(name))


def _options(
    request: Request, name: TableName, recorded: str | None
) -> tuple[WriteConfig, Mapping[str, str]]:
    """The options of a request beside the rules of its table, and the constraints that its rows are checked by.

    Args:
        recorded: the text of the rules; ``None`` where no commit has recorded any, empty for a strategy without rules.
    """
    given = {option: value for option, value in request.options.items() if value is not None}
    if unknown := [option for option in _OF_RUNS if option in given]:
        raise InvalidConfig(
            expected="options of a table",
            found=f"{unknown[0]}, which is about a run of dbt",
            action=f"Leave {unknown[0]} out.",
        )
    if not recorded:
        options = config_of(given, request.strategy, strict=True)
        if recorded == "" and options.changed_by:
            raise _other_strategy(name, request.strategy, "another strategy")
        return options, {}
    rules = TableRules.of_text(recorded, name)
    # what is replaced as a whole may also be added to
    if rules.strategy != ("append" if request.strategy == "replace" else request.strategy):
        raise _other_strategy(name, request.strategy, rules.strategy)
    if request.strategy == "replace":
        return config_of(given, request.strategy, strict=True), rules.constraints
    options = config_of({**rules.options, **given}, request.strategy, strict=True)
    by_rules = config_of(rules.options, request.strategy)
    if differing := [one for one in options.rules if getattr(options, one) != getattr(by_rules, one)]:
        shown = [f"{one}: {getattr(by_rules, one)!r}, not {getattr(options, one)!r}" for one in differing]
        raise InvalidConfig(
            expected=f"{name} to be changed by the rules that it was made with ({request.strategy})",
            found=f"others: {'; '.join(shown)}",
            action="Leave these options out, for the table has them; or change them in the model that writes it.",
        )
    return options, rules.constraints


def _other_strategy(name: TableName, asked: str, recorded: str) -> UnsupportedTable:
    return UnsupportedTable(
        expected=f"a table that is written by {asked}, to {asked} into {name}",
        found=f"one that is written by {recorded}",
        action="Use the method of its strategy, or let its model write it.",
    )


def _give_feed(handle: SessionHandle, spark: SparkSession, query: str, rows: DataFrame | None) -> None:
    """Make the rows readable as the feed: a query anew at each attempt, a frame as it is."""
    if rows is None:
        # a command would run at once; this takes queries alone
        spark._jsparkSession.sessionState().sqlParser().parseQuery(query)
        handle.spark.sql(f"use {quote(spark.catalog.currentDatabase())}")
        handle.compute_feed = lambda: handle.spark.sql(query).createOrReplaceTempView(FEED)
        return
    give_feed(handle, rows)


def _give_changes(
    handle: SessionHandle, spark: SparkSession, query: str, rows: Callable[[DataFrame], DataFrame] | None
) -> None:
    """Make the rows that are made of the changes readable as the feed, anew at each attempt."""
    if rows is None:
        return _give_feed(handle, spark, query, None)
    # in the program's session, for its functions and views
    changes = spark.table(pass_on(handle, handle.spark.table(CHANGES)))
    handle.compute_feed = lambda: give_feed(handle, rows(changes))
