"""The batches of one ingest run: one, as many as all that had landed needs, or one after another until stopped."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from lakemerge.engine.ingest.ingest_options import IngestOptions
from lakemerge.ingest import Arrivals, TopicArrivals
from lakemerge.ingest.continuous import BatchReport, Continuous

if TYPE_CHECKING:
    from lakemerge.engine.spark.handle import SessionHandle

# These are summed over a run; for what is left to read and what changed, the last batch counts.
_SUMS = ("inserted", "quarantined", "dropped", "files", "offsets")


class IngestBatch:
    """One batch: what is read and committed together.

    Attributes:
        is_first: whether it is the run's first.
        until: files that landed later are left to another run; in milliseconds since 1970, ``None`` for no limit.
        version: the version that it committed; ``None`` if there was nothing to write.
        counts: those of its last attempt.
        arrivals: what that attempt found.
    """

    def __init__(self, *, is_first: bool, until: int | None) -> None:
        self.is_first = is_first
        self.until = until
        self.version: int | None = None
        self.counts: Mapping[str, int] = {}
        self.arrivals: Arrivals | TopicArrivals = Arrivals()

    def end(self, version: int | None, counts: Mapping[str, int], arrivals: Arrivals | TopicArrivals) -> None:
        """Record what the last attempt at this batch did."""
        self.version, self.counts, self.arrivals = version, dict(counts), arrivals


class IngestBatches:
    """A run's batches, to be iterated within a ``with``.

    Attributes:
        version: the last version that the run committed; ``None`` for none.
        counts: summed over all batches; `backlog` and `changed` are those of the last one.
    """

    def __init__(
        self, table: str, options: IngestOptions, handle: SessionHandle, continuous: Continuous | None
    ) -> None:
        """
        Args:
            table: ``schema.table``.
            continuous: the continuous run that this is a part of.
        """
        self._table = table
        self._options = options
        self._handle = handle
        self._continuous = continuous
        self.version: int | None = None
        self.counts: dict[str, int] = {}

    @property
    def _is_endless(self) -> bool:
        return self._continuous is not None and self._options.trigger != "available_now"

    def __iter__(self) -> Iterator[IngestBatch]:
        is_bounded = self._options.trigger != "once" and not self._is_endless
        until = int(time.time() * 1000) if is_bounded else None
        for number in itertools.count():
            started = time.monotonic()
            self._handle.raise_if_cancelled()
            batch = IngestBatch(is_first=number == 0, until=until)
            held = self._handle.held
            yield batch
            # a run may have any number of batches: none of them may leave anything in memory
            self._handle.release(held)
            self._add(batch)
            if batch.version is not None and self._continuous is not None:
                self._continuous.report(self._report(batch, time.monotonic() - started))
            if not self._continues(batch, started):
                break

    def __enter__(self) -> IngestBatches:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Report the error that ended this run to the continuous run."""
        if error is not None and self._continuous is not None:
            self._continuous.fail(error)

    def _continues(self, batch: IngestBatch, started: float) -> bool:
        """Whether another batch follows; waits until it is due."""
        continuous = self._continuous
        if continuous is not None and continuous.is_stopped:
            return False
        if batch.arrivals.backlog:
            return self._is_endless or self._options.trigger != "once"
        if continuous is None or not self._is_endless:
            return False
        due = started + self._options.trigger_interval.total_seconds()
        while (left := due - time.monotonic()) > 0:
            # how often to check whether dbt has cancelled this run because another model failed
            if continuous.wait(min(left, 1)):
                return False
            self._handle.raise_if_cancelled()
        return not continuous.is_stopped

    def _add(self, batch: IngestBatch) -> None:
        for name, count in batch.counts.items():
            self.counts[name] = count + (self.counts.get(name, 0) if name in _SUMS else 0)
        self.version = self.version if batch.version is None else batch.version

    def _report(self, batch: IngestBatch, seconds: float) -> BatchReport:
        arrivals, counts = batch.arrivals, batch.counts
        return BatchReport(
            table=self._table,
            version=batch.version or 0,
            inserted=int(counts.get("inserted", 0)),
            quarantined=int(counts.get("quarantined", 0)),
            dropped=int(counts.get("dropped", 0)),
            read=arrivals.read,
            behind=arrivals.behind,
            seconds=seconds,
        )
