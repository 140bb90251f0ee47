"""Swaps whose answer is lost, while others finish the commit and make the next."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import pytest

from kernel.support import Died, append, assert_whole, create, create_appendable, merge, rows_of, stage
from lakemerge.kernel import Kernel, Settings, TableName, drop
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
        self.adds_late = False

    def alter_partitions(self, name: TableName, partitions: Sequence[HivePartition]) -> None:
        self.sent += 1
        if self.sent == 1:
            self._meanwhile()
        self._inner.alter_partitions(name, partitions)

    def add_partitions(self, name: TableName, partitions: Sequence[HivePartition]) -> int:
        if self.adds_late:
            self.adds_late = False
            self._meanwhile()
        return self._inner.add_partitions(name, partitions)

    def drop_partition(self, name: TableName, values: Sequence[str]) -> None:
        self.dropped.append(values)
        self._inner.drop_partition(name, values)


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


def drop_and_create(kernel: Kernel) -> None:
    """The next table of the name, made while a writer of the first one sends its swap."""
    drop(kernel, NAME)
    create(kernel, NAME, {"p=1": ["next"], "p=3": ["next"]})
    merge(kernel, NAME, {"p=1": ["newest"]})


def test_a_swap_that_came_into_the_next_table_of_the_name_is_put_right(world: World) -> None:
    """The same partitions are there again: nobody may find the rows of the dropped table in them."""
    other = Kernel(world.process())
    create(other, NAME, {"p=1": ["old"], "p=2": ["old"]})
    ports = world.process()
    late = Late(ports.metastore, lambda: drop_and_create(other))
    writer = Kernel(dataclasses.replace(ports, metastore=late), Settings(lease_seconds=30))  # type: ignore[arg-type]
    merge(writer, NAME, {"p=1": ["late"]})
    assert rows_of(other, NAME) == {"p=1": ["newest"], "p=3": ["next"]}
    assert_whole(other, NAME)


def test_a_removal_that_came_into_the_next_table_of_the_name_is_put_right(world: World) -> None:
    other = Kernel(world.process())
    create(other, NAME, {"p=1": ["old"], "p=2": ["old"]})
    ports = world.process()
    late = Late(ports.metastore, lambda: drop_and_create(other))
    writer = Kernel(dataclasses.replace(ports, metastore=late), Settings(lease_seconds=30))  # type: ignore[arg-type]
    transaction = writer.begin(NAME, "merge")
    transaction.read(["p=1"])
    transaction.remove(["p=1"])
    transaction.commit()
    assert late.dropped == []
    assert rows_of(other, NAME) == {"p=1": ["newest"], "p=3": ["next"]}
    assert_whole(other, NAME)


@pytest.mark.parametrize("appendable", [True, False])
def test_an_append_that_came_into_the_next_table_of_the_name_is_taken_out(
    world: World, appendable: bool
) -> None:
    """It would bring rows of the dropped table, whatever kind the next one is of."""
    other = Kernel(world.process())
    create_appendable(other, NAME, {"p=1": ["old"]})
    ports = world.process()
    late = Late(ports.metastore, lambda: None)
    writer = Kernel(dataclasses.replace(ports, metastore=late), Settings(lease_seconds=30))  # type: ignore[arg-type]
    append(writer, NAME, {"p=1": ["older"]})

    def meanwhile() -> None:
        drop(other, NAME)
        (create_appendable if appendable else create)(other, NAME, {"p=1": ["next"]})

    late.adds_late, late._meanwhile = True, meanwhile
    append(writer, NAME, {"p=1": ["late"]})
    assert sorted(row for rows in rows_of(other, NAME).values() for row in rows) == ["next"]
    assert_whole(other, NAME)
