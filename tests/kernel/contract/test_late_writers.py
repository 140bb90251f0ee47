"""Writers that were taken for dead, rolled forward by another, and wake when the table has moved on."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from kernel.commits import COMMITS
from kernel.sites import Site
from kernel.support import (
    NO_RETENTION,
    Rows,
    append,
    assert_nothing_orphaned,
    assert_whole,
    compact,
    create,
    create_appendable,
    merge,
    rows_of,
    settled,
    stage,
)
from lakemerge.errors import ClaimHeld, CommitConflict
from lakemerge.kernel import Kernel, Settings, TableName
from lakemerge.kernel.maintenance.vacuum import vacuum
from lakemerge.kernel.table.layout import Layout

_OLD: Rows = {"p=1": ["old"], "p=2": ["old"], "p=gone": ["old"]}
_SECONDS = 120


class Died(Exception):
    """Stands for the end of a process at a point where nothing can be cleared up."""


class Pause:
    """Stops a writer at a step of its commit, or right before a call to the metastore."""

    def __init__(self, *, step: str | None = None, call: str | None = None) -> None:
        self._step = step
        self._call = call
        self._reached = threading.Event()
        self._go_on = threading.Event()

    def at_step(self, step: str) -> None:
        if step == self._step:
            self._stop()

    def before_call(self, call: str) -> None:
        if call == self._call and not self._go_on.is_set():
            self._stop()

    def _stop(self) -> None:
        self._reached.set()
        assert self._go_on.wait(_SECONDS)

    def wait(self) -> None:
        assert self._reached.wait(_SECONDS)

    def release(self) -> None:
        self._go_on.set()


def swap(kernel: Kernel, name: TableName) -> int:
    """Rewrite partition 1, add one, drop one."""
    txn = kernel.begin(name, "merge")
    txn.read(["p=1", "p=gone", "p=new"])
    stage(kernel, txn, {"p=1": ["late"], "p=new": ["late"]})
    txn.remove(["p=gone"])
    return txn.commit()


@contextmanager
def paused(
    site: Site, name: TableName, pause: Pause, commit: Callable[[Kernel, TableName], int] = swap
) -> Iterator[Future[int]]:
    """A writer that stands still at a point of its commit and gives no sign of life; then it goes on."""
    writer = Kernel(site.ports(metastore=site.metastore(before=pause.before_call)), step=pause.at_step)
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(commit, writer, name)
        try:
            pause.wait()
            layout = Layout(writer.default_root(name))
            for entry in writer.files.list(layout.open):
                writer.heartbeats.stop(layout, entry.name)
            yield future
        finally:
            pause.release()


def undo(kernel: Kernel, name: TableName) -> Rows:
    """After the late writer's: change partition 1 again, bring back the dropped one, drop the new one."""
    txn = kernel.begin(name, "merge")
    txn.read(["p=1", "p=gone", "p=new"])
    stage(kernel, txn, {"p=1": ["newest"], "p=gone": ["newest"]})
    txn.remove(["p=new"])
    txn.commit()
    return {"p=1": ["newest"], "p=2": ["old"], "p=gone": ["newest"]}


def build_on(kernel: Kernel, name: TableName) -> Rows:
    """After the late writer's: change partition 1 again and bring back the dropped one."""
    merge(kernel, name, {"p=1": ["newest"], "p=gone": ["newest"]})
    return {"p=1": ["newest"], "p=2": ["old"], "p=gone": ["newest"], "p=new": ["late"]}


#: Those of the fast ring; `tests/unit/kernel/test_late_swaps.py` and the simulator have late writers in memory.
FEW_POINTS = ("claimed", "before alter_partitions", "before dropPartition")
POINTS = (*FEW_POINTS, "registered", "swapped", "dropped", "before add_partitions")


@pytest.mark.parametrize("later", [pytest.param(undo, marks=pytest.mark.slow), build_on])
@pytest.mark.parametrize(
    "point",
    [pytest.param(point, marks=() if point in FEW_POINTS else pytest.mark.slow) for point in POINTS],
)
def test_a_late_writer_changes_nothing(
    point: str, later: Callable[[Kernel, TableName], Rows], site: Site, kernel: Kernel, name: TableName
) -> None:
    create(kernel, name, _OLD)
    step, _, call = point.partition("before ")
    pause = Pause(step=step or None, call=call or None)
    with paused(site, name, pause) as late:
        expected = later(kernel, name)
        assert rows_of(kernel, name) == expected
        assert settled(kernel, name).version == 3
    # its commit was finished for it, so it counts
    assert late.result() == 2
    assert rows_of(kernel, name) == expected
    kernel.recover(name)
    assert settled(kernel, name).version == 3
    assert_whole(kernel, name)
    assert_nothing_orphaned(kernel, name)


