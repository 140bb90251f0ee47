"""The adapter's methods for ingest: which files are read, what became of them, and quarantined records."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import tenacity
from dbt.adapters.base import available
from dbt.adapters.base.meta import AdapterMeta
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.lakemerge.ingest.batches import IngestBatch, IngestBatches
from dbt.adapters.lakemerge.ingest.held_times import HeldTimes
from dbt.adapters.lakemerge.ingest.options import IngestOptions, split_pattern
from dbt.adapters.lakemerge.ingest.plan import IngestPlan, RecordGroup
from dbt.adapters.lakemerge.ingest.record_source import RecordSource
from dbt.adapters.lakemerge.ingest.record_types import record_columns
from dbt.adapters.lakemerge.ingest.topic_source import TopicSource
from dbt.adapters.lakemerge.options.write import WriteConfig
from dbt.adapters.lakemerge.publish.commit_methods import FEED, CommitResponse
from dbt.adapters.lakemerge.publish.node_transaction import NodeTransaction
from dbt.adapters.lakemerge.relation import LakemergeRelation
from dbt.adapters.lakemerge.relations.table_schema import literal
from dbt.adapters.lakemerge.spark.record_planning import planned_for_records
from dbt.adapters.lakemerge.spark.statements import SparkStatementError
from dbt_common.exceptions import CompilationError, DbtRuntimeError

from lakemerge.errors import BadRecords, FileChanged, InvalidConfig, LakemergeError
from lakemerge.ingest import (
    Arrivals,
    FileLedger,
    OffsetLedger,
    ReadFile,
    TopicArrivals,
    TopicRules,
    continuous,
    look,
    look_at_topics,
)
from lakemerge.kernel import SIDE_TABLES, FileEntry, FileSystem, SideTables

if TYPE_CHECKING:
    from dbt.adapters.lakemerge.spark.handle import SessionHandle

logger = AdapterLogger("Lakemerge")

_SAMPLES = 5
_SHOWN = 3
# So many marks leave at least 15 in 16 of the other records out.
_MOST_MARKS = 4096
# What is counted of a source.
_UNITS = ("files", "offsets")


@dataclass
class IngestResponse(CommitResponse):
    """What an ingest did, in dbt's result line and in ``run_results.json``.

    Attributes:
        quarantined, dropped: rejected records by what became of them.
        files: how many were read.
        offsets: of topics, how many were read.
        backlog: files, or offsets, that a later run reads, for this one was limited.
        changed: files that were changed after they had been read.
    """

    quarantined: int = 0
    dropped: int = 0
    files: int = 0
    offsets: int = 0
    backlog: int = 0
    changed: int = 0


class IngestMethods(metaclass=AdapterMeta):
    """A mixin of the adapter; see the materialization `ingest` for its use."""

    if TYPE_CHECKING:
        connections: Any

        @property
        def handle(self) -> SessionHandle: ...

        def enforced_checks(self, model: Mapping[str, Any]) -> dict[str, str]: ...

    # -- the plan ------------------------------------------------------------------------------

    @available
    def split_pattern(self, delimiter: str) -> str:
        """A SQL string of the regular expression that matches just this delimiter."""
        return literal(split_pattern(delimiter))

    @available.parse_none
    def ingest_config(self, model: Mapping[str, Any]) -> WriteConfig:
        """The options about writing of a model whose commits are partitions of their own."""
        given = dict(model["config"])
        wrong = [name for name in ("append_layout", "unique_key", "incremental_strategy") if given.get(name)]
        try:
            if wrong:
                raise InvalidConfig(
                    expected="an ingest model without options of incremental models",
                    found=", ".join(wrong),
                    action="An ingest appends. Merge its rows by an incremental model that reads it.",
                )
            if given.get("on_schema_change") in (None, "ignore"):
                given["on_schema_change"] = "append_new_columns"
            return WriteConfig.of({**given, "append_layout": "commit_partitioned"}, "append")
        except LakemergeError as error:
            raise CompilationError(str(error)) from error

    @available.parse_none
    def ingest_plan(self, model: Mapping[str, Any]) -> IngestPlan:
        """How the model's records become rows, and an empty feed of the table's columns.

        Raises:
            CompilationError: options or columns are wrong; the message names all that are.
        """
        if (model.get("compiled_code") or "").strip():
            raise CompilationError(
                "Expected an ingest model without a query, for its rows are records of files or topics; found one. "
                "Leave only the config in it, and put the query in a model that reads it."
            )
        with self.connections.exception_handler("read the types of the columns"):
            try:
                options = IngestOptions.of(model["config"])
                columns = record_columns(model, options)
                self._check_pattern(options, columns)
            except LakemergeError as error:
                raise CompilationError(str(error)) from error
        from pyspark.sql.types import StructType

        schema = StructType([column.spark_field for column in columns])
        self.handle.spark.createDataFrame([], schema).createOrReplaceTempView(FEED)
        return IngestPlan(options, columns, self.enforced_checks(model))

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
                expected=f"a regular expression of Java's with a group for each of the {expected} columns",
                found=f"{options.pattern!r}: {found}",
                action="Correct `pattern`; a group that gives no column is written (?:…).",
            )

    # -- files and topics ----------------------------------------------------------------------

    @available.parse_none
    def ingest_batches(self, relation: LakemergeRelation, plan: IngestPlan) -> IngestBatches:
        """The batches of this run, one after another."""
        table = f"{relation.schema}.{relation.identifier}"
        return IngestBatches(table, plan.options, self.handle, continuous.current())

    @available.parse_none
    def choose_arrivals(
        self, transaction: NodeTransaction, plan: IngestPlan, batch: IngestBatch
    ) -> Arrivals | TopicArrivals:
        """Find what this attempt at a batch reads, and make its records readable.

        Raises:
            DbtRuntimeError: a file was changed since it was read and the policy is ``fail``; a topic is not there, or
                not what was read before.
        """
        self._set_times(transaction, plan)
        if plan.options.topics:
            return self._choose_offsets(transaction, plan, plan.options.topics, batch)
        return self._choose_files(transaction, plan, batch)

    def _set_times(self, transaction: NodeTransaction, plan: IngestPlan) -> None:
        handle = self.handle
        times = HeldTimes.of(handle.spark, handle.application.jvm.java, transaction.file_format)
        plan.options = dataclasses.replace(plan.options, times=times)

    def _choose_offsets(
        self, transaction: NodeTransaction, plan: IngestPlan, rules: TopicRules, batch: IngestBatch
    ) -> TopicArrivals:
        with self.connections.exception_handler("look at the topics"):
            files = self.handle.application.filesystem
            ledger = OffsetLedger.of(files, transaction.kernel_transaction, replaced=transaction.rebuilds)
            source = self._topic_source(plan, rules)
            states = source.states()
            if batch.until is not None and plan.offsets_until is None:
                plan.offsets_until = {
                    name: {number: latest for number, (_, latest) in state.partitions.items()}
                    for name, state in states.items()
                }
            arrivals = look_at_topics(rules, ledger, states, plan.offsets_until)
            for lost in arrivals.lost:
                logger.warning(f"Records are lost (failOnDataLoss: false): {lost}")
            plan.ranges, plan.batch = arrivals.chosen, ledger.last_batch + 1
            plan.groups = source.open(plan.ranges) if plan.ranges else ()
            return arrivals

    def _record_source(self, plan: IngestPlan) -> RecordSource:
        application = self.handle.application
        return RecordSource(self.handle.spark, application.filesystem, plan, application.jvm)

    def _topic_source(self, plan: IngestPlan, rules: TopicRules) -> TopicSource:
        return TopicSource(self.handle.spark, self.handle.application.jvm, plan, rules)

    def _choose_files(self, transaction: NodeTransaction, plan: IngestPlan, batch: IngestBatch) -> Arrivals:
        with self.connections.exception_handler("look for landed files"):
            files: FileSystem = self.handle.application.filesystem
            ledger = FileLedger.of(files, transaction.kernel_transaction, replaced=transaction.rebuilds)
            arrivals: Arrivals = _with_retries(
                lambda: look(files, plan.options.landing, ledger, batch.until or int(time.time() * 1000))
            )
            self._tell_changed(plan, arrivals)
            plan.files, plan.batch = arrivals.chosen, ledger.last_batch + 1
            positions = "_line" in plan.options.record_columns
            plan.groups = (
                self._record_source(plan).open(plan.files, positions=positions) if plan.files else ()
            )
            return arrivals

    def _tell_changed(self, plan: IngestPlan, arrivals: Arrivals) -> None:
        options = plan.options
        unreported = [entry for entry in arrivals.changed if entry not in plan.reported]
        if not unreported:
            return
        plan.reported.update(unreported)
        names = _some(unreported)
        if options.on_changed_file == "fail":
            raise FileChanged(
                expected="files that stay as they were when they were read (on_changed_file: fail)",
                found=f"{len(unreported)} that were changed since: {names}",
                action="Find out who writes to them. Move them away, or set on_changed_file to `report` or `reread`.",
            )
        verb = "are read again" if options.on_changed_file == "reread" else "are not read again"
        logger.warning(f"{len(unreported)} files were changed since they were read and {verb}: {names}")

    @available.parse_none
    def open_rejected(self, plan: IngestPlan, bad_files: list[str], bad_marks: list[int]) -> None:
        """Make the records of files, or partitions, that hold rejected ones readable again, now with exact lines.

        Args:
            bad_marks: those of the rejected records; see :attr:`IngestPlan.mark_sql`.
        """
        with self.connections.exception_handler("read rejected records"):
            wanted = set(bad_files)
            if plan.options.topics:
                ranges = [item for item in plan.ranges if item.name in wanted]
                groups = self._topic_source(plan, plan.options.topics).open(ranges)
            else:
                entries = [entry for entry in plan.files if entry.path in wanted]
                source = self._record_source(plan)
                groups = source.open(entries, positions=True)
            plan.groups = [self._marked(plan, group, bad_marks) for group in groups]

    def _marked(self, plan: IngestPlan, group: RecordGroup, marks: list[int]) -> RecordGroup:
        """The records of a group that have one of these marks; all where they are many, or none has."""
        if not 0 < len(marks) <= _MOST_MARKS:
            return group
        view = f"{group.view}_marked"
        listed = ", ".join(map(str, marks))
        marked = self.handle.spark.table(group.view).where(f"{plan.mark_sql} in ({listed})")
        marked.createOrReplaceTempView(view)
        return dataclasses.replace(group, view=view)

    @available.parse_none
    def record_arrivals(
        self, transaction: NodeTransaction, plan: IngestPlan, arrivals: Arrivals | TopicArrivals
    ) -> None:
        """Put what was read into the commit, if it is still what it was when the attempt began.

        A file that was written to meanwhile ends this attempt, and so does a topic that was made anew or whose records
        went; the next one finds it as it is then, or leaves it.
        """
        if transaction.conflict is not None:
            return
        with self.connections.exception_handler("record what was read"):
            if isinstance(arrivals, TopicArrivals):
                self._record_offsets(transaction, plan, arrivals)
            else:
                self._record_files(transaction, plan)

    def _record_offsets(
        self, transaction: NodeTransaction, plan: IngestPlan, arrivals: TopicArrivals
    ) -> None:
        rules = plan.options.topics
        assert rules is not None, "these arrivals are of topics"
        now = self._topic_source(plan, rules).states()
        for item in plan.ranges:
            state = now[item.topic]
            earliest = state.partitions.get(item.partition, (item.end, 0))[0]
            if state.id != arrivals.topics[item.topic].id or earliest > item.start:
                transaction.overtaken(f"that records of {item.name} went while they were read")
                return
        files = self.handle.application.filesystem
        OffsetLedger.record(files, transaction.kernel_transaction, arrivals.topics, plan.batch)

    def _record_files(self, transaction: NodeTransaction, plan: IngestPlan) -> None:
        files: FileSystem = self.handle.application.filesystem
        now = {entry.path: entry for entry in _with_retries(lambda: _look_again(files, plan.files))}
        moved = [entry for entry in plan.files if now.get(entry.path) != entry]
        if moved:
            transaction.overtaken(f"that {_some(moved)} was changed while it was read")
            return
        kernel_transaction = transaction.kernel_transaction
        ledger = FileLedger.of(files, kernel_transaction, replaced=transaction.rebuilds)
        read = [ReadFile(entry.path, entry.size, entry.modified, plan.batch) for entry in plan.files]
        ledger.record(kernel_transaction, read)

    # -- bad records ---------------------------------------------------------------------------

    @available.parse_none
    def check_rejected(
        self, relation: LakemergeRelation, plan: IngestPlan, records: int, rejected: int, sql: str
    ) -> None:
        """Stop where more records are rejected than the model allows.

        Args:
            sql: gives the rejected records, as the quarantine has them.

        Raises:
            DbtRuntimeError: BadRecords, with samples; nothing was committed.
        """
        allowed = plan.options.too_many(rejected, records)
        if not allowed:
            return
        spark = self.handle.spark
        with self.connections.exception_handler(sql), planned_for_records(spark, len(plan.columns)):
            samples = spark.sql(sql).limit(_SAMPLES).collect()
        shown = "; ".join(
            f"{row['file']}:{row['line']}: {row['reason']}"
            f"{' in ' + row['column_name'] if row['column_name'] else ''} ({row['reason_text']}): {row['record'][:100]}"
            for row in samples
        )
        error = BadRecords(
            expected=f"{allowed} in what was read for {relation.render()}",
            found=f"{rejected} of {records}, such as {shown}",
            action="Nothing was committed. Mend the records, relax the model's options, or raise the limit.",
        )
        raise DbtRuntimeError(f"BadRecords: {error}")

    @available.parse_none
    def check_quarantine(self, relation: LakemergeRelation) -> None:
        """Make sure that the quarantine's name is free, or its own. Raises DbtRuntimeError."""
        name = relation.table_name
        with self.connections.exception_handler(f"look for the quarantine of {name}"):
            SideTables(self.handle.application.metastore, self.handle.application.filesystem).check(name)

    @available.parse_none
    def quarantine_of(self, relation: LakemergeRelation) -> LakemergeRelation | None:
        """The table of a relation's rejected records; ``None`` where there never was one."""
        main = relation.table_name
        name = SIDE_TABLES["quarantine"].name_of(main)
        with self.connections.exception_handler(f"look for {name}"):
            if self.handle.application.metastore.get_table(name) is None:
                return None
        quarantine: LakemergeRelation = relation.incorporate(path={"identifier": name.name}, type="table")
        return quarantine

    @available.parse_none
    def create_view_once(self, sql: str) -> None:
        """Run a statement that makes a view, which another run may make at the same moment.

        Spark looks whether there is one and then makes it; `create or replace` and `if not exists` do so too.
        """
        try:
            self.connections.execute(sql)
        except SparkStatementError as error:
            if error.condition != "TABLE_OR_VIEW_ALREADY_EXISTS":
                raise

    @available.parse_none
    def open_quarantined(self, transaction: NodeTransaction, plan: IngestPlan, where: str) -> int:
        """Make the quarantined records that a condition chooses readable, and the others a view.

        Returns:
            How many are chosen.
        """
        self._set_times(transaction, plan)
        with self.connections.exception_handler(where):
            frame = transaction.quarantined()
            chosen = frame.where(f"coalesce({where}, false)")
            frame.where(f"not coalesce({where}, false)").createOrReplaceTempView("lakemerge_unchosen")
            source = self._record_source(plan)
            plan.groups = source.open_quarantined(chosen)
            return int(chosen.count())

    @available.parse_none
    def ingest_response(
        self, operation: str, done: NodeTransaction | IngestBatches, counts: Mapping[str, int]
    ) -> IngestResponse:
        """The response for dbt's result line, of one commit or of all those of a run."""
        counted = {key: int(value) for key, value in counts.items()}
        shown = [f"{counted.get('inserted', 0)} inserted"]
        shown += [
            f"{count} {key}" for key, count in counted.items() if count and key not in ("inserted", *_UNITS)
        ]
        shown.append(next((f"{counted[unit]} {unit}" for unit in _UNITS if unit in counted), "replayed"))
        where = "nothing to write" if done.version is None else f"version {done.version}"
        return IngestResponse(
            _message=f"{operation.upper()} ({', '.join([*shown, where])})",
            code=operation.upper(),
            rows_affected=counted.get("inserted", 0),
            version=done.version or 0,
            inserted=counted.get("inserted", 0),
            quarantined=counted.get("quarantined", 0),
            dropped=counted.get("dropped", 0),
            files=counted.get("files", 0),
            offsets=counted.get("offsets", 0),
            backlog=counted.get("backlog", 0),
            changed=counted.get("changed", 0),
        )


def _with_retries(action: Any) -> Any:
    """Do again what failed for a cause that may pass."""
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception(lambda error: bool(getattr(error, "retriable", False))),
        stop=tenacity.stop_after_attempt(4),
        wait=tenacity.wait_random_exponential(multiplier=0.2, max=5),
        reraise=True,
    )
    return retrying(action)


def _look_again(files: FileSystem, entries: Any) -> list[FileEntry]:
    """The same files as they are now, folder by folder."""
    folders = {entry.path.rpartition("/")[0] for entry in entries}
    return [found for folder in sorted(folders) for found in files.list(folder)]


def _some(entries: list[FileEntry]) -> str:
    names = ", ".join(entry.path for entry in entries[:_SHOWN])
    return f"{names} and {len(entries) - _SHOWN} more" if len(entries) > _SHOWN else names
