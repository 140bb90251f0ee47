"""The driver of compactions: plans from the manifest, rewrites rows in lots, commits each lot, and logs it."""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from lakemerge import compaction_thresholds
from lakemerge.engine.failures import failures, text_of
from lakemerge.engine.macros import Macros
from lakemerge.engine.maintenance.compaction_request import Request
from lakemerge.engine.merge_on_read.bounds import BYTES_OF_A_LOT, Bounds
from lakemerge.engine.merge_on_read.deltas import compacts_now
from lakemerge.engine.publish.node_transaction import NodeTransaction
from lakemerge.engine.publish.publisher import Publisher
from lakemerge.engine.relations.sized_text import unsized
from lakemerge.engine.spark.record_planning import overriding
from lakemerge.engine.sql_text import quote
from lakemerge.errors import CommitConflict, RowsDiffer
from lakemerge.kernel import (
    COMPACTION,
    CompactionLog,
    CompactionRecord,
    Group,
    Manifest,
    SmallFiles,
    batches,
    beside,
    group_of,
    groups_to_merge,
    partitions_to_pack,
    still_there,
    within,
)

_LOG = logging.getLogger("lakemerge")

# Seconds between two lines of progress.
_PROGRESS_SECONDS = 20.0


class Compaction:
    """Rewrites rows of one table into fewer or better sorted files. No row changes.

    Each lot of groups is a commit of its own. A group that other commits change first is left out of its commit, and
    tried once more at the end.

    Attributes:
        numbered_by: the last partition column, if it numbers partitions by commit; otherwise empty.
    """

    def __init__(
        self, publisher: Publisher[Any], macros: Macros, request: Request, numbered_by: str = ""
    ) -> None:
        self.publisher = publisher
        self.macros = macros
        self.request = request
        self.numbered_by = numbered_by
        self._log: CompactionLog | None = None
        self._told = time.monotonic()

    # -- the plan ------------------------------------------------------------------------------

    def plan(self, manifest: Manifest) -> list[Group]:
        """What to rewrite of a version, the most useful first, within the limits."""
        request, config = self.request, self.publisher.config
        if request.order.columns:
            request.order.check(self.publisher.name, manifest)
            ordered = self._ordered_already()
            # the smallest first, so that a limit leaves out few
            names = [
                name for name, one in manifest.partitions.items() if one.files and one.location not in ordered
            ]
            found = sorted((group_of(manifest, [name]) for name in names), key=lambda one: one.bytes)
        else:
            target = config.target_file_size
            merged = (
                groups_to_merge(manifest, self.numbered_by, after=request.merge_after, below=target)
                if self.numbered_by
                else []
            )
            rule = SmallFiles(target, request.files, request.surplus)
            found = beside(merged, partitions_to_pack(manifest, rule, request.only))
        return within(self._chosen(found, manifest), request.bounds.max_bytes)

    def planned(self, manifest: Manifest) -> dict[str, int] | None:
        """What :meth:`run` would do, in numbers; ``None`` if that is nothing."""
        groups = self.plan(manifest)
        rule = SmallFiles(self.publisher.config.target_file_size)
        if not groups:
            return None
        return {
            "partitions": sum(len(group.members) for group in groups),
            "files_before": sum(group.files for group in groups),
            "files_after": sum(rule.fitting(group.bytes) for group in groups),
            "bytes_before": sum(group.bytes for group in groups),
        }

    def _chosen(self, groups: list[Group], manifest: Manifest) -> list[Group]:
        """The groups whose partitions all meet the request's condition."""
        names = {name for group in groups for name in group.members}
        bounds, keys = self.request.bounds, manifest.partition_columns
        chosen = bounds.matching(names, keys, self.publisher.queries)
        return [group for group in groups if chosen.issuperset(group.members)]

    def _ordered_already(self) -> frozenset[str]:
        """The places of partitions that earlier runs, by the log, ordered in this way. A change moves a partition."""
        order = self.request.order
        txns = {
            txn
            for record in self.log.records()
            if record.action == order.action and record.order == order.columns
            for txn in record.txns
        }
        manifest = self.publisher.kernel.settled(self.publisher.name)[1]
        return frozenset(
            one.location
            for one in manifest.partitions.values()
            if any(f"/data/{txn}" in f"/{one.location}" for txn in txns)
        )

    # -- the run -------------------------------------------------------------------------------

    def run(self) -> CompactionRecord | None:
        """Do what the table needs; ``None`` if that is nothing.

        Raises:
            LakemergeError, PySparkException: it failed; its earlier commits stand, and the log says so.
        """
        if self.request.reason == "operation":
            # the files that other programs have added are those that need compaction most
            self.publisher.kernel.commit_external_changes(self.publisher.name, None)
        base = self.publisher.kernel.settled(self.publisher.name)[1]
        groups = self.plan(base)
        if not groups:
            return None
        order = self.request.order
        record = self.log.request(order.action, self.request.reason, order.columns)
        try:
            record = self.log.begin(record, groups=len(groups))
            record, left = self._lots(record, base, groups)
            if left:  # others were at work there; by now they may be done
                now = self.publisher.kernel.settled(self.publisher.name)[1]
                wanted = set(left)
                again = [group for group in self.plan(now) if wanted.issuperset(group.members)]
                record, left = self._lots(record, now, again)
        except BaseException as error:
            self.log.end(self._latest, f"{type(error).__name__}: {error}"[:2000])
            raise
        record = self.log.end(dataclasses.replace(record, left=len(left)))
        self.publisher.refresh()
        return record

    def _lots(
        self, record: CompactionRecord, base: Manifest, groups: Sequence[Group]
    ) -> tuple[CompactionRecord, list[str]]:
        """Commit groups in lots; returns the partitions that others were first to change."""
        left: list[str] = []
        self._latest = record
        for lot in batches(groups, BYTES_OF_A_LOT):
            txn = self.publisher.begin_move(COMPACTION)
            assert txn.base is not None
            groups = still_there(lot, base, txn.base)
            left += sorted(_members(lot) - _members(groups))
            if not groups:
                txn.abort()
                continue
            txns = (*self._latest.txns, txn.kernel_transaction.txn)
            self._latest = self.log.write(dataclasses.replace(self._latest, txns=txns))
            try:
                rows = self._commit(txn, groups)
            except CommitConflict:
                txn.abort()
                left += sorted(_members(groups))
                continue
            left += sorted(_left_out(txn))
            self._latest = self.log.write(_advanced(self._latest, txn, groups, rows))
            self._tell(self._latest)
        return self._latest, left

    def _commit(self, txn: NodeTransaction, groups: Sequence[Group]) -> int:
        """Rewrite the rows of groups' partitions in place, and publish.

        Groups that others change first are left out.

        Returns:
            The number of rows that were written.

        Raises:
            CommitConflict: others were first to change all of them; nothing was published.
            RowsDiffer: the files do not have the rows that were read; nothing was published.
        """
        assert txn.base is not None
        members = sorted(_members(groups))
        order, macros = self.request.order, self.macros
        sql = (
            macros.lakemerge_packed_rows_sql(txn, groups)
            if not order.columns
            else macros.lakemerge_ordered_rows_sql(txn, order, self.parts(txn, groups))
        )
        with packing(self.publisher.spark, self.publisher.config.target_file_size):
            txn.read(members)
            txn.kernel_transaction.move_in_units(group.unit for group in groups)
            rows = txn.stage(sql, members)
            _require_staged(txn, rows)
            # the rows are the same, so that all that was known of them still holds
            txn.commit({}, txn.base.properties)
        return rows

    def parts(self, txn: NodeTransaction, groups: Sequence[Group]) -> list[dict[str, Any]]:
        """For an ordered compaction: each group's condition, and the number of files that it gets."""
        rule = SmallFiles(self.publisher.config.target_file_size)
        return [
            {
                "condition": txn.partitions.filter(group.members, exact=True),
                "files": rule.fitting(group.bytes),
            }
            for group in groups
        ]

    @property
    def log(self) -> CompactionLog:
        if self._log is None:
            self._log = CompactionLog(self.publisher.kernel, self.publisher.name)
        return self._log

    def _tell(self, record: CompactionRecord) -> None:
        """Log a line of progress from time to time."""
        now = time.monotonic()
        if now - self._told >= _PROGRESS_SECONDS:
            self._told = now
            _LOG.info(
                f"{self.publisher.name}: {record.done} of {record.groups} parts compacted "
                f"({record.bytes_before:,} bytes, {record.files_before} files became {record.files_after})"
            )


