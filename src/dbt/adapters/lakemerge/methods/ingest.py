"""The adapter's methods for ingest: its options and plan, its runs, and quarantined records."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from dbt.adapters.base import available
from dbt.adapters.lakemerge.capability import Capability
from dbt.adapters.lakemerge.constraints import enforced_checks
from dbt.adapters.lakemerge.dbt_errors import SparkStatementError, config_errors
from dbt.adapters.lakemerge.dbt_macros import DbtMacros
from dbt.adapters.lakemerge.relation import LakemergeRelation
from dbt.adapters.lakemerge.responses import IngestResponse
from dbt_common.exceptions import CompilationError

from lakemerge.engine.ingest.batches import IngestBatches
from lakemerge.engine.ingest.constants import require_exact
from lakemerge.engine.ingest.held_times import HeldTimes
from lakemerge.engine.ingest.ingest_options import IngestOptions
from lakemerge.engine.ingest.ingest_plan import IngestPlan
from lakemerge.engine.ingest.intake import Intake
from lakemerge.engine.ingest.record_driver import Ingest, Replay
from lakemerge.engine.ingest.record_rules import RecordRule, partition_rules
from lakemerge.engine.ingest.record_types import RecordColumn, record_columns
from lakemerge.engine.ingest.route_names import require_order, route_tables
from lakemerge.engine.ingest.route_options import RoutingOptions, require_repeatable
from lakemerge.engine.ingest.routing import Routing
from lakemerge.engine.merge_on_read.deltas import has_time_to_compact
from lakemerge.engine.options.append import AppendConfig
from lakemerge.engine.publish.feeds import FEED
from lakemerge.engine.publish.publisher import Publisher
from lakemerge.engine.ruled_table import RuledTable
from lakemerge.engine.spark.configuration import session_settings
from lakemerge.engine.spark.small_frames import empty_frame
from lakemerge.errors import InvalidConfig
from lakemerge.ingest import continuous
from lakemerge.kernel import SIDE_TABLES, HiveColumn, check_side_table


class IngestMethods(Capability):
    """``adapter.ingest``; see the materialization `ingest` for its use."""

    # -- the plan ------------------------------------------------------------------------------

    @available.parse_none
    def config(self, model: Mapping[str, Any]) -> AppendConfig:
        """The write options of a model whose commits have partitions of their own."""
        given = dict(model["config"])
        wrong = [name for name in ("append_layout", "unique_key", "incremental_strategy") if given.get(name)]
        with config_errors():
            if wrong:
                raise InvalidConfig(
                    expected="an ingest model without options of incremental models",
                    found=", ".join(wrong),
                    action="An ingest model only appends. Merge its rows in an incremental model that reads it.",
                )
            if given.get("on_schema_change") in (None, "ignore"):
                given["on_schema_change"] = "append_new_columns"
            return AppendConfig.of({**given, "append_layout": "commit_partitioned"})

    def _ingest_plan(self, model: Mapping[str, Any], write: AppendConfig, macros: DbtMacros) -> IngestPlan:
        """How the model's records become rows, and an empty feed of the table's columns.

        Args:
            write: the model's options about writing.

        Raises:
            CompilationError: options or columns are wrong; the message names all that are.
        """
        if (model.get("compiled_code") or "").strip():
            raise CompilationError(
                "Expected an ingest model without a query, because its rows come from files or topics; found one. "
                "Leave only the config in it, and put the query in a model that reads it."
            )
        with config_errors():
            options = IngestOptions.of(model["config"])
            columns = record_columns(model, options)
            self._check_pattern(options, columns)
            if options.partition_values:
                times = HeldTimes.of(self.handle.spark, self.handle.application.jvm.java, write.file_format)
                held = dataclasses.replace(options, times=times)
                require_exact(
                    self.handle.spark, macros, columns, held, [name.lower() for name in write.partition_by]
                )
        from pyspark.sql.types import StructType

        schema = StructType([column.spark_field for column in columns])
        empty_frame(self.handle.spark, schema).createOrReplaceTempView(FEED)
        return IngestPlan(options, columns, enforced_checks(model), _partition_rules(columns, write))

    def _check_pattern(self, options: IngestOptions, columns: Any) -> None:
        """Whether a pattern is one of Java's and has a group for each column."""
        if options.format != "regex":
            return
        pattern = self.handle.application.jvm.java.java.util.regex.Pattern
        from py4j.protocol import Py4JJavaError

        expected = sum(1 for column in columns if not column.constant)
        try:
            found = f"{pattern.compile(options.pattern).matcher('').groupCount()} groups"
        except Py4JJavaError as error:
            found = str(error.java_exception.getDescription())
        if found != f"{expected} groups":
            raise InvalidConfig(
                expected=f"a Java regular expression with a group for each of the {expected} columns",
                found=f"{options.pattern!r}: {found}",
                action="Correct `pattern`; write (?:…) for a group that is not a column.",
            )

    # -- runs ----------------------------------------------------------------------------------

    @available.parse_none
    def run(
        self,
        context: Mapping[str, Any],
        relation: LakemergeRelation,
        options: AppendConfig,
        rebuild: bool,
    ) -> IngestResponse:
        """Commit what has landed since; see :class:`Ingest`.

        Args:
            context: dbt's, of the model.
            rebuild: replace the existing table by a new one, read from all files.
        """
        model, macros = context["model"], DbtMacros(context)
        with config_errors():
            has_time_to_compact(macros)
        plan = self._ingest_plan(model, options, macros)
        self._check_quarantine(relation)
        publisher, routing = self._publishing(context, relation, model, options, plan)
        if routing is not None:
            with config_errors():
                self._check_routing(context, routing, plan, rebuild=rebuild and publisher.exists)
        table = f"{relation.schema}.{relation.identifier}"
        batches = IngestBatches(table, plan.options, self.handle, continuous.current())
        ingest = Ingest(
            publisher,
            macros,
            plan,
            Intake(self.handle, plan),
            routing,
            batches,
            rebuild=rebuild,
            committed=lambda: macros.lakemerge_create_quarantine_view(relation),
        )
        return IngestResponse.of(ingest.run())

    @available.parse_none
    def replay(
        self,
        context: Mapping[str, Any],
        relation: LakemergeRelation,
        model: Mapping[str, Any],
        where: str,
    ) -> IngestResponse | None:
        """Read quarantined records again; see :class:`Replay`. ``None`` if there never were any."""
        if self.quarantine_of(relation) is None:
            return None
        options, macros = self.config(model), DbtMacros(context)
        plan = self._ingest_plan(model, options, macros)
        publisher, routing = self._publishing(context, relation, model, options, plan)
        replay = Replay(publisher, macros, plan, Intake(self.handle, plan), routing, where)
        return IngestResponse.of(replay.run())

    # -- routes --------------------------------------------------------------------------------

    def _publishing(
        self,
        context: Mapping[str, Any],
        relation: LakemergeRelation,
        model: Mapping[str, Any],
        options: AppendConfig,
        plan: IngestPlan,
    ) -> tuple[Publisher[AppendConfig], Routing | None]:
        """What publishes an ingest's rows, and what takes them to the tables of its routes, if it has any.

        Raises:
            CompilationError: the routes' options are wrong.
            DbtRuntimeError: a table cannot be written, or a route does not fit it.
        """
        with config_errors():
            given = RoutingOptions.of(model["config"])
            names = (
                route_tables(given.routes, relation.table_name, context.get("graph") or {}) if given else []
            )
        if given is None:
            return self.publisher(relation.table_name, options, model), None
        kernel = self.kernel(model, options)
        tables = [RuledTable(kernel, self.handle.spark, name) for name in names]
        # the strictest table decides about what other programs wrote
        if any(table.config.on_foreign_write == "fail" for table in tables):
            kernel = self.kernel(model, dataclasses.replace(options, on_foreign_write="fail"))
        plan.orders = any(table.keys for table in tables)
        session = session_settings(self.host.config.credentials)
        routing = Routing(self.handle, kernel, DbtMacros(context), plan, given, names, session)
        routing.begin()
        return self.publisher(
            relation.table_name, options, model, kernel=kernel, commit=routing.commit
        ), routing

    @staticmethod
    def _check_routing(
        context: Mapping[str, Any], routing: Routing, plan: IngestPlan, *, rebuild: bool
    ) -> None:
        """Raises InvalidConfig where routes could not be taken in the right order, or would be taken twice."""
        require_order(routing.options.routes, context["model"], context.get("graph") or {})
        if rebuild:
            require_repeatable("--full-refresh", routing.once_only)
        if plan.options.on_changed_file == "reread":
            require_repeatable("on_changed_file: reread", routing.once_only)

    # -- the quarantine ------------------------------------------------------------------------

    def _check_quarantine(self, relation: LakemergeRelation) -> None:
        """Check that the quarantine's name is free, or its own. Raises DbtRuntimeError."""
        name = relation.table_name
        check_side_table(self.handle.application.metastore, name, "quarantine")

    @available.parse_none
    def quarantine_of(self, relation: LakemergeRelation) -> LakemergeRelation | None:
        """The table of a relation's rejected records; ``None`` where there never was one."""
        main = relation.table_name
        name = SIDE_TABLES["quarantine"].name_of(main)
        if self.handle.application.metastore.get_table(name) is None:
            return None
        quarantine: LakemergeRelation = relation.incorporate(path={"identifier": name.name}, type="table")
        return quarantine

    @available.parse_none
    def create_view_once(self, sql: str) -> None:
        """Run a statement that makes a view, which another run may make at the same moment.

        Spark first checks and then creates it, even with `create or replace` or `if not exists`.
        """
        try:
            self.host.connections.execute(sql)
        except SparkStatementError as error:
            if error.condition != "TABLE_OR_VIEW_ALREADY_EXISTS":
                raise


def _partition_rules(columns: Iterable[RecordColumn], write: AppendConfig) -> tuple[RecordRule, ...]:
    """The rules of the table's own partitions."""
    known = {column.name: column for column in columns}
    keys = [known[name.lower()] for name in write.partition_by if name.lower() in known]
    partitions = [
        *(HiveColumn(key.name, key.stored_type) for key in keys),
        HiveColumn(write.commit_column, "bigint"),
    ]
    return tuple(partition_rules(partitions, {key.name: key.quoted for key in keys}))