@pytest.mark.parametrize(
    "point",
    [
        pytest.param("claimed", marks=pytest.mark.slow),
        "swapped",
        pytest.param("before add_partitions", marks=pytest.mark.slow),
    ],
)
def test_a_late_append_does_not_bring_back_what_was_compacted(
    point: str, site: Site, kernel: Kernel, name: TableName
) -> None:
    create_appendable(kernel, name, {"p=1": ["first"]})
    step, _, call = point.partition("before ")

    def late_append(writer: Kernel, table: TableName) -> int:
        return append(writer, table, {"p=1": ["late"], "p=2": ["late"]})

    with paused(site, name, Pause(step=step or None, call=call or None), late_append) as late:
        append(kernel, name, {"p=1": ["newest"], "p=2": ["newest"]})
        compact(kernel, name)
        expected = {"p=1/_commit=3": ["first", "late", "newest"], "p=2/_commit=3": ["late", "newest"]}
        assert rows_of(kernel, name) == expected
    assert late.result() == 2
    assert rows_of(kernel, name) == expected
    kernel.recover(name)
    assert_whole(kernel, name)
    assert_nothing_orphaned(kernel, name)


def test_a_late_append_whose_writer_dies_is_put_right_by_recover(
    site: Site, kernel: Kernel, name: TableName
) -> None:
    create_appendable(kernel, name, {"p=1": ["first"]})
    pause = Pause(call="add_partitions")

    def die(call: str) -> None:
        if call == "add_partitions":
            raise Died

    def commit(_: Kernel, table: TableName) -> int:
        doomed = site.metastore(before=pause.before_call, after=die)
        return append(Kernel(site.ports(metastore=doomed)), table, {"p=1": ["late"]})

    with paused(site, name, pause, commit) as late:
        append(kernel, name, {"p=1": ["newest"]})
        compact(kernel, name)
    with pytest.raises(Died):
        late.result()
    assert rows_of(kernel, name)["p=1/_commit=2"] == ["late"], "twice, until somebody looks"
    kernel.recover(name)
    assert rows_of(kernel, name) == {"p=1/_commit=3": ["first", "late", "newest"]}
    assert settled(kernel, name).version == 4
    assert_whole(kernel, name)


def test_a_late_writer_that_had_not_claimed_conflicts(site: Site, kernel: Kernel, name: TableName) -> None:
    create(kernel, name, _OLD)
    with paused(site, name, Pause(step="manifest written")) as late:
        merge(kernel, name, {"p=1": ["newest"]})
    with pytest.raises(CommitConflict):
        late.result()
    assert rows_of(kernel, name) == {**_OLD, "p=1": ["newest"]}


def test_a_late_swap_whose_writer_dies_is_put_right_by_the_next(
    site: Site, kernel: Kernel, name: TableName, caplog: pytest.LogCaptureFixture
) -> None:
    create(kernel, name, _OLD)
    pause = Pause(call="alter_partitions")

    def die(call: str) -> None:
        if call == "alter_partitions":
            raise Died

    def commit(writer: Kernel, table: TableName) -> int:
        doomed = site.metastore(before=pause.before_call, after=die)
        return swap(Kernel(site.ports(metastore=doomed)), table)

    with paused(site, name, pause, commit) as late:
        expected = build_on(kernel, name)
    with pytest.raises(Died):
        late.result()
    assert rows_of(kernel, name)["p=1"] == ["late"]
    txn = kernel.begin(name, "merge")
    txn.read(["p=1"])
    assert txn.base is not None
    assert txn.base.version == 3
    txn.abort()
    assert rows_of(kernel, name)["p=1"] == ["newest"]
    assert "put right" in caplog.text
    kernel.recover(name)
    assert rows_of(kernel, name) == expected
    assert_whole(kernel, name)