def _members(groups: Iterable[Group]) -> set[str]:
    return {name for group in groups for name in group.members}


def _left_out(txn: NodeTransaction) -> set[str]:
    """The partitions that a compaction left as they are, because others changed them first."""
    return {name for unit in txn.kernel_transaction.left_out for name in unit.partitions}


def _require_staged(txn: NodeTransaction, rows: int) -> None:
    """Count the rows in the files that were written, by their footers. Raises RowsDiffer."""
    column = txn.plan.data[0]
    schema = f"{quote(column.name)} {unsized(column.type)}"
    files = txn.spark.read.schema(schema).format(txn.file_format)
    found = files.load(txn.kernel_transaction.stage_directory).count()
    if found != rows:
        raise RowsDiffer(
            expected=f"{rows} rows in the new files of {txn.table}, as many as were read",
            found=f"{found}",
            action="Nothing was published. Run it again; if it happens again, report it with the table's columns.",
        )


def _advanced(
    record: CompactionRecord, txn: NodeTransaction, groups: Sequence[Group], rows: int
) -> CompactionRecord:
    """A record after one more commit."""
    made, gone = txn.made, _left_out(txn)
    assert made is not None
    kept = [group for group in groups if gone.isdisjoint(group.members)]
    after = [made.partitions[group.target] for group in kept if group.target in made.partitions]
    return dataclasses.replace(
        record,
        versions=(*record.versions, made.version),
        done=record.done + len(kept),
        files_before=record.files_before + sum(group.files for group in kept),
        bytes_before=record.bytes_before + sum(group.bytes for group in kept),
        files_after=record.files_after + sum(one.files for one in after),
        bytes_after=record.bytes_after + sum(one.bytes for one in after),
        rows=record.rows + rows,
    )


