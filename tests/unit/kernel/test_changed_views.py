"""Views of tables that are merged on read that others have changed, hidden, or described beside a commit."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from kernel.meanwhile import Meanwhile
from kernel.support import (
    Rows,
    add_delta,
    add_overlay,
    assert_nothing_orphaned,
    assert_whole,
    begin_overlay,
    create,
    merged_deltas,
    move_into_base,
    rows_of,
    stage,
)
from lakemerge.errors import CommitUnfinished, InvalidTransactionState, UnsupportedTable
from lakemerge.kernel import HiveTable, Kernel, Settings, TableName, remove_overlay, with_parameters
from lakemerge.kernel.ports.metastore import Storage
from lakemerge.testing import World

NAME, BASE = TableName("s", "t"), TableName("s", "t__base")
REMOVED = TableName("s", "t__removed")
SHAPES: dict[str, Rows] = {"partitioned": {"p=1": ["old"], "p=2": ["old"]}, "whole": {"": ["old"]}}


@pytest.fixture(params=SHAPES)
def shape(request: pytest.FixtureRequest) -> Rows:
    return SHAPES[request.param]


@pytest.fixture
def kernel(world: World, shape: Rows) -> Kernel:
    """Beside a table that is merged on read, with a delta."""
    kernel = Kernel(world.process())
    create(kernel, NAME, shape)
    add_overlay(kernel, NAME)
    add_delta(kernel, NAME, "delta 1")
    return kernel


def take_off(kernel: Kernel) -> None:
    with kernel.begin(NAME, "write_mode") as transaction:
        remove_overlay(transaction)
        transaction.commit()


def view_of(kernel: Kernel) -> HiveTable:
    row = kernel.metastore.get_table(NAME)
    assert row is not None
    return row


def describe(row: HiveTable) -> HiveTable:
    return with_parameters(row, {"comment": "described"})


def test_a_description_beside_a_commit_leaves_its_deltas_shown(world: World, kernel: Kernel) -> None:
    ports = world.process()
    between: Any = Meanwhile(ports.metastore, "alter_table", lambda: add_delta(kernel, NAME, "delta 2"))
    assert Kernel(dataclasses.replace(ports, metastore=between)).change_row(NAME, describe)
    assert merged_deltas(kernel, NAME) == ("delta 1", "delta 2")
    assert view_of(kernel).parameters["comment"] == "described"


def test_a_description_of_a_view_that_goes_is_not_put_over_the_table(
    world: World, kernel: Kernel, shape: Rows
) -> None:
    def others() -> None:
        move_into_base(kernel, NAME, shape)
        take_off(kernel)

    ports = world.process()
    between: Any = Meanwhile(ports.metastore, "alter_table", others)
    assert Kernel(dataclasses.replace(ports, metastore=between)).change_row(NAME, describe)
    assert rows_of(kernel, NAME) == shape
    assert view_of(kernel).parameters["comment"] == "described"
    assert_whole(kernel, NAME)


@pytest.mark.parametrize("says_what_it_shows", [True, False])
def test_a_text_that_another_program_has_changed_is_put_back(
    says_what_it_shows: bool, kernel: Kernel, caplog: pytest.LogCaptureFixture
) -> None:
    row = dataclasses.replace(view_of(kernel), view_text="select the base alone")
    if not says_what_it_shows:
        kept = {key: value for key, value in row.parameters.items() if key != "lakemerge.shows"}
        row = dataclasses.replace(row, parameters=kept)
    kernel.metastore.alter_table(NAME, row)
    kernel.open(NAME)
    assert merged_deltas(kernel, NAME) == ("delta 1",)
    assert "has changed the text of its view" in caplog.text
    caplog.clear()
    kernel.open(NAME)
    assert not caplog.text


def test_a_view_of_an_earlier_overlay_that_comes_too_late_is_taken_away(world: World, shape: Rows) -> None:
    kernel = Kernel(world.process())
    create(kernel, NAME, shape)

    def others() -> None:
        world.timeline.pass_by(10 * Settings().lease_seconds)
        kernel.recover(NAME)
        take_off(kernel)
        add_overlay(kernel, NAME)
        add_delta(kernel, NAME, "delta")
        kernel.metastore.drop_table(NAME)  # another program's doing

    def is_view(table: HiveTable) -> bool:
        return table.name == NAME and table.kind == "VIRTUAL_VIEW"

    ports = world.process()
    late: Any = Meanwhile(ports.metastore, "create_table", others, when=is_view)
    add_overlay(Kernel(dataclasses.replace(ports, metastore=late)), NAME)
    kernel.open(NAME)
    assert merged_deltas(kernel, NAME) == ("delta",)
    assert_nothing_orphaned(kernel, NAME)


def made_by_others(metastore: Any, name: TableName) -> None:
    metastore.create_table(
        HiveTable(name, "VIRTUAL_VIEW", Storage(columns=()), parameters={}, view_text="select 1")
    )


def test_a_name_that_is_needed_for_a_moment_and_taken_is_told_before_anything_is_done(
    world: World, shape: Rows
) -> None:
    kernel = Kernel(world.process())
    create(kernel, NAME, shape)
    made_by_others(kernel.metastore, REMOVED)
    with pytest.raises(UnsupportedTable, match=r"the name s\.t__removed to be free"):
        add_overlay(kernel, NAME)
    assert rows_of(kernel, NAME) == shape
    kernel.metastore.drop_table(REMOVED)
    add_overlay(kernel, NAME)


def test_a_view_that_takes_the_name_hides_no_row_of_the_base(
    world: World, kernel: Kernel, shape: Rows
) -> None:
    move_into_base(kernel, NAME, shape)

    def step(done: str) -> None:
        if done == "view removed" and kernel.metastore.get_table(NAME) is None:
            made_by_others(kernel.metastore, NAME)

    with pytest.raises(CommitUnfinished):
        take_off(Kernel(world.process(), step=step))
    assert rows_of(kernel, BASE) == shape
    kernel.metastore.drop_table(NAME)
    world.timeline.pass_by(10 * Settings().lease_seconds)
    kernel.recover(NAME)
    assert rows_of(kernel, NAME) == shape
    assert_nothing_orphaned(kernel, NAME)


def lays(kernel: Kernel, shape: Rows) -> None:
    with begin_overlay(kernel, NAME) as txn:
        stage(kernel, txn, shape)
        txn.commit()


def takes(kernel: Kernel, shape: Rows) -> None:
    with kernel.begin(NAME, "write_mode") as txn:
        txn.read(shape)
        stage(kernel, txn, shape)
        remove_overlay(txn)
        txn.commit()


@pytest.mark.parametrize("laid", [False, True])
def test_rows_that_come_with_a_view_or_go_with_it_are_refused(laid: bool, world: World, shape: Rows) -> None:
    kernel = Kernel(world.process())
    create(kernel, NAME, shape)
    work: Callable[[Kernel, Rows], None] = takes if laid else lays
    if laid:
        add_overlay(kernel, NAME)
    with pytest.raises(InvalidTransactionState, match="only puts its view in its place"):
        work(kernel, shape)
    assert_whole(kernel, NAME)
