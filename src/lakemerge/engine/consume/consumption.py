"""What one run of a model consumes: it is taken before the query runs and committed with the rows."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lakemerge import errors
from lakemerge.consumer import Batch, Consumer, Filter, Item, Run, SourceSnapshot, record
from lakemerge.engine.consume.change_frames import changes_of
from lakemerge.engine.consume.consume_options import ConsumeConfig
from lakemerge.engine.consume.partition_frames import frame_of, matching
from lakemerge.engine.macros import Macros
from lakemerge.engine.sql_text import qualified
from lakemerge.kernel import Kernel, TableName, Transaction

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LOG = logging.getLogger("lakemerge")

# Errors that are not the partitions' fault.
_NOT_THE_PARTITIONS_FAULT = (
    errors.MetastoreError,
    errors.StorageError,
    errors.CommitConflict,
    errors.CommitsExhausted,
    errors.CommitUnfinished,
    errors.ClaimHeld,
    errors.ConsumerFenced,
    errors.ConsumerExpired,
    errors.SourceChanged,
    errors.VersionChanged,
    errors.VersionVacuumed,
    errors.InvalidConfig,
    errors.SparkNotStarted,
    KeyboardInterrupt,
)


@dataclass(frozen=True)
class Request:
    """One use of ``consume`` or ``consume_changes`` in a model.

    Attributes:
        view: the temporary view that stands for the partitions, or the changes, in the model's query.
        macros: the model's.
    """

    view: str
    source: TableName
    config: ConsumeConfig
    macros: Macros = field(compare=False)


@dataclass
class NodeConsumption:
    """What one node consumes.

    Attributes:
        requests: what its model asked for.
        taken: the batches that were taken for them; ``None`` before the node's first turn.
    """

    requests: list[Request] = field(default_factory=list)
    taken: Consumption | None = None


class Consumption:
    """What a commit of a run is to process, taken by the model's uses of ``consume`` and ``consume_changes``."""

    def __init__(self, spark: SparkSession, kernel: Kernel, output: TableName) -> None:
        self._spark = spark
        self._kernel = kernel
        self._output = output
        self._batches: list[Batch] = []
        self._over = True

    def consumer(self, source: TableName, config: ConsumeConfig) -> Consumer:
        """The consumer of one use of ``consume``."""
        return Consumer(
            self._kernel,
            source,
            config.consumer,
            self._output,
            config.options,
            wanted=self._filter(config.options.where),
            ready=self._filter(config.ready),
        )

    def _filter(self, predicate: str) -> Filter:
        def apply(snapshot: SourceSnapshot, items: Sequence[Item]) -> Sequence[Item]:
            return matching(self._spark, snapshot, items, predicate)

        return apply

    def run(self, requests: Sequence[Request], *, rebuild: bool, once: bool) -> Run:
        """The batches of one run; see :class:`Run`."""
        consumers = [self.consumer(request.source, request.config) for request in requests]
        return Run(consumers, rebuild=rebuild, once=once)

    def open(self, requests: Sequence[Request], batches: Sequence[Batch]) -> None:
        """Make the requests' views show the rows of these batches, which the next commit processes."""
        self._batches, self._over = list(batches), False
        for request, batch in zip(requests, batches, strict=True):
            of_files = request.config.options.on_rewrite == "append_only" or not batch.snapshot.file_format
            if of_files and not request.config.changes:
                self._spark.catalog.refreshTable(qualified(request.source))
            self._frame(request, batch).createOrReplaceTempView(request.view)
            taken, apart = len(batch.items), batch.spent.items > 0 and not request.config.changes
            what = "versions" if request.config.changes else "partitions"
            _LOG.info(
                f"{request.config.consumer}: {taken} of {taken + batch.left.available} available {what} "
                f"of {request.source}{', retried separately from new ones' if apart else ''}"
            )

    def preview(self, request: Request) -> DataFrame:
        """What a run would take now, without taking it."""
        return self._frame(request, self.consumer(request.source, request.config).preview())

    def _frame(self, request: Request, batch: Batch) -> DataFrame:
        shown = request.config.changes
        if shown is not None:
            return changes_of(self._spark, request.macros, batch, shown)
        return frame_of(self._spark, request.source, batch)

    @property
    def has_items(self) -> bool:
        """Whether there is anything whose processing is to be committed."""
        return any(batch.items for batch in self._batches)

    def record(self, transaction: Transaction) -> None:
        """Make the processing of the taken partitions part of this transaction's commit."""
        record(self._kernel, transaction, self._batches)

    def succeed(self) -> None:
        """Record that the commit succeeded."""
        self._over = True
        for batch in self._batches:
            batch.succeed()

    def release(self, error: BaseException | None) -> None:
        """Give back what was taken, unless it is committed.

        Args:
            error: why the run ended, if known.
        """
        if self._over:
            return
        self._over = True
        causes = (error, error.__cause__ if error is not None else None)  # dbt's error has ours for its cause
        blame = not any(isinstance(one, _NOT_THE_PARTITIONS_FAULT) for one in causes)
        reason = str(error) if error is not None else "the run ended before its commit; see dbt's log"
        for batch in self._batches:
            batch.fail(reason[:1000], blame=blame)
