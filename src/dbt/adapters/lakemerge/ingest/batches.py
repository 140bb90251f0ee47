"""The batches of one run of an ingest: one, those of all that had landed, or one after another until told to stop."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from dbt.adapters.lakemerge.ingest.options import IngestOptions

from lakemerge.ingest import Arrivals, TopicArrivals
from lakemerge.ingest.continuous import BatchReport, Continuous

if TYPE_CHECKING:
    from dbt.adapters.lakemerge.spark.handle import SessionHandle

# A run has read so much; of what is still to be read and of what was changed, its last batch knows best.
_SUMS = ("inserted", "quarantined", "dropped", "files", "offsets")


class IngestBatch:
    """One batch: what is read and committed together.

    Attributes:
        is_first: whether it is the run's first.
        until: what landed later is for another run, milliseconds since 1970; ``None`` for no such time.
        version: the version that it made; ``None`` if there was nothing to write.
        counts: what its last attempt has counted.
        arrivals: what that attempt has found.
    """

    def __init__(self, *, is_first: bool, until: int | None) -> None:
        self.is_first = is_first
        self.until = until
        self.version: int | None = None
        self.counts: Mapping[str, int] = {}
        self.arrivals: Arrivals | TopicArrivals = Arrivals()

    def end(self, version: int | None, counts: Mapping[str, int], arrivals: Arrivals | TopicArrivals) -> None:
        """Say what the last attempt at this batch did."""
        self.version, self.counts, self.arrivals = version, dict(counts), arrivals


class IngestBatches:
    """A run's batches, to be gone through within a ``with``.

    Attributes:
        version: the last version that the run has made; ``None`` for none.
        counts: what all batches have counted.
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
            if not self._goes_on(batch, started):
                break

    def __enter__(self) -> IngestBatches:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Tell the continuous run of the error that ended this one, as dbt got it."""
        told = self._handle.last_error
        if error is not None and told is not None and self._continuous is not None:
            self._continuous.fail(told)

    def _goes_on(self, batch: IngestBatch, started: float) -> bool:
        """Whether another batch follows; waits until its time has come."""
        continuous = self._continuous
        if continuous is not None and continuous.is_stopped:
            return False
        if batch.arrivals.backlog:
            return self._is_endless or self._options.trigger != "once"
        if continuous is None or not self._is_endless:
            return False
        due = started + self._options.trigger_interval.total_seconds()
        while (left := due - time.monotonic()) > 0:
            # so often it is looked whether dbt has cancelled this run, for another model has failed
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