@pytest.mark.parametrize(
    "kind",
    [
        "rebuild",
        pytest.param("rebuild-to-whole", marks=pytest.mark.slow),
        pytest.param("rebuild-from-whole", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(
    "step",
    [
        pytest.param("claimed", marks=pytest.mark.slow),
        "row prepared",
        pytest.param("row moved", marks=pytest.mark.slow),
    ],
)
def test_a_late_rebuild_changes_nothing(
    step: str, kind: str, site: Site, kernel: Kernel, name: TableName
) -> None:
    COMMITS[kind].prepare(kernel, name)
    version = settled(kernel, name).version

    def commit(writer: Kernel, table: TableName) -> int:
        COMMITS[kind].run(writer, table)
        return version + 1

    pause = Pause(step=step)
    with paused(site, name, pause, commit) as late:
        assert kernel.exists(name)
        state = kernel.open(name)
        first = next(iter(kernel.manifest(state).partitions))
        assert merge(kernel, name, {first: ["newest"]}) == version + 2
        expected = rows_of(kernel, name)
    late.result()
    assert rows_of(kernel, name) == expected
    kernel.recover(name)
    assert settled(kernel, name).version == version + 2
    assert_whole(kernel, name)
    assert_nothing_orphaned(kernel, name)


def heartbeat_of_another_machine(kernel: Kernel, name: TableName) -> None:
    """Let the claim's holder look like a writer on another machine, whose signs of life were just seen."""
    state = kernel.current_state(name)
    assert state is not None
    assert state.claim is not None
    owner = {"host": "elsewhere", "pid": 1, "started": "1", "machine": "another boot"}
    kernel.files.write_text(state.layout.heartbeat_of(state.claim), json.dumps(owner))


def test_a_writer_on_another_machine_has_its_lease(site: Site, kernel: Kernel, name: TableName) -> None:
    create(kernel, name, _OLD)

    def die(step: str) -> None:
        if step == "registered":
            raise Died

    lease = 4
    with pytest.raises(Died):
        swap(Kernel(site.ports(), Settings(lease_seconds=lease), step=die), name)
    heartbeat_of_another_machine(kernel, name)
    clock = site.ports().clock
    start = clock.monotonic()
    with pytest.raises(ClaimHeld):
        Kernel(site.ports(), Settings(claim_timeout=0.2)).open(name)
    assert Kernel(site.ports(), Settings(claim_timeout=60)).open(name).version == 2
    assert clock.monotonic() - start > lease - 1
    assert rows_of(kernel, name) == {"p=1": ["late"], "p=2": ["old"], "p=new": ["late"]}


def test_vacuum_leaves_open_transactions_alone(kernel: Kernel, name: TableName) -> None:
    create(kernel, name, _OLD)
    txn = kernel.begin(name, "merge")
    txn.read(["p=1"])
    stage(kernel, txn, {"p=1": ["mine"]})
    merge(kernel, name, {"p=2": ["theirs"]})
    vacuum(kernel, name, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)
    assert txn.commit() == 3
    assert rows_of(kernel, name) == {**_OLD, "p=1": ["mine"], "p=2": ["theirs"]}
    assert_nothing_orphaned(kernel, name)


def test_vacuum_dry_run_deletes_nothing_and_keeps_what_queries_need(kernel: Kernel, name: TableName) -> None:
    create(kernel, name, _OLD)
    merge(kernel, name, {"p=1": ["newest"]})
    root = settled(kernel, name).layout.root
    before = {entry.path for entry in kernel.files.walk(root)}
    assert vacuum(kernel, name) == []
    found = vacuum(kernel, name, retention=NO_RETENTION, allow_short_retention=True)
    assert {item.reason for item in found} >= {"superseded", "a manifest of no kept version"}
    assert sum(item.size for item in found) > 0
    assert {entry.path for entry in kernel.files.walk(root)} == before
    vacuum(kernel, name, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)
    assert rows_of(kernel, name) == {**_OLD, "p=1": ["newest"]}
    assert vacuum(kernel, name, retention=NO_RETENTION, allow_short_retention=True) == []


@pytest.mark.parametrize("call", range(1, 8))
def test_vacuum_keeps_what_is_committed_while_it_looks(
    call: int, site: Site, kernel: Kernel, name: TableName
) -> None:
    """A commit begins before vacuum and ends right before one of the listings that vacuum makes."""
    create(kernel, name, _OLD)
    txn = kernel.begin(name, "merge")
    txn.read(["p=1"])
    stage(kernel, txn, {"p=1": ["newest"]})
    listings = 0

    def commit_before(made: str) -> None:
        nonlocal listings
        listings += made == "list"
        if listings == call and txn.state == "open":
            txn.commit()

    vacuuming = Kernel(site.ports(files=site.files(before=commit_before)))
    vacuum(vacuuming, name, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)
    assert txn.state == "committed"
    assert rows_of(kernel, name) == {**_OLD, "p=1": ["newest"]}
    assert_nothing_orphaned(kernel, name)
