"""A writer that gets no answer to a call, while others take it for dead, finish for it, and make the row anew."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from kernel.support import (
    COLUMNS,
    KEYS,
    OTHER_KEYS,
    Died,
    assert_nothing_orphaned,
    assert_whole,
    create,
    rows_of,
    stage,
)
from lakemerge.errors import CommitInDoubt, LakemergeError
from lakemerge.kernel import Kernel, Settings, TableDefinition, TableName, Transaction, history
from lakemerge.kernel.ports.metastore import Refused, ReplyLost
from lakemerge.kernel.table.definition import new_partition
from lakemerge.testing import World

NAME, SECOND = TableName("s", "t"), TableName("s", "u")
#: Where the others die, while they make the row anew; or they do not.
STEPS = ("row prepared", "row moved", "settled", "none")
_WRITES = ("create_table", "alter_table")


class Unanswered:
    """A metastore one of whose writes takes effect without an answer; others act then.

    Attributes:
        left: how many writes are left until then; none of it at 0.
    """

    def __init__(self, inner: Any, others: Callable[[], None]) -> None:
        self._inner, self._others = inner, others
        self.left = 0
        self.was_silent = False

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name not in _WRITES:
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            result = found(*args, **kwargs)
            self.left -= 1
            if self.left == 0:
                self.was_silent = True
                self._others()
                raise ReplyLost(expected="an answer", found="none", action="Look.")
            return result

        return call

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_") or name in ("left", "was_silent"):
            object.__setattr__(self, name, value)
        else:
            setattr(self._inner, name, value)


def make_anew(kernel: Kernel) -> Transaction:
    """The open transaction that gives the table other partition columns."""
    transaction = kernel.begin(NAME, "replace")
    transaction.replace_all()
    by_p = kernel.table(NAME).partition_columns == OTHER_KEYS
    transaction.set_schema(COLUMNS, KEYS if by_p else OTHER_KEYS)
    stage(kernel, transaction, {"p=1" if by_p else "q=1/r=x": ["anew"]})
    return transaction


def begin_creation(kernel: Kernel) -> list[Transaction]:
    transaction = kernel.create(TableDefinition(NAME, COLUMNS, KEYS))
    stage(kernel, transaction, {"p=1": ["mine"]})
    return [transaction]


def begin_merge(kernel: Kernel) -> list[Transaction]:
    create(kernel, NAME, {"p=1": ["old"], "p=2": ["old"]})
    transaction = kernel.begin(NAME, "merge")
    transaction.read(["p=1"])
    stage(kernel, transaction, {"p=1": ["mine"]})
    return [transaction]


def begin_rebuild(kernel: Kernel) -> list[Transaction]:
    create(kernel, NAME, {"p=1": ["old"], "p=2": ["old"]})
    return [make_anew(kernel)]


def begin_group(kernel: Kernel) -> list[Transaction]:
    create(kernel, SECOND, {"p=1": ["old"]})
    (first,) = begin_rebuild(kernel)
    second = kernel.begin(SECOND, "merge")
    stage(kernel, second, {"p=1": ["mine"]})
    return [first, second]


BEGINNINGS = {
    begin.__name__.removeprefix("begin_"): begin
    for begin in (begin_creation, begin_merge, begin_rebuild, begin_group)
}


def finish_and_die(world: World, step: str, *, goes_on: bool) -> None:
    """Finish what seems to be left by a dead process, and perhaps make the row anew after that; die at a step of it."""
    ports = world.process()
    dies = not goes_on

    def reached(name: str) -> None:
        if name == step and dies:
            raise Died

    kernel = Kernel(ports, step=reached)
    with contextlib.suppress(Died, LakemergeError):
        kernel.open(NAME)
        dies = True
        if goes_on:
            make_anew(kernel).commit()
    world.running.discard(ports.host.owner().pid)


@pytest.mark.parametrize("goes_on", [False, True], ids=["finished", "followed"])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_a_commit_that_stands_is_not_given_up(beginning: str, step: str, goes_on: bool) -> None:
    for number in itertools.count(1):
        world = World()
        ports = world.process()
        pid = ports.host.owner().pid

        def others(world: World = world, pid: int = pid) -> None:
            world.running.discard(pid)
            finish_and_die(world, step, goes_on=goes_on)
            world.running.add(pid)

        metastore = Unanswered(ports.metastore, others)
        kernel = Kernel(dataclasses.replace(ports, metastore=metastore), Settings(claim_timeout=5))
        transactions = BEGINNINGS[beginning](kernel)
        metastore.left = number
        stands = True
        try:
            kernel.commit_together(transactions)
        except LakemergeError:
            stands = transactions[0].state == "committed"
            assert transactions[0].state != "in doubt", f"write {number}"
        for transaction in transactions:
            transaction.abort()
        if not metastore.was_silent:
            assert stands
            break
        other = Kernel(world.process())
        for transaction in transactions:
            other.recover(transaction.name)
            made = [manifest.txn for manifest in history(other, transaction.name)]
            assert (transaction.txn in made) == stands, f"write {number}"
            assert_whole(other, transaction.name)
            assert_nothing_orphaned(other, transaction.name)
        found = {row.name for row in other.metastore.table_summaries("s")}
        assert found == {transaction.name.name for transaction in transactions}
    assert number > 1


@pytest.mark.parametrize("compares", [True, False])
@pytest.mark.parametrize("begin", [begin_merge, begin_creation])
def test_a_look_that_is_refused_says_nothing_of_the_call_before_it(
    begin: Callable[[Kernel], list[Transaction]], compares: bool, world: World
) -> None:
    """The claim, or the creation, has been carried out; only its answer, or the look after it, has failed."""
    world.metastore.honours_expectations = compares
    ports = world.process()

    class Failing:
        def __init__(self) -> None:
            self.over = False

        def __getattr__(self, name: str) -> Any:
            found = getattr(world.metastore, name)

            def call(*args: Any, **kwargs: Any) -> Any:
                if self.over and name == "get_table":
                    raise Refused(name, "MetaException", "an injected fault")
                result = found(*args, **kwargs)
                if name in ("create_table", "alter_table") and opened and not self.over:
                    self.over = True
                    if compares or name == "create_table":
                        raise ReplyLost(expected="an answer", found="none", action="None.")
                return result

            return call if callable(found) else found

    opened: list[Transaction] = []
    metastore: Any = Failing()
    kernel = Kernel(dataclasses.replace(ports, metastore=metastore))
    begun = begin(kernel)
    opened.extend(begun)
    with pytest.raises(CommitInDoubt):
        kernel.commit_together(begun)
    for transaction in begun:
        transaction.abort()
    world.running.discard(ports.host.owner().pid)
    after = Kernel(world.process())
    after.recover(NAME)
    assert after.settled(NAME)[1].txn == begun[0].txn


class CutOff:
    """A metastore whose answers to one kind of call never arrive, although it carries the calls out."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.dropped: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def drop_partition(self, name: TableName, values: Sequence[str]) -> None:
        self.dropped += values
        self._inner.drop_partition(name, values)
        raise ReplyLost(expected="an answer", found="none", action="None.")


