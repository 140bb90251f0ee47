"""Continuous ingest: how the run and the program that started it communicate within one process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class BatchReport:
    """What one batch has committed.

    Attributes:
        table: ``schema.table``.
        version: the version that it made.
        inserted, quarantined, dropped: numbers of records by outcome.
        read: how much was read: ``files`` and ``bytes``, or ``offsets`` of topics.
        behind: what had arrived by then and is still to be read, in the same units; all 0 for none.
        seconds: from the look at the source to the end of the commit, and of the merging of small partitions after it.
    """

    table: str
    version: int
    inserted: int
    quarantined: int
    dropped: int
    read: Mapping[str, int]
    behind: Mapping[str, int]
    seconds: float

    @property
    def records(self) -> int:
        """How many records were read."""
        return self.inserted + self.quarantined + self.dropped

    @property
    def rate(self) -> float:
        """Records a second."""
        return self.records / self.seconds if self.seconds else 0.0


class Continuous:
    """A continuous run of some tables, seen from outside.

    Attributes:
        batches: how many were committed.
        failures: the errors that ended a table's run.
    """

    def __init__(self, on_batch: Callable[[BatchReport], None]) -> None:
        """
        Args:
            on_batch: called after each batch that has committed something, in the thread that ran it.
        """
        self._on_batch = on_batch
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self.batches = 0
        self.failures: list[BaseException] = []

    def stop(self) -> None:
        """End the run when the current batches are finished. Callable from any thread and from signal handlers."""
        self._stopped.set()

    @property
    def is_stopped(self) -> bool:
        return self._stopped.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait this long, or until the run is to end; returns whether it is to end."""
        return self._stopped.wait(max(0.0, seconds))

    def report(self, report: BatchReport) -> None:
        """Report a batch."""
        with self._lock:
            self.batches += 1
            self._on_batch(report)

    def fail(self, error: BaseException) -> None:
        """Report an error that ended a table's run."""
        with self._lock:
            self.failures.append(error)


_current: Continuous | None = None


def current() -> Continuous | None:
    """The continuous run of this process; ``None`` if runs end by themselves."""
    return _current


@contextmanager
def running(continuous: Continuous) -> Iterator[None]:
    """Make every ingest of this process part of a continuous run."""
    global _current
    before, _current = _current, continuous
    try:
        yield
    finally:
        _current = before