@contextmanager
def packing(spark: Any, target: int) -> Iterator[None]:
    """Let a scan pack the files that it reads into tasks of the target's bytes, and each task write one file.

    So rows are neither shuffled nor sorted: each branch of the query reads one group alone, so its tasks meet one
    partition.
    """
    settings = {
        "spark.sql.files.maxPartitionBytes": f"{target}b",
        "spark.sql.files.openCostInBytes": "0b",
        "spark.sql.files.minPartitionNum": "1",
        # a writer for each partition that a task meets, in the place of a sort by partition
        "spark.sql.maxConcurrentOutputFileWriters": "1",
    }
    with overriding(spark, settings):
        yield


def compact_after_commit(publisher: Publisher[Any], macros: Macros) -> None:
    """Compact what the last commit has left, where thresholds say so.

    To decide, this looks only at the committed version, without a call to the metastore or the storage. It packs only
    partitions that the commit wrote, so it costs no more than a part of the commit itself. The model's rows are
    published by then: a failure is a warning, and a later commit tries again.
    """
    config, made = publisher.config, publisher.committed
    if made is None or not compacts_now(config, macros):
        return
    request = Request(
        "threshold",
        Bounds(max_bytes=config.compact_max_bytes),
        merge_after=compaction_thresholds.PARTITIONS,
        files=compaction_thresholds.FILES,
        surplus=compaction_thresholds.SURPLUS,
        only=frozenset(made.written),
    )
    compaction = Compaction(publisher, macros, request, config.new_commit_column)
    try:
        needed = compaction.plan(made)
        record = compaction.run() if needed else None
    except failures() as error:
        _LOG.warning(
            "%s: its small files were not merged; a later commit tries again: %s",
            publisher.name,
            text_of(error),
        )
        return
    if record is not None:
        _LOG.debug(f"{publisher.name}: {record.files_before} files became {record.files_after}")