def cut_off(world: World) -> tuple[Kernel, CutOff]:
    ports = world.process()
    metastore: Any = CutOff(ports.metastore)
    return Kernel(dataclasses.replace(ports, metastore=metastore)), metastore


# more than a call is sent times
_MANY = [str(number) for number in range(1, 9)]


def test_partitions_whose_drops_are_carried_out_are_not_dropped_again(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, {f"p={number}": ["old"] for number in ("0", *_MANY)})
    writer, metastore = cut_off(world)
    with writer.begin(NAME, "merge") as transaction:
        transaction.read()
        transaction.remove([f"p={number}" for number in _MANY])
        assert transaction.commit() == 2
    assert sorted(metastore.dropped) == _MANY
    assert rows_of(kernel, NAME) == {"p=0": ["old"]}
    assert_whole(kernel, NAME)


def test_partitions_that_came_late_are_dropped_once_each(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, {"p=0": ["old"]})
    table, layout = kernel.table(NAME), kernel.open(NAME).layout
    rows = [new_partition(table, [number], layout.empty_of("late")) for number in _MANY]
    world.metastore.add_partitions(NAME, rows)
    finder, metastore = cut_off(world)
    finder.recover(NAME)
    assert sorted(metastore.dropped) == _MANY
    assert rows_of(kernel, NAME) == {"p=0": ["old"]}
