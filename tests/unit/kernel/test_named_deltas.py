"""The deltas that a view names: those of one version, whoever has slept, died or lost an answer."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import pytest

from kernel.meanwhile import Proxy, die_at, meeting
from kernel.support import (
    add_delta,
    assert_nothing_orphaned,
    assert_whole,
    begin_delta,
    create,
    locations,
    make_one_delta,
    merged_deltas,
    move_into_base,
    published,
    retire_deltas,
)
from kernel.support import add_overlay as lay
from lakemerge.errors import UnsupportedTable
from lakemerge.kernel import (
    NAMED,
    Kernel,
    Settings,
    TableName,
    add_overlay,
    history,
)
from lakemerge.kernel.ports import ReplyLost
from lakemerge.kernel.ports.metastore import HiveTable, Refused
from lakemerge.testing import World

NAME, BASE = TableName("s", "t"), TableName("s", "t__base")
SHAPES = {"partitioned": {"p=1": ["old"], "p=2": ["old"]}, "whole": {"": ["old"]}}


@pytest.fixture(params=SHAPES)
def part(request: pytest.FixtureRequest, world: World) -> str:
    """A partition of a table that is merged on read, with a delta."""
    made(world, request.param)
    return next(iter(SHAPES[request.param]))


def made(world: World, shape: str) -> None:
    kernel = Kernel(world.process())
    create(kernel, NAME, SHAPES[shape])
    lay(kernel, NAME)
    add_delta(kernel, NAME, "delta 1")


def test_a_compaction_leaves_what_the_text_before_it_names(part: str, kernel: Kernel) -> None:
    add_delta(kernel, NAME, "delta 2")
    make_one_delta(kernel, NAME)
    assert merged_deltas(kernel, NAME) == ("one of 2",)
    assert published(kernel, NAME, "deltas") == ("delta 1", "delta 2", "one of 2")
    move_into_base(kernel, NAME, {part: ["merged"]})
    assert merged_deltas(kernel, NAME) == ()
    assert published(kernel, NAME, "deltas") == ("delta 1", "delta 2", "one of 2")
    retire_deltas(kernel, NAME)
    assert published(kernel, NAME, "deltas") == ()
    assert_nothing_orphaned(kernel, NAME)


def test_the_base_has_the_rows_before_the_text_names_their_delta_no_more(part: str, world: World) -> None:
    """At each call of a compaction, a reader finds the delta by the text, or the rows in the base, or both."""
    seen = set()

    def look() -> None:
        kernel = Kernel(world.process())
        rows = [
            kernel.files.read_text(file.path) for file in kernel.files.walk(locations(kernel, BASE)[part])
        ]
        seen.add((merged_deltas(kernel, NAME), any("merged" in row for row in rows)))

    for number in itertools.count(1):
        if not meeting(world, number, look, lambda kernel: move_into_base(kernel, NAME, {part: ["merged"]})):
            break
        Kernel(world.process()).recover(NAME)
        move_into_base(Kernel(world.process()), NAME, {part: ["old"]})
        add_delta(Kernel(world.process()), NAME, "delta 1")
    assert ((), False) not in seen
    assert {(("delta 1",), False), (("delta 1",), True)} <= seen


@pytest.mark.parametrize("shape", SHAPES)
def test_a_writer_that_sleeps_at_any_call_puts_no_older_text_back(shape: str) -> None:
    part = next(iter(SHAPES[shape]))
    for number in itertools.count(1):
        world = World()
        made(world, shape)

        def others(world: World = world) -> None:
            world.timeline.pass_by(10 * Settings().lease_seconds)
            kernel = Kernel(world.process())
            kernel.recover(NAME)
            add_delta(kernel, NAME, "delta 3")
            make_one_delta(kernel, NAME)
            move_into_base(kernel, NAME, {part: ["merged"]})
            add_delta(kernel, NAME, "delta 4")
            retire_deltas(kernel, NAME)

        met = meeting(world, number, others, lambda kernel: add_delta(kernel, NAME, "delta 2"))
        kernel = Kernel(world.process())
        assert_whole(kernel, NAME)  # the view's text among others, before anybody puts it right
        if not met:
            break
        assert "delta 4" in merged_deltas(kernel, NAME), f"before call {number}"
        assert "delta 1" not in merged_deltas(kernel, NAME), f"before call {number}"
    assert number > 20


@pytest.mark.parametrize("step", ["settled", "deltas shown"])
def test_what_a_dead_compaction_has_not_shown_the_next_one_shows_that_opens_the_table(
    step: str, part: str, world: World
) -> None:
    die_at(world, step, lambda kernel: move_into_base(kernel, NAME, {part: ["merged"]}))
    world.timeline.pass_by(10 * Settings().lease_seconds)
    kernel = Kernel(world.process())
    kernel.settled(NAME)
    assert merged_deltas(kernel, NAME) == ()
    assert_whole(kernel, NAME)


class OfView(Proxy):
    """A metastore whose first answer to a change of the view is lost, or its request."""

    def __init__(self, inner: Any, *, arrives: bool) -> None:
        self._inner, self._arrives, self._lost = inner, arrives, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def alter_table(self, name: TableName, table: HiveTable, **expected: Any) -> None:
        loses = name == NAME and not self._lost
        self._lost = self._lost or loses
        if self._arrives or not loses:
            self._inner.alter_table(name, table, **expected)
        if loses:
            raise ReplyLost(expected="an answer", found="none", action="None.")


@pytest.mark.parametrize("arrives", [True, False])
def test_a_call_without_an_answer_that_shows_a_delta(arrives: bool, part: str, world: World) -> None:
    ports = world.process()
    metastore = OfView(ports.metastore, arrives=arrives)
    add_delta(Kernel(dataclasses.replace(ports, metastore=metastore)), NAME, "delta 2")
    assert metastore._lost
    assert merged_deltas(Kernel(world.process()), NAME) == ("delta 1", "delta 2")
    assert_whole(Kernel(world.process()), NAME)


class Short(Proxy):
    """A metastore that takes no long view, as one on Derby."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def create_table(self, table: HiveTable) -> None:
        _require_short(table)
        self._inner.create_table(table)

    def alter_table(self, name: TableName, table: HiveTable, **expected: Any) -> None:
        _require_short(table)
        self._inner.alter_table(name, table, **expected)


def _require_short(table: HiveTable) -> None:
    if len(table.view_text) > 32_700:
        raise Refused("a change", "MetaException", "A truncation error was encountered")


def add_deltas(kernel: Kernel, count: int) -> None:
    for number in range(count):
        with begin_delta(kernel, NAME, f"delta {number:02}") as txn:
            txn.commit()


def test_a_delta_too_many_for_the_views_length_is_refused_before_its_commit(world: World) -> None:
    ports = world.process()
    kernel = Kernel(dataclasses.replace(ports, metastore=Short(ports.metastore)))
    create(kernel, NAME, SHAPES["partitioned"])
    with kernel.begin(NAME, "write_mode") as txn:
        add_overlay(txn, f"select {NAMED} {'x' * 32_000}", ["line"])
        txn.commit()
    with pytest.raises(UnsupportedTable, match="lakemerge_compact"):
        add_deltas(kernel, 100)
    added = merged_deltas(kernel, NAME)
    assert len(added) >= 20
    assert history(kernel, NAME)[0].version == 2 + len(added)
    assert_whole(kernel, NAME)
    make_one_delta(kernel, NAME)
    add_delta(kernel, NAME, "another")
    assert merged_deltas(kernel, NAME) == ("another", f"one of {len(added)}")
    assert_nothing_orphaned(kernel, NAME)
