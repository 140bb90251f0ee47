"""Processes that are forked while a transaction is open."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterator

import pytest

from kernel.support import (
    Died,
    assert_nothing_orphaned,
    assert_whole,
    create,
    merge,
    rows_of,
    stage,
)
from lakemerge.errors import CommitConflict, CommitInDoubt, InvalidTransactionState
from lakemerge.kernel import Kernel, TableName, leave, resume, suspend
from lakemerge.kernel.ports.system import SystemHost
from lakemerge.kernel.protocol.lease import Heartbeats
from lakemerge.kernel.table.layout import Layout
from lakemerge.testing import LateCalls, SimulatedClock, SimulatedHost, World

LAYOUT = Layout("memory:/t")
NAME = TableName("s", "t")


def test_a_child_has_no_open_transactions_of_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    host = SystemHost()
    host.open_here.add("parents")
    try:
        monkeypatch.setattr(os, "getpid", lambda: 99_999_999)
        assert "parents" not in host.open_here
        host.open_here.add("childs")
        monkeypatch.undo()
        assert "childs" not in SystemHost().open_here
        assert "parents" in SystemHost().open_here
    finally:
        host.open_here.discard("parents")


class Clock(SimulatedClock):
    """Counts the threads that it has begun."""

    begun = 0

    def repeat(self, seconds: float, action: object, name: str) -> None:
        self.begun += 1


def test_a_child_keeps_its_own_transactions_alive_and_not_its_parents(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads do not come along with a fork."""
    clock = Clock(world.timeline)
    ports = dataclasses.replace(world.process(), host=SystemHost(), clock=clock)
    heartbeats = Heartbeats(ports, 30)
    heartbeats.start(LAYOUT, "parents")
    try:
        assert clock.begun == 1
        monkeypatch.setattr(os, "getpid", lambda: 99_999_999)
        heartbeats.start(LAYOUT, "childs")
        assert clock.begun == 2
        assert set(heartbeats._open) == {LAYOUT.heartbeat_of("childs")}
        heartbeats.stop(LAYOUT, "childs")
    finally:
        monkeypatch.undo()
        SystemHost().open_here.discard("parents")


class Forking(SimulatedHost):
    """A process that is its own child for a while: what a fork copies is what there is."""

    child = 0

    @property
    def pid(self) -> int:
        return self.child or super().pid


@contextlib.contextmanager
def child_of(kernel: Kernel) -> Iterator[None]:
    host = kernel.host
    assert isinstance(host, Forking)
    host.child = 9999
    host.running.add(9999)
    yield
    host.child = 0


@pytest.fixture
def forking(world: World) -> Kernel:
    ports = world.process()
    host = Forking(world.new_pid(), world.running, world.dice)
    kernel = Kernel(dataclasses.replace(ports, host=host))
    create(kernel, NAME, {"p=1": ["old"]})
    return kernel


@pytest.mark.parametrize("ends", ["abort", "exit", "leave"])
def test_a_child_takes_away_nothing_of_its_parents_transaction(forking: Kernel, ends: str) -> None:
    """An error in a child goes up through the blocks that its parent is in."""
    transaction = forking.begin(NAME, "merge")
    stage(forking, transaction, {"p=1": ["new"]})
    with child_of(forking):
        if ends == "leave":
            leave(transaction, "the child has failed")
        else:
            transaction.__exit__() if ends == "exit" else transaction.abort()
    assert transaction.commit() == 2
    assert rows_of(forking, NAME) == {"p=1": ["new"]}
    assert_whole(forking, NAME)
    assert_nothing_orphaned(forking, NAME)


@pytest.mark.parametrize("suspended", [False, True])
def test_a_child_does_not_commit_its_parents_transaction(forking: Kernel, suspended: bool) -> None:
    """Both would write one manifest, and claim by one name."""
    transaction = forking.begin(NAME, "merge")
    stage(forking, transaction, {"p=1": ["new"]})
    if suspended:
        suspend(transaction)
    with child_of(forking):
        for step in (transaction.read, lambda: resume(transaction), transaction.commit):
            with pytest.raises(InvalidTransactionState, match="another process"):
                step()
        assert merge(forking, NAME, {"p=2": ["of the child"]}) == 2
    if suspended:
        resume(transaction)
    with contextlib.suppress(CommitConflict), transaction:
        transaction.commit()
    assert rows_of(forking, NAME)["p=2"] == ["of the child"]
    assert_whole(forking, NAME)


def test_a_child_does_not_give_back_its_parents_lock(world: World, forking: Kernel) -> None:
    """It is kept until the parent's write, which got no answer, can no longer come."""
    world.metastore.honours_expectations = False
    late = LateCalls(forking.metastore)
    kernel = Kernel(dataclasses.replace(world.process(), host=forking.host, metastore=late.metastore))
    late.metastore.compares = None  # to be found out again
    given_back: list[int] = []
    late.metastore.unlock = given_back.append  # type: ignore[method-assign, assignment]
    for _ in range(4):
        late.lose("alter_table")
    with pytest.raises(CommitInDoubt):
        merge(kernel, NAME, {"p=1": ["new"]})
    assert given_back == []
    with child_of(kernel):
        world.timeline.pass_by(400)
        assert merge(kernel, NAME, {"p=2": ["of the child"]}) == 2
    (kept,) = kernel.versions._kept.values()
    assert kept.lock_id not in given_back


def test_a_child_goes_on_when_its_parent_has_died_within_a_commit(world: World, forking: Kernel) -> None:
    """What it has copied does not make it take the transaction for alive."""

    def die(step: str) -> None:
        if step == "claimed":
            raise Died

    forking.step = die
    with pytest.raises(Died):
        merge(forking, NAME, {"p=1": ["new"]})
    forking.step = lambda step: None
    world.running.discard(forking.host.pid)
    with child_of(forking):
        assert merge(forking, NAME, {"p=1": ["newest"]}) == 3
        assert rows_of(forking, NAME) == {"p=1": ["newest"]}
