"""Rows that are made anew by a process that dies, beside each call of whoever finishes or clears up after it."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Sequence
from functools import partial

import pytest

from kernel.meanwhile import meeting
from kernel.support import (
    COLUMNS,
    KEYS,
    NO_RETENTION,
    OTHER_KEYS,
    Died,
    assert_nothing_orphaned,
    assert_whole,
    create,
    merge,
    rows_of,
    stage,
)
from lakemerge.errors import CommitConflict, TableNotFound
from lakemerge.kernel import Kernel, TableName, as_of_group
from lakemerge.kernel.maintenance.drop import drop
from lakemerge.kernel.maintenance.vacuum import vacuum
from lakemerge.testing import World

NAME = TableName("s", "t")
OLD = {"p=1": ["old"], "p=2": ["old"]}
#: Where a process that makes the row anew dies: before the old one goes, while there is none, before it clears up.
STEPS = ("row prepared", "row moved", "settled")


def rebuild_and_die(world: World, step: str, text: str) -> None:
    """Give the table its other partition columns, and die at a step."""
    ports = world.process()

    def reached(name: str) -> None:
        if name == step and own:
            raise Died

    own: list[str] = []
    kernel = Kernel(ports, step=reached)
    transaction = kernel.begin(NAME, "replace")  # finishes what others have left
    transaction.replace_all()
    by_p = kernel.table(NAME).partition_columns == OTHER_KEYS
    transaction.set_schema(COLUMNS, KEYS if by_p else OTHER_KEYS)
    stage(kernel, transaction, {"p=1" if by_p else "q=1/r=x": [text]})
    own.append(transaction.txn)
    with pytest.raises(Died):
        transaction.commit()
    world.running.discard(ports.host.owner().pid)


def commit(kernel: Kernel) -> None:
    with contextlib.suppress(CommitConflict):  # the table has other partition columns by now
        merge(kernel, NAME, {"p=2": ["more"]})


ACTORS: dict[str, Callable[[Kernel], object]] = {
    "recover": lambda kernel: kernel.recover(NAME),
    "open": lambda kernel: kernel.open(NAME),
    "vacuum": lambda kernel: vacuum(
        kernel, NAME, retention=NO_RETENTION, dry_run=False, allow_short_retention=True
    ),
    "commit": commit,
    "drop finished": lambda kernel: kernel.drops.finish(NAME),
}


def prepare_settled(world: World) -> None:
    create(Kernel(world.process()), NAME, OLD)


def prepare_uncleared(world: World) -> None:
    """A process had given the row its place, and died before it cleared up."""
    prepare_settled(world)
    rebuild_and_die(world, "settled", "old")


def prepare_missing(world: World) -> None:
    """A process has died while there was no row."""
    prepare_settled(world)
    rebuild_and_die(world, "row moved", "old")


def prepare_half_dropped(world: World) -> None:
    """A drop has listed what the table leaves, and died."""
    prepare_settled(world)
    kernel = Kernel(world.process())
    kernel.drops.prepare(kernel.table(NAME))


PREPARATIONS = {
    prepare.__name__.removeprefix("prepare_"): prepare
    for prepare in (prepare_settled, prepare_uncleared, prepare_missing, prepare_half_dropped)
}


def rebuild_in_turn(world: World, steps: Sequence[str]) -> None:
    for step in steps:
        Kernel(world.process()).exists(NAME)  # finishes what the one before has left
        rebuild_and_die(world, step, f"new at {step}")


@pytest.mark.parametrize("steps", [*((step,) for step in STEPS), ("settled", "row moved")], ids=" and ".join)
@pytest.mark.parametrize("before", PREPARATIONS)
@pytest.mark.parametrize("actor", ACTORS)
def test_a_row_that_is_made_anew_meanwhile_is_not_lost(
    actor: str, before: str, steps: tuple[str, ...]
) -> None:
    for number in itertools.count(1):
        world = World()
        PREPARATIONS[before](world)
        if not meeting(world, number, partial(rebuild_in_turn, world, steps), ACTORS[actor]):
            break
        kernel = Kernel(world.process())
        kernel.open(NAME)
        rows = [row for partition in rows_of(kernel, NAME).values() for row in partition]
        assert f"new at {steps[-1]}" in rows, f"before call {number}"
        kernel.recover(NAME)
        assert_whole(kernel, NAME)
        assert_nothing_orphaned(kernel, NAME)
        assert [row.name for row in kernel.metastore.table_summaries("s")] == ["t"], f"before call {number}"
    assert number > 1


@pytest.mark.parametrize("step", STEPS)
def test_a_drop_beside_it_removes_all_of_it(step: str) -> None:
    for number in itertools.count(1):
        world = World()
        prepare_settled(world)

        def rebuild(world: World = world) -> None:
            if Kernel(world.process()).exists(NAME):
                rebuild_and_die(world, step, "new")

        if not meeting(world, number, rebuild, lambda kernel: drop(kernel, NAME)):
            break
        kernel = Kernel(world.process())
        assert not kernel.exists(NAME), f"before call {number}"
        assert kernel.metastore.table_summaries("s") == [], f"before call {number}"
        kernel.drops.finish(NAME)
        assert list(kernel.files.walk(kernel.default_root(NAME))) == [], f"before call {number}"
    assert number > 1


@pytest.mark.parametrize("step", STEPS)
def test_a_pinned_read_finds_the_version_whose_row_is_being_exchanged(step: str, world: World) -> None:
    prepare_settled(world)
    rebuild_and_die(world, step, "new")
    (found,) = as_of_group(Kernel(world.process()), [NAME]).values()
    assert (found.version, found.partition_columns) == (2, OTHER_KEYS)


def test_a_pinned_read_finds_no_table_that_was_dropped(world: World) -> None:
    prepare_uncleared(world)
    Kernel(world.process()).metastore.drop_table(NAME)  # by another program
    with pytest.raises(TableNotFound):
        as_of_group(Kernel(world.process()), [NAME])
