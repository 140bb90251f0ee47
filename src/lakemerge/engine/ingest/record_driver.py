"""The drivers of ingest: landed records, and quarantined records that have become readable, into the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lakemerge.engine.ingest.batches import IngestBatch, IngestBatches
from lakemerge.engine.ingest.ingest_plan import IngestPlan
from lakemerge.engine.ingest.intake import UNCHOSEN, Intake
from lakemerge.engine.ingest.routing import RECORDS, Routing
from lakemerge.engine.lifecycle import Lifecycle
from lakemerge.engine.macros import Macros
from lakemerge.engine.options.append import AppendConfig
from lakemerge.engine.publish.driver import Counts, Driver, rows_after
from lakemerge.engine.publish.node_transaction import NodeTransaction
from lakemerge.engine.publish.publisher import Publisher
from lakemerge.engine.publish.quarantine import add_to_quarantine, clear_quarantine, replace_quarantine
from lakemerge.engine.publish.result import CommitResult
from lakemerge.engine.spark.record_planning import planned_for_records
from lakemerge.engine.spark.session import reporting_java_death
from lakemerge.errors import BadRecords
from lakemerge.ingest import Arrivals, TopicArrivals

_SAMPLES = 5
_COUNTED = {"records": "count(*)", "rejected": "count_if(not _lakemerge_ok)"}
# Also which records were rejected, so that these can be read again to find the reasons.
_MARKED = {
    **_COUNTED,
    "bad_files": "collect_set(_lakemerge_bad_file)",
    "bad_marks": "collect_set(_lakemerge_bad_mark)",
}


class RecordDriver(Driver[AppendConfig]):
    """Commits records as rows and, if there are routes, as changes of other tables."""

    def __init__(
        self,
        publisher: Publisher[AppendConfig],
        macros: Macros,
        plan: IngestPlan,
        intake: Intake,
        routing: Routing | None,
        *,
        rebuild: bool = False,
    ) -> None:
        """
        Args:
            routing: takes records to other tables; ``None`` where they go to none.
            rebuild: replace the existing table by a new one, read from all files.
        """
        super().__init__(publisher, macros, rebuild=rebuild)
        self._plan = plan
        self._intake = intake
        self._routing = routing

    def _read(self, metrics: Mapping[str, str]) -> Callable[[], dict[str, Any]]:
        """Make the records a view; returns a function that gives the counts once the records are written."""
        if self._routing is not None:
            self._routing.begin()
        sql = self.macros.lakemerge_observed_records_sql(self._plan)
        if self._routing is not None:
            found = self._routing.keep_records(sql, metrics)
            return lambda: found
        with planned_for_records(self.queries.spark, len(self._plan.columns)):
            observed = self.queries.observe_view(RECORDS, sql, metrics)
        return lambda: observed.get

    def _kept(self, txn: NodeTransaction) -> str | None:
        """SQL of the stored rows, if their files no longer fit the columns and must be rewritten."""
        if not txn.rewrites_all:
            return None
        txn.read()
        sql: str = self.macros.lakemerge_kept_rows_sql(txn, txn.partitions.stored)
        return sql

    def _result(self, version: int | None, counts: Mapping[str, int]) -> CommitResult:
        remarks = tuple(self._routing.remarks) if self._routing else ()
        others = self._routing.done if self._routing else {}
        return CommitResult(self.operation, version, counts, remarks, others=others)


class Ingest(RecordDriver):
    """Commits the records that have landed together with how far was read, in one batch or in several.

    The model's trigger decides how many. A batch is redone if another commit came first.
    """

    operation = "ingest"

    def __init__(
        self,
        publisher: Publisher[AppendConfig],
        macros: Macros,
        plan: IngestPlan,
        intake: Intake,
        routing: Routing | None,
        batches: IngestBatches,
        *,
        rebuild: bool,
        committed: Callable[[], None],
    ) -> None:
        """
        Args:
            committed: called after each commit.
        """
        super().__init__(publisher, macros, plan, intake, routing, rebuild=rebuild)
        self._batches = batches
        self._committed = committed
        self._batch = IngestBatch(is_first=True, until=None)
        self._arrivals: Arrivals | TopicArrivals = Arrivals()

    def run(self) -> CommitResult:
        with self._batches, reporting_java_death():
            for batch in self._batches:
                self._batch = batch
                txn, counts = self.publisher.publish(self.operation, self.begin, self.attempt)
                batch.end(txn.version, counts, self._arrivals)
                if self._routing:
                    self._routing.finish()
                if batch.is_first or batch.version is not None:
                    Lifecycle(self).follow()
                    self._committed()
                self.rebuild = False
        return self._result(self._batches.version, self._batches.counts)

    def attempt(self, txn: NodeTransaction) -> Counts:
        if self._routing:
            self._routing.release()
        with self._intake.redone_if_changed(txn):
            arrivals = self._arrivals = self._intake.choose(txn, self._batch)
            counts = {**arrivals.counts, "inserted": 0}
            if arrivals.is_empty and txn.exists and not txn.changes_schema:
                txn.skip()
                return counts
            counts |= self._stage(txn)
        self._intake.record(txn, arrivals)
        txn.commit(counts, rows_after(txn, counts["inserted"]))
        return counts

    def _stage(self, txn: NodeTransaction) -> dict[str, int]:
        """Write the rows of the chosen records, and the rejected ones to quarantine; returns the counts of each.

        Records are checked while their rows are written. Only files that hold rejected records are read again, to find
        the reasons; of these files, only records with the marks of rejected ones are parsed in full.
        """
        plan, macros, kept = self._plan, self.macros, self._kept(txn)
        if not plan.groups:
            if kept:
                txn.stage(macros.lakemerge_accepted_rows_sql(txn, plan, kept), count=False)
            return {"inserted": 0}
        counted = self._read(_MARKED)
        rows_sql = macros.lakemerge_accepted_rows_sql(txn, plan, kept)
        found = txn.stage_records(rows_sql, counted, rewrites=kept is not None)
        counts = {"inserted": found["records"] - found["rejected"]}
        if found["rejected"]:
            counts |= self._stage_rejected(txn, found)
        if self._routing:
            self._routing.stage(txn, found)
        return counts

    def _stage_rejected(self, txn: NodeTransaction, found: Mapping[str, Any]) -> dict[str, int]:
        self._intake.open_rejected(found["bad_files"], found["bad_marks"])
        sql = self.macros.lakemerge_rejected_records_sql(self._plan)
        self._check_rejected(found["records"], found["rejected"], sql)
        if self._plan.options.on_bad_record != "quarantine":
            return {"dropped": found["rejected"]}
        add_to_quarantine(txn, sql, found["rejected"])
        return {"quarantined": found["rejected"]}

    def _check_rejected(self, records: int, rejected: int, sql: str) -> None:
        """Stop if more records are rejected than the model allows.

        Args:
            sql: selects the rejected records as the quarantine has them.

        Raises:
            BadRecords: with samples; nothing was committed.
        """
        allowed = self._plan.options.too_many(rejected, records)
        if not allowed:
            return
        with planned_for_records(self.queries.spark, len(self._plan.columns)):
            samples = self.queries.rows(f"select * from ({sql}) limit {_SAMPLES}")
        shown = "; ".join(
            f"{row['file']}:{row['line']}: {row['reason']}"
            f"{' in ' + row['column_name'] if row['column_name'] else ''} ({row['reason_text']}): {row['record'][:100]}"
            for row in samples
        )
        name = self.publisher.name
        raise BadRecords(
            expected=f"{allowed} in what was read for `{name.schema}`.`{name.name}`",
            found=f"{rejected} of {records}, such as {shown}",
            action="Nothing was committed. Fix the records, relax the model's options, or raise the limit.",
        )


class Replay(RecordDriver):
    """Reads quarantined records again: one commit adds the readable ones as rows and takes them out of quarantine."""

    operation = "replay"

    def __init__(
        self,
        publisher: Publisher[AppendConfig],
        macros: Macros,
        plan: IngestPlan,
        intake: Intake,
        routing: Routing | None,
        where: str,
    ) -> None:
        """
        Args:
            where: SQL over the quarantine's columns that chooses the records to read again.
        """
        super().__init__(publisher, macros, plan, intake, routing)
        self._where = where

    def run(self) -> CommitResult:
        txn, counts = self.publisher.publish(self.operation, self.begin, self.attempt)
        if self._routing:
            self._routing.finish()
        return self._result(txn.version, counts)

    def attempt(self, txn: NodeTransaction) -> Counts:
        if self._routing:
            self._routing.release()
        chosen = self._intake.open_quarantined(txn, self._where)
        counts = self._stage(txn) if chosen else {"inserted": 0}
        if counts["inserted"]:
            txn.commit(counts, rows_after(txn, counts["inserted"]))
        else:
            txn.skip()
        return counts

    def _stage(self, txn: NodeTransaction) -> dict[str, int]:
        """Write the rows of the replayed records, and replace the quarantine by what is left of it."""
        plan, macros, kept = self._plan, self.macros, self._kept(txn)
        counted = self._read(_COUNTED)
        rows_sql = macros.lakemerge_accepted_rows_sql(txn, plan, kept)
        found = txn.stage_records(rows_sql, counted, rewrites=kept is not None)
        if self._routing:
            self._routing.stage(txn, found)
        rejected = found["rejected"]
        if rejected or self.queries.rows(f"select 1 from {UNCHOSEN} limit 1"):
            left = f"{macros.lakemerge_rejected_records_sql(plan)}\nunion all\nselect * from {UNCHOSEN}"
            replace_quarantine(txn, left, rejected)
        else:
            clear_quarantine(txn)
        return {"inserted": found["records"] - rejected, "quarantined": rejected}
