"""Rows that are made anew by a process that sleeps past its lease, while others finish its work and go on."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kernel.meanwhile import die_at, sleeping
from kernel.support import (
    COLUMNS,
    KEYS,
    OTHER_KEYS,
    assert_nothing_orphaned,
    assert_whole,
    create,
    merge,
    rows_of,
    stage,
)
from lakemerge.errors import CommitUnfinished, TableNotFound
from lakemerge.kernel import Kernel, TableName
from lakemerge.kernel.maintenance.drop import drop
from lakemerge.kernel.ports.metastore import HiveColumn
from lakemerge.testing import LateCalls, World

NAME = TableName("s", "t")
THIRD_KEYS = (HiveColumn("z", "string"),)


def rebuild(kernel: Kernel, keys: tuple[HiveColumn, ...], partition: str, text: str) -> None:
    """Put other rows, under other partition columns, in the place of a table."""
    with kernel.begin(NAME, "replace") as transaction:
        transaction.replace_all()
        transaction.set_schema(COLUMNS, keys)
        stage(kernel, transaction, {partition: [text]})
        transaction.commit()


def rebuild_late(kernel: Kernel) -> None:
    rebuild(kernel, OTHER_KEYS, "q=1/r=x", "late")


def nothing(world: World) -> None:
    return


def dropped(world: World) -> None:
    drop(Kernel(world.process()), NAME)


def dropped_and_made(world: World) -> None:
    kernel = Kernel(world.process())
    drop(kernel, NAME)
    create(kernel, NAME, {"p=1": ["next"]})


def committed(world: World) -> None:
    kernel = Kernel(world.process())
    kernel.open(NAME)
    by_p = kernel.table(NAME).partition_columns == KEYS
    merge(kernel, NAME, {"p=1" if by_p else "q=1/r=x": ["next"]})


def rebuilt_in_part(world: World) -> None:
    """A later commit makes the row anew as well, and its process dies while there is none."""
    Kernel(world.process()).open(NAME)
    die_at(world, "row moved", lambda kernel: rebuild(kernel, THIRD_KEYS, "z=1", "next"))


OTHERS = (dropped, dropped_and_made, committed, rebuilt_in_part)


def check(world: World, others: Callable[[World], None], label: str) -> None:
    kernel = Kernel(world.process())
    if others is dropped:
        assert not kernel.exists(NAME), label
        assert kernel.metastore.table_summaries("s") == [], label
        return
    kernel.open(NAME)
    rows = [row for partition in rows_of(kernel, NAME).values() for row in partition]
    assert "next" in rows, label
    kernel.recover(NAME)
    assert_whole(kernel, NAME)
    assert_nothing_orphaned(kernel, NAME)
    assert [row.name for row in kernel.metastore.table_summaries("s")] == ["t"], label


@contextlib.contextmanager
def dropped_meanwhile() -> Iterator[None]:
    """Take an error for right that says of a commit which stands that its table was dropped since."""
    try:
        yield
    except CommitUnfinished as error:
        if "dropped" not in error.found:
            raise


@pytest.mark.parametrize("others", OTHERS)
def test_who_makes_a_row_anew_and_sleeps_takes_no_later_ones_place(others: Callable[[World], None]) -> None:
    for number in itertools.count(1):
        world = World()
        met: list[Any] = []
        create(Kernel(world.process()), NAME, {"p=1": ["old"], "p=2": ["old"]})
        ports, steps = sleeping(world, number, others, met)
        # it stands, and may have been dropped since
        may_end = (
            contextlib.nullcontext() if others not in (dropped, dropped_and_made) else dropped_meanwhile()
        )
        with may_end:
            rebuild_late(Kernel(ports, step=steps.append))
        world.running.discard(ports.host.owner().pid)
        if not met:
            break
        check(world, others, f"before call {number}")
    assert number > 1


@pytest.mark.parametrize("step", ["claimed", "row prepared", "row moved"])
@pytest.mark.parametrize("others", OTHERS)
def test_who_finishes_for_another_and_sleeps_takes_no_later_ones_place(
    others: Callable[[World], None], step: str
) -> None:
    for number in itertools.count(1):
        world = World()
        met: list[Any] = []
        create(Kernel(world.process()), NAME, {"p=1": ["old"], "p=2": ["old"]})
        die_at(world, step, rebuild_late)
        ports, steps = sleeping(world, number, others, met)
        steps.append("claimed")  # by the one that is dead
        with contextlib.suppress(TableNotFound) if others is dropped else contextlib.nullcontext():
            Kernel(ports).open(NAME)
        world.running.discard(ports.host.owner().pid)
        if not met:
            break
        check(world, others, f"before call {number}")
    assert number > 1


@pytest.mark.parametrize("then", [nothing, dropped_and_made, committed])
def test_a_new_row_whose_call_was_given_up_does_not_stay(then: Callable[[World], None], world: World) -> None:
    """Its writer has ended long before, and has left nothing that tells of it."""
    create(Kernel(world.process()), NAME, {"p=1": ["old"]})
    ports = world.process()
    late = LateCalls(ports.metastore)
    # not its trial before the claim
    steps = {"claimed": lambda: late.lose("create_table")}
    writer = Kernel(
        dataclasses.replace(ports, metastore=late.metastore),
        step=lambda step: steps.get(step, lambda: None)(),
    )
    rebuild_late(writer)
    then(world)
    kernel = Kernel(world.process())
    rows = rows_of(kernel, NAME)
    late.arrive()
    assert any("__new_" in row.name for row in kernel.metastore.table_summaries("s"))
    kernel.recover(NAME)
    assert [row.name for row in kernel.metastore.table_summaries("s")] == ["t"]
    assert rows_of(kernel, NAME) == rows
    assert_whole(kernel, NAME)
