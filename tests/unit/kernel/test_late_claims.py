"""Claims whose answer is lost, and which come to the metastore when others have claimed, and have taken that back."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from kernel.support import Died, assert_nothing_orphaned, create, merge, rows_of, stage
from lakemerge.errors import ClaimHeld, CommitConflict, CommitInDoubt, LakemergeError
from lakemerge.kernel import VERSION, Kernel, Settings, TableName, Transaction, drop, with_parameters
from lakemerge.kernel.commit.suspension import leave
from lakemerge.kernel.ports import HiveTable, ReplyLost, ValueChanged
from lakemerge.kernel.table.definition import TABLE_ID
from lakemerge.testing import LateCalls, World

FIRST, NAME = TableName("s", "a"), TableName("s", "b")


class Slow:
    """A metastore to which the first change of a table comes later than its writer has waited for an answer."""

    def __init__(self, inner: Any, meanwhile: Callable[[], None]) -> None:
        self._inner = inner
        self._meanwhile = meanwhile
        self.on_its_way: list[Callable[[], None]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def alter_table(self, name: TableName, table: HiveTable, **expected: Any) -> None:
        if self.on_its_way:
            self._inner.alter_table(name, table, **expected)
            return
        self.on_its_way.append(partial(self._inner.alter_table, name, table, **expected))
        self._meanwhile()
        raise ReplyLost(expected="an answer", found="none", action="None.")


def claim_both_and_die(world: World, shape: str) -> None:
    """A group claims both tables, and its process ends before it decides."""

    def reached(step: str) -> None:
        steps.append(step)
        if steps.count("table claimed") == 2:
            raise Died

    steps: list[str] = []
    kernel = Kernel(world.process(), step=reached)
    transactions = [kernel.begin(name, "merge") for name in (FIRST, NAME)]
    for transaction, part in zip(transactions, ("p=1", shape), strict=True):
        stage(kernel, transaction, {part: ["group"]})
    with pytest.raises(Died):
        kernel.commit_together(transactions)


@pytest.mark.parametrize("shape", ["p=1", ""])
def test_a_claim_that_comes_after_another_was_released_has_its_files(world: World, shape: str) -> None:
    kernel = Kernel(world.process())
    create(kernel, FIRST, {"p=1": ["old"]})
    create(kernel, NAME, {shape: ["old"]})
    ports = world.process()
    slow: Any = Slow(ports.metastore, lambda: claim_both_and_die(world, shape))
    writer = Kernel(dataclasses.replace(ports, metastore=slow), Settings(claim_timeout=5))
    writer.versions.compares(NAME)
    transaction = writer.begin(NAME, "merge")
    transaction.read()
    stage(writer, transaction, {shape: ["late"]})
    with pytest.raises(CommitInDoubt), transaction:
        transaction.commit()
    assert transaction.state == "in doubt"
    world.running.discard(ports.host.owner().pid)
    world.timeline.pass_by(10 * Settings().lease_seconds)
    kernel.recover(NAME)  # ends the group
    assert rows_of(kernel, NAME) == {shape: ["old"]}
    slow.on_its_way[0]()
    kernel.recover(NAME)
    assert rows_of(kernel, NAME) == {shape: ["late"]}
    assert_nothing_orphaned(kernel, NAME)


def held_back(world: World, meanwhile: Callable[[], None]) -> tuple[Kernel, Slow]:
    """A kernel whose first change of a table comes late, to a metastore that is known to compare."""
    ports = world.process()
    slow: Any = Slow(ports.metastore, meanwhile)
    slow.compares = True
    return Kernel(dataclasses.replace(ports, metastore=slow), Settings(claim_timeout=5)), slow


@pytest.mark.parametrize("shape", ["p=1", ""])
def test_a_claim_that_comes_to_the_next_table_of_the_name_changes_nothing(world: World, shape: str) -> None:
    kernel = Kernel(world.process())
    create(kernel, NAME, {shape: ["old"]})

    def make_next() -> None:
        drop(kernel, NAME)
        create(kernel, NAME, {shape: ["next"]})

    writer, slow = held_back(world, make_next)
    transaction = writer.begin(NAME, "merge")
    transaction.read()
    stage(writer, transaction, {shape: ["late"]})
    with pytest.raises(CommitConflict), transaction:
        transaction.commit()
    with pytest.raises(ValueChanged):
        slow.on_its_way[0]()
    assert rows_of(kernel, NAME) == {shape: ["next"]}
    merge(kernel, NAME, {shape: ["newer"]})
    assert rows_of(kernel, NAME) == {shape: ["newer"]}


@pytest.mark.parametrize("shape", ["p=1", ""])
def test_a_table_of_before_goes_on(world: World, shape: str) -> None:
    kernel = Kernel(world.process())
    create(kernel, NAME, {shape: ["old"]})
    row = kernel.table(NAME)
    assert row.parameters[VERSION] == f"1@{row.parameters[TABLE_ID][:8]}"
    kernel.metastore.alter_table(NAME, with_parameters(row, {VERSION: "1"}))
    assert merge(kernel, NAME, {shape: ["new"]}) == 2
    assert kernel.table(NAME).parameters[VERSION] == f"2@{row.parameters[TABLE_ID][:8]}"
    assert rows_of(kernel, NAME) == {shape: ["new"]}


@pytest.mark.parametrize(
    "end", [Transaction.abort, lambda one: leave(one, "refused")], ids=["aborted", "left"]
)
def test_a_mark_that_comes_when_its_group_is_given_up_is_released(
    world: World, kernel: Kernel, end: Callable[[Transaction], None]
) -> None:
    """Whoever finds it needs its manifest, and the record of its group."""
    names = [TableName("s", name) for name in "ab"]
    for name in names:
        create(kernel, name, {"p=1": ["old"]})
    ports = world.process()
    late = LateCalls(ports.metastore)
    writer = Kernel(dataclasses.replace(ports, metastore=late.metastore))
    writer.versions.compares(names[0])
    late.lose("alter_table", times=100)
    one, other = (writer.begin(name, "merge") for name in names)
    for transaction in (one, other):
        stage(writer, transaction, {"p=1": ["new"]})
    with pytest.raises(LakemergeError):
        writer.commit_together([one, other])
    for transaction in (one, other):
        end(transaction)
    late.arrive()
    world.running.discard(ports.host.owner().pid)
    for name in names:
        kernel.recover(name)
        assert rows_of(kernel, name) == {"p=1": ["old"]}
        merge(kernel, name, {"p=1": ["next"]})


def test_a_mark_that_comes_when_its_table_is_committed_to_alone_is_released(
    world: World, kernel: Kernel
) -> None:
    names = [TableName("s", name) for name in "ab"]
    for name in names:
        create(kernel, name, {"p=1": ["old"]})
    ports = world.process()
    late = LateCalls(ports.metastore)
    writer = Kernel(dataclasses.replace(ports, metastore=late.metastore), Settings(claim_timeout=1))
    writer.versions.compares(names[0])
    late.lose("alter_table", times=100)
    one, other = (writer.begin(name, "merge") for name in names)
    for transaction in (one, other):
        stage(writer, transaction, {"p=1": ["new"]})
    with pytest.raises(LakemergeError):
        writer.commit_together([one, other])
    late.lose("alter_table", times=-late._lost["alter_table"])
    late.arrive()
    with pytest.raises(ClaimHeld):
        one.commit()
    one.abort()
    other.abort()
    world.running.discard(ports.host.owner().pid)
    for name in names:
        kernel.recover(name)
        assert rows_of(kernel, name) == {"p=1": ["old"]}
