"""How many batches a run has, and what is kept between them."""

from __future__ import annotations

import contextlib
import time
from datetime import timedelta
from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

from lakemerge.engine.ingest.batches import IngestBatches
from lakemerge.engine.ingest.ingest_options import IngestOptions
from lakemerge.errors import InvalidConfig
from lakemerge.ingest import Arrivals, LandingRules
from lakemerge.ingest.continuous import BatchReport, Continuous
from lakemerge.kernel.ports.filesystem import FileEntry


class FakeHandle:
    """A connection that remembers what was registered with it."""

    def __init__(self) -> None:
        self.callbacks: list[Any] = []
        self.is_cancelled = False
        self.last_error: BaseException | None = None

    def on_release(self, callback: Any) -> None:
        self.callbacks.append(callback)

    @property
    def held(self) -> int:
        return len(self.callbacks)

    def release(self, held: int = 0) -> None:
        while len(self.callbacks) > held:
            self.callbacks.pop()()

    def raise_if_cancelled(self) -> None:
        if self.is_cancelled:
            raise DbtRuntimeError("cancelled")


def entry(name: str, size: int = 10) -> FileEntry:
    return FileEntry(name=name, path=f"file:/in/{name}", size=size, modified=1, is_directory=False)


def batches_of(trigger: str, continuous: Continuous | None = None, handle: Any = None) -> IngestBatches:
    options = IngestOptions(LandingRules(("/in",)), trigger=trigger, trigger_interval=timedelta(0))
    given: Any = handle or FakeHandle()
    return IngestBatches("shop.alerts", options, given, continuous)


def read(batches: IngestBatches, waiting: list[int], stop: Any = None) -> list[Any]:
    """Read a file in each batch; after the n-th, `waiting[n]` files wait. Returns the batches."""
    done = []
    for number, batch in enumerate(batches):
        arrivals = Arrivals(chosen=[entry("a")], backlog=[entry("b")] * waiting[number])
        batch.end(number + 1, {"inserted": 2, "files": 1, "backlog": waiting[number], "changed": 1}, arrivals)
        done.append(batch)
        if stop and len(done) == len(waiting):
            stop()
    return done


def test_once_is_one_batch_whatever_waits() -> None:
    done = read(batches_of("once"), [5])
    assert [(batch.is_first, batch.until) for batch in done] == [(True, None)]


@pytest.mark.parametrize("trigger", ["available_now", "processing_time"])
def test_a_run_reads_all_that_had_landed_when_it_began(trigger: str) -> None:
    batches = batches_of(trigger)
    done = read(batches, [2, 1, 0])
    assert [batch.is_first for batch in done] == [True, False, False]
    assert len({batch.until for batch in done}) == 1
    assert done[0].until
    assert batches.version == 3
    assert batches.counts == {"inserted": 6, "files": 3, "backlog": 0, "changed": 1}


@pytest.mark.parametrize("trigger", ["once", "processing_time"])
def test_a_continuous_run_goes_on_until_it_is_stopped(trigger: str) -> None:
    reported: list[BatchReport] = []
    continuous = Continuous(reported.append)
    done = read(batches_of(trigger, continuous), [3, 0, 0, 2], stop=continuous.stop)
    assert [batch.until for batch in done] == [None] * 4
    assert [report.behind["bytes"] for report in reported] == [30, 0, 0, 20]
    assert reported[0].version == 1
    assert reported[0].read == {"files": 1, "bytes": 10}


def test_a_continuous_run_of_what_is_available_ends_by_itself() -> None:
    continuous = Continuous(lambda report: None)
    assert len(read(batches_of("available_now", continuous), [1, 0])) == 2


def test_a_batch_without_files_is_not_reported() -> None:
    continuous = Continuous(lambda report: continuous.stop())
    ends = [None, None, 4]
    for batch in batches_of("processing_time", continuous):
        batch.end(ends.pop(0), {"inserted": 0}, Arrivals())
    assert (continuous.batches, ends) == (1, [])


def test_batches_leave_nothing_in_the_connection() -> None:
    handle = FakeHandle()
    handle.on_release(lambda: None)
    released = []
    held = []
    for number, batch in enumerate(batches_of("available_now", handle=handle)):
        handle.on_release(lambda number=number: released.append(number))
        held.append(handle.held)
        waiting = [entry("b")] if number < 2 else []
        batch.end(1, {}, Arrivals(backlog=waiting))
    assert (released, held, handle.held) == ([0, 1, 2], [2, 2, 2], 1)


def test_waiting_ends_when_the_node_is_cancelled() -> None:
    handle, continuous = FakeHandle(), Continuous(lambda report: None)
    options = IngestOptions(LandingRules(("/in",)), trigger_interval=timedelta(hours=1))
    batches: Any = IngestBatches("shop.alerts", options, handle, continuous)  # type: ignore[arg-type]
    started = time.monotonic()
    next_batch = iter(batches)
    next(next_batch)
    handle.is_cancelled = True
    with pytest.raises(DbtRuntimeError, match="cancelled"):
        next(next_batch)
    assert time.monotonic() - started < 30


def test_the_error_that_ends_a_run_is_reported() -> None:
    handle, continuous = FakeHandle(), Continuous(lambda report: None)
    handle.last_error = ValueError("the body failed")
    with contextlib.suppress(ValueError), batches_of("processing_time", continuous, handle) as batches:
        for _ in batches:
            raise handle.last_error
    assert continuous.failures == [handle.last_error]


def test_an_error_that_was_dealt_with_is_not() -> None:
    handle, continuous = FakeHandle(), Continuous(lambda report: None)
    handle.last_error = ValueError("a compaction failed")
    with batches_of("processing_time", continuous, handle) as batches:
        read(batches, [0], stop=continuous.stop)
    assert continuous.failures == []


def test_options_of_the_trigger() -> None:
    options = IngestOptions.of(
        {"landing": "/in", "trigger": "processing_time", "trigger_interval": "2 seconds"}
    )
    assert options.trigger_interval == timedelta(seconds=2)
    with pytest.raises(InvalidConfig, match=r"trigger must be one of .*'hourly'"):
        IngestOptions.of({"landing": "/in", "trigger": "hourly"})
    with pytest.raises(InvalidConfig, match="trigger_interval has no meaning"):
        IngestOptions.of({"landing": "/in", "trigger": "available_now", "trigger_interval": "1m"})
