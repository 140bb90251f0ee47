"""Deltas that a process publishes which has slept past its lease, when others have made one delta of all."""

from __future__ import annotations

import dataclasses
import itertools
import threading
from collections.abc import Callable
from typing import Any

import pytest

from kernel.meanwhile import Meanwhile
from kernel.support import (
    COLUMNS,
    Died,
    Rows,
    add_delta,
    add_overlay,
    assert_nothing_orphaned,
    assert_whole,
    create,
    merged_deltas,
    published,
)
from lakemerge.kernel import (
    HiveColumn,
    HiveTable,
    Kernel,
    Settings,
    TableName,
    mark_folded,
    remove_overlay,
    retire_folded,
)
from lakemerge.kernel.ports import ReplyLost
from lakemerge.testing import World

NAME = TableName("s", "t")
ROWS: Rows = {"p=1": ["old"], "p=2": ["old"]}


def fold(world: World) -> None:
    """What others do: they finish what is claimed, make one delta of all, and take the others away."""
    world.timeline.pass_by(10 * Settings().lease_seconds)
    kernel = Kernel(world.process())
    kernel.recover(NAME)
    with kernel.begin(NAME, "compact", data_change=False) as txn:
        directory = txn.sidecar_directory("deltas")
        kernel.files.write_text(f"{directory}/part-0.orc", "both")
        assert txn.base is not None
        mark_folded(txn, txn.base.sidecars["deltas"], [directory])
        txn.commit()
    with kernel.begin(NAME, "compact", data_change=False) as txn:
        assert txn.base is not None
        retire_folded(txn, txn.base.sidecars["folded_deltas"])
        txn.commit()


@pytest.fixture
def kernel(world: World) -> Kernel:
    """Beside a table that is merged on read, with a delta."""
    kernel = Kernel(world.process())
    create(kernel, NAME, ROWS)
    add_overlay(kernel, NAME)
    add_delta(kernel, NAME, "delta 1")
    return kernel


def late(
    world: World, others: Callable[[], None], after: Callable[[str], None] = lambda call: None
) -> Kernel:
    """A kernel that sleeps right before it publishes a delta, while others are at work.

    Args:
        after: called with each later call of the metastore, before that is made.
    """
    ports = world.process()
    slept: list[bool] = []

    def meet() -> None:
        others()
        slept.append(True)

    class Then:
        def __getattr__(self, name: str) -> Any:
            found = getattr(sleeper, name)
            if not slept:
                return found

            def call(*args: Any, **kwargs: Any) -> Any:
                after(name)
                return found(*args, **kwargs)

            return call

    sleeper = Meanwhile(ports.metastore, "add_partitions", meet)
    return Kernel(dataclasses.replace(ports, metastore=Then()))


def test_it_does_not_stay_beside_what_took_its_place(world: World, kernel: Kernel) -> None:
    add_delta(late(world, lambda: fold(world)), NAME, "delta 2")
    assert published(kernel, NAME, "deltas") == ("both",)
    assert_nothing_orphaned(kernel, NAME)


@pytest.mark.parametrize("call", ["get_table", "partition_names", "alter_partitions", "drop_partition"])
def test_nor_if_a_call_fails_that_would_put_it_right(call: str, world: World, kernel: Kernel) -> None:
    failed: list[str] = []

    def fail(name: str) -> None:
        if name == call and not failed:
            failed.append(name)
            raise ReplyLost(expected="an answer", found="none", action="None.")

    add_delta(late(world, lambda: fold(world), fail), NAME, "delta 2")
    assert failed
    assert published(kernel, NAME, "deltas") == ("both",)
    assert_whole(kernel, NAME)


def test_a_recovery_takes_it_away_if_its_process_dies(world: World, kernel: Kernel) -> None:
    def die(name: str) -> None:
        raise Died

    with pytest.raises(Died):
        add_delta(late(world, lambda: fold(world), die), NAME, "delta 2")
    assert published(kernel, NAME, "deltas") == ("both", "delta 2")
    assert merged_deltas(kernel, NAME) == ("both",), "the view does not name it"
    assert kernel.recover(NAME) == ["put right what a writer that came too late had shown beside the table"]
    assert published(kernel, NAME, "deltas") == ("both",)
    assert kernel.recover(NAME) == []
    assert_whole(kernel, NAME)


def test_a_table_of_deltas_that_is_made_again_too_late_is_not_the_next_views(world: World) -> None:
    """Its maker has slept: the view was gone by then, and the table has got a column since."""
    kernel, more = Kernel(world.process()), HiveColumn("more", "int")
    create(kernel, NAME, ROWS)

    def others() -> None:
        world.timeline.pass_by(10 * Settings().lease_seconds)
        kernel.recover(NAME)
        with kernel.begin(NAME, "write_mode") as txn:
            remove_overlay(txn)
            txn.commit()
        with kernel.begin(NAME, "alter") as txn:
            txn.read(None)
            txn.set_schema((*COLUMNS, more))
            txn.commit()

    def is_of_deltas(table: HiveTable) -> bool:
        return table.name.name.endswith("__deltas")

    def die() -> None:
        raise Died

    ports = world.process()
    dying = Meanwhile(ports.metastore, "create_table", die, after=True, when=is_of_deltas)
    slow: Any = Meanwhile(dying, "create_table", others, when=is_of_deltas)
    with pytest.raises(Died):
        add_overlay(Kernel(dataclasses.replace(ports, metastore=slow)), NAME)
    world.running.discard(ports.host.owner().pid)
    add_overlay(kernel, NAME)
    add_delta(kernel, NAME, "delta")
    made = kernel.metastore.get_table(TableName("s", "t__deltas"))
    assert made is not None
    assert more in made.columns
    assert merged_deltas(kernel, NAME) == ("delta",)
    assert_nothing_orphaned(kernel, NAME)


def test_who_puts_it_right_leaves_the_delta_of_a_claim_alone() -> None:
    """Another commit has published its delta and is about to settle, at any moment of the other's work."""
    for number in itertools.count(1):
        world = World()
        create(Kernel(world.process()), NAME, ROWS)
        add_overlay(Kernel(world.process()), NAME)
        add_delta(Kernel(world.process()), NAME, "delta 1")
        shown, may_settle = threading.Event(), threading.Event()

        def reached(step: str, shown: threading.Event = shown, go_on: threading.Event = may_settle) -> None:
            if step == "side data published":
                shown.set()
                assert go_on.wait(60)

        claimant = Kernel(world.process(), step=reached)
        thread = threading.Thread(target=add_delta, args=(claimant, NAME, "delta 3"))
        calls = itertools.count(1)

        def claim(
            name: str,
            calls: itertools.count[int] = calls,
            number: int = number,
            thread: threading.Thread = thread,
            shown: threading.Event = shown,
        ) -> None:
            if next(calls) == number:
                thread.start()
                assert shown.wait(60)

        add_delta(late(world, lambda world=world: fold(world), claim), NAME, "delta 2")  # type: ignore[misc]
        if thread.ident is None:
            break
        may_settle.set()
        thread.join()
        assert set(published(Kernel(world.process()), NAME, "deltas")) == {"both", "delta 3"}, (
            f"before call {number}"
        )
    assert number > 5
