"""Takes an ingest's records to the tables of their routes, which one commit changes together with the ingest's own."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lakemerge.engine.ingest.held_times import HeldTimes
from lakemerge.engine.ingest.ingest_plan import IngestPlan
from lakemerge.engine.ingest.route_options import RoutingOptions
from lakemerge.engine.ingest.route_plan import RoutePlan, RoutingPlan
from lakemerge.engine.macros import Macros
from lakemerge.engine.publish.feeds import FEED
from lakemerge.engine.publish.node_transaction import NodeTransaction
from lakemerge.engine.ruled_table import RuledTable, Staged
from lakemerge.engine.spark.handle import SessionHandle
from lakemerge.engine.spark.observations import observe
from lakemerge.engine.spark.own_sql import run_sql
from lakemerge.engine.spark.record_planning import planned_for_records
from lakemerge.engine.spark.unreadable_files import typed_read_errors
from lakemerge.engine.sql_text import qualified
from lakemerge.kernel import Kernel, TableName, Transaction

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: The view of a run's records.
RECORDS = "lakemerge_records"


class Routing:
    """Takes the accepted records of an attempt to the tables of their routes, by the rules of these tables.

    What is staged there is committed with the ingest's own table. Each table has a Spark session of its own.

    Attributes:
        options: the model's about routes.
    """

    def __init__(
        self,
        handle: SessionHandle,
        kernel: Kernel,
        macros: Macros,
        plan: IngestPlan,
        options: RoutingOptions,
        names: Sequence[TableName],
        session: Mapping[str, str],
    ) -> None:
        """
        Args:
            handle: the ingest's session; the sessions of the tables end with it.
            kernel: the one that commits the ingest's own table, too.
            plan: how records become rows; gets the routes.
            names: the table of each route.
            session: the settings of the tables' sessions.
        """
        self._handle = handle
        self._kernel = kernel
        self._macros = macros
        self._plan = plan
        self.options = options
        self._names = tuple(names)
        self._tables: list[RuledTable] = []
        self._staged: list[tuple[TableName, Staged]] = []
        self._complete: list[Transaction] = []
        self._done: dict[TableName, dict[str, int]] = {name: {} for name in names}
        self._shared = f"lakemerge_routed_{uuid.uuid4().hex}"
        zone = "spark.sql.session.timeZone"
        settings = {**session, zone: handle.spark.conf.get(zone) or "UTC"}
        self._handles = {
            name: SessionHandle(
                handle.application, handle.application.new_session(settings), f"route to {name}"
            )
            for name in names
        }
        handle.describe_jobs(handle.name)  # so that what these sessions run is cancelled with the rest
        handle.on_release(self._close)

    # -- before --------------------------------------------------------------------------------

    def begin(self) -> None:
        """Look the tables up and plan the routes.

        Raises:
            TableNotFound, UnsupportedTable, ClaimHeld: a table cannot be written, or its model has recorded no rules.
            InvalidConfig: a route does not fit its table.
        """
        spark = self._handle.spark
        records = spark.table(FEED)
        self._tables = [RuledTable(self._kernel, spark, name) for name in self._names]
        routes = [
            RoutePlan.make(number, table, given, records, self._held_by(table))
            for number, (table, given) in enumerate(zip(self._tables, self.options.routes, strict=True))
        ]
        self._plan.routing = RoutingPlan.make(self.options, routes, records)

    def _held_by(self, table: RuledTable) -> Any:
        """The ingest's options with the dates and times that a table's files hold."""
        times = HeldTimes.of(self._handle.spark, self._handle.application.jvm.java, table.file_format)
        return dataclasses.replace(self._plan.options, times=times)

    @property
    def once_only(self) -> list[str]:
        """The tables that cannot distinguish a change that they already have from a new one."""
        return [str(table.name) for table in self._tables if not table.sequence]

    # -- an attempt ----------------------------------------------------------------------------

    def keep_records(self, sql: str, metrics: Mapping[str, str]) -> dict[str, Any]:
        """Read the records once for all tables; they stay for the rest of the attempt as the view :data:`RECORDS`.

        Args:
            sql: the records, checked.
            metrics: what to count of them, by name.

        Returns:
            The counts.

        Raises:
            UnreadableFile: a landed file cannot be read to its end.
        """
        plan, spark = self._routing, self._handle.spark
        self._handle.raise_if_cancelled()
        with planned_for_records(spark, len(self._plan.columns) + plan.size), typed_read_errors():
            frame, observed = observe(run_sql(spark, sql), {**metrics, **plan.counts})
            self._handle.keep_rows(RECORDS, frame)
            found = observed.get
        spark.table(RECORDS).createOrReplaceGlobalTempView(self._shared)
        return found

    def stage(self, txn: NodeTransaction, found: Mapping[str, Any]) -> None:
        """Stage the changes that the records make to the tables of their routes.

        Args:
            txn: the attempt's, on the ingest's own table.
            found: what :meth:`keep_records` has counted.

        Raises:
            CommitConflict: a table has moved on, or is another one than the routes were planned for.
            LakemergeError: the records break a rule of a table that cannot be checked record by record.
        """
        for table, route in zip(self._tables, self._routing.routes, strict=True):
            if not found[route.feed]:
                continue
            if (change := table.change()) is not None:
                raise txn.overtaken(f"that {table.name} has become {change}")
            handle = self._handles[table.name]
            feed = self._changes(handle, route)
            self._staged.append((table.name, table.stage(handle, self._macros, feed, self._complete.append)))

    def _changes(self, handle: SessionHandle, route: RoutePlan) -> DataFrame:
        """The changes of a route, as a frame of its table's session."""
        database = handle.spark.conf.get("spark.sql.globalTempDatabase", "global_temp")
        return run_sql(
            handle.spark, self._macros.lakemerge_routed_records_sql(route, f"{database}.{self._shared}")
        )

    @property
    def _routing(self) -> RoutingPlan:
        assert self._plan.routing is not None, "the routes are planned before they are taken"
        return self._plan.routing

    # -- the commit ----------------------------------------------------------------------------

    def commit(self, transaction: Transaction) -> int:
        """Commit the ingest's own table with all others; returns its version.

        Raises:
            CommitConflict, ClaimHeld, CommitUnfinished, MetastoreError: as :meth:`Kernel.commit_together`.
        """
        versions = self._kernel.commit_together([transaction, *self._complete])
        return versions[transaction.name]

    def finish(self) -> None:
        """After a commit, do the work that follows it on each table, and note what the commit did."""
        for name, staged in self._staged:
            done = self._done[name]
            for kind, count in staged.counts.items():
                done[kind] = done.get(kind, 0) + count
            if staged.txn.made is not None:
                done["version"] = staged.txn.made.version
                staged.tidy()
                self._handle.spark.catalog.refreshTable(qualified(name))
        self.release()

    @property
    def done(self) -> dict[str, dict[str, int]]:
        """What the run did to each table so far: counts, and its version."""
        return {str(name): dict(counts) for name, counts in self._done.items() if counts}

    @property
    def remarks(self) -> tuple[str, ...]:
        """The same for dbt's result line."""
        shown = ("inserted", "updated", "upserted", "deleted", "ignored")
        return tuple(
            " ".join([f"{name}:", *(f"{counts[kind]} {kind}" for kind in shown if counts.get(kind))])
            for name, counts in self.done.items()
            if any(counts.get(kind) for kind in shown)
        )

    # -- the end -------------------------------------------------------------------------------

    def release(self) -> None:
        """Give up what was staged and not committed, and free its rows."""
        self._staged, self._complete = [], []
        for handle in self._handles.values():
            handle.release()

    def _close(self) -> None:
        for handle in self._handles.values():
            handle.close()
        self._handle.spark.catalog.dropGlobalTempView(self._shared)
