"""Swaps whose answer is lost, while others finish the commit and make the next."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import pytest

from kernel.support import assert_whole, create, merge, rows_of, stage
from lakemerge.kernel import Kernel, Settings, TableName
from lakemerge.kernel.ports import HivePartition, Metastore, ReplyLost
from lakemerge.testing import World

NAME = TableName("s", "t")


class Silent:
    """A metastore that does what it is asked once, and answers when others have gone on: never."""

    def __init__(self, inner: Metastore, meanwhile: Callable[[], None]) -> None:
        self._inner = inner
        self._meanwhile = meanwhile
        self.sent = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def alter_partitions(self, name: TableName, partitions: Sequence[HivePartition]) -> None:
        self.sent += 1
        self._inner.alter_partitions(name, partitions)
        if self.sent == 1:
            self._meanwhile()
            raise ReplyLost(expected="an answer", found="none", action="None.")


@pytest.fixture
def world() -> World:
    return World()


def test_a_swap_whose_answer_is_lost_is_not_sent_again_over_later_commits(world: World) -> None:
    """Nobody may see a version again that was superseded while the writer waited for an answer."""
    other = Kernel(world.process())
    create(other, NAME, {"p=1": ["old"], "p=2": ["old"]})
    ports = world.process()

    def meanwhile() -> None:
        world.running.discard(ports.host.owner().pid)  # it is taken for dead
        merge(other, NAME, {"p=1": ["newest"]})

    silent = Silent(ports.metastore, meanwhile)
    writer = Kernel(dataclasses.replace(ports, metastore=silent), Settings(lease_seconds=30))  # type: ignore[arg-type]
    assert merge(writer, NAME, {"p=1": ["late"], "p=2": ["late"]}) == 2
    assert silent.sent == 1
    assert rows_of(other, NAME) == {"p=1": ["newest"], "p=2": ["late"]}
    assert_whole(other, NAME)


class Late(Silent):
    """A metastore that others use before the first swap of a writer comes to it."""

    def __init__(self, inner: Metastore, meanwhile: Callable[[], None]) -> None:
        super().__init__(inner, meanwhile)
        self.dropped: list[Sequence[str]] = []

    def alter_partitions(self, name: TableName, partitions: Sequence[HivePartition]) -> None:
        self.sent += 1
        if self.sent == 1:
            self._meanwhile()
        self._inner.alter_partitions(name, partitions)

    def drop_partition(self, name: TableName, values: Sequence[str]) -> None:
        self.dropped.append(values)
        self._inner.drop_partition(name, values)


class Died(BaseException):
    """Stands for the end of a process."""


def dies_at(step: str) -> Callable[[str], None]:
    def at(name: str) -> None:
        if name == step:
            raise Died

    return at


def test_a_swap_that_came_too_late_is_put_right_beside_one_that_is_not_settled(world: World) -> None:
    """The next commit has swapped before, and its writer has fallen asleep: it will settle, and look no more."""
    other = Kernel(world.process())
    create(other, NAME, {"p=1": ["old"], "p=2": ["old"]})
    ports = world.process()

    def meanwhile() -> None:
        world.running.discard(ports.host.owner().pid)  # it is taken for dead
        other.open(NAME)
        with pytest.raises(Died):
            merge(Kernel(world.process(), step=dies_at("swapped")), NAME, {"p=1": ["newest"]})

    late = Late(ports.metastore, meanwhile)
    writer = Kernel(dataclasses.replace(ports, metastore=late), Settings(lease_seconds=30))  # type: ignore[arg-type]
    transaction = writer.begin(NAME, "insert_overwrite")
    stage(writer, transaction, {"p=1": ["late"], "p=2": ["late"]})
    assert transaction.commit() == 2
    assert rows_of(other, NAME) == {"p=1": ["newest"], "p=2": ["late"]}


def test_a_swap_that_came_too_late_drops_no_partition_that_was_made_anew(world: World) -> None:
    """Else who looks before it is put right takes the partition for one that another program has dropped."""
    other = Kernel(world.process())
    create(other, NAME, {"p=1": ["old"], "p=2": ["old"]})
    ports = world.process()

    def meanwhile() -> None:
        world.running.discard(ports.host.owner().pid)  # it is taken for dead
        merge(other, NAME, {"p=1": ["newest"]})

    late = Late(ports.metastore, meanwhile)
    writer = Kernel(dataclasses.replace(ports, metastore=late), Settings(lease_seconds=30))  # type: ignore[arg-type]
    transaction = writer.begin(NAME, "merge")
    transaction.read(["p=1"])
    transaction.remove(["p=1"])
    assert transaction.commit() == 2
    assert late.dropped == []
    assert rows_of(other, NAME) == {"p=1": ["newest"], "p=2": ["old"]}
    assert_whole(other, NAME)
