"""Views that a process makes or takes off which sleeps past its lease, while others finish its work and go on."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from kernel.meanwhile import die_at, meeting, sleeping
from kernel.support import Rows, add_overlay, assert_nothing_orphaned, assert_whole, create, rows_of
from lakemerge.kernel import Kernel, TableName, is_overlay_view, remove_overlay
from lakemerge.testing import World

NAME = TableName("s", "t")
SHAPES: dict[str, Rows] = {"partitioned": {"p=1": ["old"], "p=2": ["old"]}, "whole": {"": ["old"]}}


def take_off(kernel: Kernel) -> None:
    with kernel.begin(NAME, "write_mode") as transaction:
        remove_overlay(transaction)
        transaction.commit()


def lay(kernel: Kernel) -> None:
    add_overlay(kernel, NAME)


def made_plain(world: World) -> None:
    kernel = Kernel(world.process())
    if kernel.settled(NAME)[1].overlay is not None:
        take_off(kernel)


def laid_anew(world: World) -> None:
    made_plain(world)
    lay(Kernel(world.process()))


def laid_in_part(world: World) -> None:
    """The next view's maker dies while nothing has the name."""
    made_plain(world)
    die_at(world, "table renamed", lay)


def taken_off_in_part(world: World) -> None:
    """The next view is being taken off, by a process that dies while nothing has the name."""
    laid_anew(world)
    die_at(world, "view removed", take_off)


#: What others do, and whether the table is merged on read after it.
OTHERS: dict[Callable[[World], None], bool] = {
    made_plain: False,
    laid_anew: True,
    laid_in_part: True,
    taken_off_in_part: False,
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("others", OTHERS)
@pytest.mark.parametrize("work", [lay, take_off])
def test_who_sleeps_leaves_the_view_of_a_later_version_alone(
    work: Callable[[Kernel], None], others: Callable[[World], None], shape: str
) -> None:
    for number in itertools.count(1):
        world = World()
        met: list[Any] = []
        first = Kernel(world.process())
        create(first, NAME, SHAPES[shape])
        if work is take_off:
            lay(first)
        ports, steps = sleeping(world, number, others, met)
        work(Kernel(ports, step=steps.append))
        world.running.discard(ports.host.owner().pid)
        if not met:
            break
        kernel = Kernel(world.process())
        wanted = {"t", "t__base", "t__deltas"} if OTHERS[others] else {"t"}
        if others in (made_plain, laid_anew):  # by processes that live
            assert {row.name for row in kernel.metastore.table_summaries("s")} == wanted, f"call {number}"
        kernel.recover(NAME)
        row = kernel.metastore.get_table(NAME)
        label = f"before call {number}"
        assert row is not None, label
        assert is_overlay_view(row) == OTHERS[others], label
        assert (kernel.settled(NAME)[1].overlay is not None) == OTHERS[others], label
        assert rows_of(kernel, TableName("s", "t__base") if OTHERS[others] else NAME) == SHAPES[shape], label
        assert {row.name for row in kernel.metastore.table_summaries("s")} == wanted, label
        assert_whole(kernel, NAME)
        assert_nothing_orphaned(kernel, NAME)
    assert number > 1


@pytest.mark.parametrize("shape", SHAPES)
def test_a_recovery_makes_nothing_of_a_view_that_is_taken_off_meanwhile(shape: str) -> None:
    for number in itertools.count(1):
        world = World()
        create(Kernel(world.process()), NAME, SHAPES[shape])
        lay(Kernel(world.process()))

        def others(world: World = world) -> None:
            take_off(Kernel(world.process()))

        if not meeting(world, number, others, lambda slow: slow.recover(NAME)):
            break
        kernel = Kernel(world.process())
        assert [row.name for row in kernel.metastore.table_summaries("s")] == ["t"], f"before call {number}"
        assert rows_of(kernel, NAME) == SHAPES[shape]
    assert number > 10
