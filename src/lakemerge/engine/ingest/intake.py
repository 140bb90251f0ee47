"""What one run of an ingest reads: files or offsets, their records as views, and what the commit records of them."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import tenacity
from py4j.protocol import Py4JJavaError

from lakemerge.engine.failures import CAUTION
from lakemerge.engine.ingest.batches import IngestBatch
from lakemerge.engine.ingest.held_times import HeldTimes
from lakemerge.engine.ingest.ingest_plan import IngestPlan, RecordGroup
from lakemerge.engine.ingest.record_source import RecordSource
from lakemerge.engine.ingest.topic_source import TopicSource
from lakemerge.engine.publish.node_transaction import NodeTransaction
from lakemerge.engine.publish.quarantine import quarantined
from lakemerge.engine.spark.releases import names_unreadable_files
from lakemerge.errors import FileChanged, UnreadableFile
from lakemerge.ingest import (
    Arrivals,
    FileLedger,
    OffsetLedger,
    ReadFile,
    TopicArrivals,
    TopicRules,
    look,
    look_at_topics,
)
from lakemerge.kernel import FileEntry, FileSystem

if TYPE_CHECKING:
    from lakemerge.engine.spark.handle import SessionHandle


_SHOWN = 3
# This many marks exclude at least 15 in 16 of the other records.
_MOST_MARKS = 4096
#: The view of the quarantined records that a replay leaves where they are.
UNCHOSEN = "lakemerge_unchosen"


class Intake:
    """Finds what has arrived, makes its records readable, and records in the commit what was read."""

    def __init__(self, handle: SessionHandle, plan: IngestPlan) -> None:
        """
        Args:
            plan: how records become rows; gets the files, or offsets, and the views of their records.
        """
        self._handle = handle
        self._plan = plan
        self._files: FileSystem = handle.application.filesystem

    # -- what is read --------------------------------------------------------------------------

    def choose(self, txn: NodeTransaction, batch: IngestBatch) -> Arrivals | TopicArrivals:
        """Find what this attempt at a batch reads, and make its records readable.

        Raises:
            FileChanged: a file changed since it was read and the policy is ``fail``.
            LakemergeError: a topic does not exist, or is not the one that was read before.
        """
        self._set_times(txn)
        rules = self._plan.options.topics
        return self._choose_offsets(txn, rules, batch) if rules else self._choose_files(txn, batch)

    def _set_times(self, txn: NodeTransaction) -> None:
        times = HeldTimes.of(self._handle.spark, self._handle.application.jvm.java, txn.file_format)
        self._plan.options = dataclasses.replace(self._plan.options, times=times)

    def _choose_offsets(self, txn: NodeTransaction, rules: TopicRules, batch: IngestBatch) -> TopicArrivals:
        plan = self._plan
        ledger = OffsetLedger.of(self._files, txn.kernel_transaction, replaced=txn.rebuilds)
        plan.batch = ledger.last_batch + 1
        if self._handle.reads == "none":
            return TopicArrivals(topics=dict(ledger.topics))
        source = self._topic_source(rules)
        states = source.states()
        if batch.until is not None and plan.offsets_until is None:
            plan.offsets_until = {
                name: {number: latest for number, (_, latest) in state.partitions.items()}
                for name, state in states.items()
            }
        arrivals = look_at_topics(rules, ledger, states, plan.offsets_until)
        for lost in arrivals.lost:
            CAUTION.warning(f"Records are lost (failOnDataLoss: false): {lost}")
        plan.ranges = arrivals.chosen
        plan.groups = source.open(plan.ranges) if plan.ranges else ()
        return arrivals

    def _choose_files(self, txn: NodeTransaction, batch: IngestBatch) -> Arrivals:
        plan, until = self._plan, batch.until or int(time.time() * 1000)
        ledger = FileLedger.of(self._files, txn.kernel_transaction, replaced=txn.rebuilds)
        arrivals = Arrivals()
        if self._handle.reads != "none":
            arrivals = _with_retries(lambda: look(self._files, plan.options.landing, ledger, until))
        self._log_changed(arrivals)
        plan.files, plan.batch = arrivals.chosen, ledger.last_batch + 1
        positions = plan.orders or "_line" in plan.options.record_columns
        plan.groups = self._record_source().open(plan.files, positions=positions) if plan.files else ()
        return arrivals

    def _log_changed(self, arrivals: Arrivals) -> None:
        plan = self._plan
        unreported = [entry for entry in arrivals.changed if entry not in plan.reported]
        if not unreported:
            return
        plan.reported.update(unreported)
        names = _some(unreported)
        if plan.options.on_changed_file == "fail":
            raise FileChanged(
                expected="files that do not change after they were read (on_changed_file: fail)",
                found=f"{len(unreported)} that changed since: {names}",
                action="Find out who writes to them. Move them away, or set on_changed_file to `report` or `reread`.",
            )
        verb = "are read again" if plan.options.on_changed_file == "reread" else "are not read again"
        CAUTION.warning(f"{len(unreported)} files changed after they were read and {verb}: {names}")

    # -- rejected and quarantined records ------------------------------------------------------

    def open_rejected(self, bad_files: list[str], bad_marks: list[int]) -> None:
        """Make the records of files, or topic partitions, that hold rejected ones readable again, now with exact lines.

        Args:
            bad_marks: marks of the rejected records; see :attr:`IngestPlan.mark_sql`.
        """
        plan, wanted = self._plan, set(bad_files)
        if plan.options.topics:
            ranges = [item for item in plan.ranges if item.name in wanted]
            groups = self._topic_source(plan.options.topics).open(ranges)
        else:
            entries = [entry for entry in plan.files if entry.path in wanted]
            groups = self._record_source().open(entries, positions=True)
        plan.groups = [self._marked(group, bad_marks) for group in groups]

    def _marked(self, group: RecordGroup, marks: list[int]) -> RecordGroup:
        """The records of a group that have one of these marks; all records if there are many marks or none."""
        if not 0 < len(marks) <= _MOST_MARKS:
            return group
        view = f"{group.view}_marked"
        listed = ", ".join(map(str, marks))
        marked = self._handle.spark.table(group.view).where(f"{self._plan.mark_sql} in ({listed})")
        marked.createOrReplaceTempView(view)
        return dataclasses.replace(group, view=view)

    def open_quarantined(self, txn: NodeTransaction, where: str) -> int:
        """Make the quarantined records that a condition chooses readable, and the others a view (:data:`UNCHOSEN`).

        Returns:
            The number of chosen records.
        """
        self._set_times(txn)
        frame = quarantined(txn)
        chosen = frame.where(f"coalesce({where}, false)")
        frame.where(f"not coalesce({where}, false)").createOrReplaceTempView(UNCHOSEN)
        self._plan.groups = self._record_source().open_quarantined(chosen)
        return int(chosen.count())

    # -- what the commit says ------------------------------------------------------------------

    def record(self, txn: NodeTransaction, arrivals: Arrivals | TopicArrivals) -> None:
        """Record in the commit what was read, if it has not changed since the attempt began.

        Raises:
            CommitConflict: a file was written to meanwhile, a topic was created again, or its records were deleted;
                the next attempt reads the new state, or leaves these records out.
        """
        if isinstance(arrivals, TopicArrivals):
            self._record_offsets(txn, arrivals)
        else:
            self._record_files(txn)

    def _record_offsets(self, txn: NodeTransaction, arrivals: TopicArrivals) -> None:
        rules = self._plan.options.topics
        assert rules is not None, "these arrivals are of topics"
        now = self._topic_source(rules).states() if self._plan.ranges else {}
        for item in self._plan.ranges:
            state = now[item.topic]
            earliest = state.partitions.get(item.partition, (item.end, 0))[0]
            if state.id != arrivals.topics[item.topic].id or earliest > item.start:
                raise txn.overtaken(f"that records of {item.name} went while they were read")
        OffsetLedger.record(self._files, txn.kernel_transaction, arrivals.topics, self._plan.batch)

    @contextmanager
    def redone_if_changed(self, txn: NodeTransaction) -> Iterator[None]:
        """Let a failed attempt be made again if a file that it reads was moved, deleted or written to meanwhile.

        Raises:
            CommitConflict: one was; the next attempt lists the files anew.
            UnreadableFile: one cannot be read to its end.
        """
        from pyspark.errors import PySparkException

        try:
            yield
        except (FileNotFoundError, PySparkException, Py4JJavaError, UnreadableFile) as error:
            self._require_unchanged(txn)
            if isinstance(error, Py4JJavaError) and not names_unreadable_files():
                self._record_source().require_readable(self._plan.files)
            raise

    def _require_unchanged(self, txn: NodeTransaction) -> None:
        files = self._plan.files
        now = {entry.path: entry for entry in _with_retries(lambda: _list_again(self._files, files))}
        changed = [entry for entry in files if now.get(entry.path) != entry]
        if changed:
            raise txn.overtaken(f"that {_some(changed)} was changed, moved or deleted while it was read")

    def _record_files(self, txn: NodeTransaction) -> None:
        plan = self._plan
        self._require_unchanged(txn)
        ledger = FileLedger.of(self._files, txn.kernel_transaction, replaced=txn.rebuilds)
        read = [ReadFile(entry.path, entry.size, entry.modified, plan.batch) for entry in plan.files]
        ledger.record(txn.kernel_transaction, read)

    # -- sources -------------------------------------------------------------------------------

    def _record_source(self) -> RecordSource:
        application = self._handle.application
        return RecordSource(self._handle.spark, application.filesystem, self._plan, application.jvm)

    def _topic_source(self, rules: TopicRules) -> TopicSource:
        return TopicSource(self._handle.spark, self._handle.application.jvm, self._plan, rules)


def _with_retries(action: Any) -> Any:
    """Run an action, and retry it if its failure may be temporary."""
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception(lambda error: bool(getattr(error, "retriable", False))),
        stop=tenacity.stop_after_attempt(4),
        wait=tenacity.wait_random_exponential(multiplier=0.2, max=5),
        reraise=True,
    )
    return retrying(action)


def _list_again(files: FileSystem, entries: Any) -> list[FileEntry]:
    """The same files as they are now, folder by folder."""
    folders = {entry.path.rpartition("/")[0] for entry in entries}
    return [found for folder in sorted(folders) for found in files.list(folder)]


def _some(entries: list[FileEntry]) -> str:
    names = ", ".join(entry.path for entry in entries[:_SHOWN])
    return f"{names} and {len(entries) - _SHOWN} more" if len(entries) > _SHOWN else names
