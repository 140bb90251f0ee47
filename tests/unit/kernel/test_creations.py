"""Tables whose creation has no answer, that come too late, or that take the place of a view."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from kernel.meanwhile import Meanwhile, die_at
from kernel.support import (
    COLUMNS,
    KEYS,
    Rows,
    assert_nothing_orphaned,
    create,
    locations,
    names_in_metastore,
    rows_of,
    stage,
)
from lakemerge.errors import CommitConflict, CommitInDoubt, MetastoreError
from lakemerge.kernel import HiveTable, Kernel, TableDefinition, TableName, Transaction, drop
from lakemerge.kernel.ports.metastore import ReplyLost, Storage
from lakemerge.testing import World

NAME, OTHER = TableName("s", "t"), TableName("s", "other")
SHAPES: dict[str, Rows] = {"partitioned": {"p=1": ["mine"]}, "whole": {"": ["mine"]}}
VIEW = HiveTable(NAME, "VIRTUAL_VIEW", Storage(columns=COLUMNS), view_text="select 1")


class Silent:
    """A metastore that answers no call that makes a table; they may be carried out later."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.sent: list[Callable[[], None]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def create_table(self, table: HiveTable) -> None:
        self.sent.append(partial(self.inner.create_table, table))
        raise ReplyLost(expected="an answer", found="none", action="None.")


def silent(world: World) -> tuple[Kernel, Silent]:
    ports = world.process()
    metastore: Any = Silent(ports.metastore)
    return Kernel(dataclasses.replace(ports, metastore=metastore)), metastore


def begin(
    kernel: Kernel, rows: Rows, name: TableName = NAME, *, in_place_of_view: bool = False
) -> Transaction:
    keys = () if list(rows) == [""] else KEYS
    transaction = kernel.create(TableDefinition(name, COLUMNS, keys), in_place_of_view=in_place_of_view)
    stage(kernel, transaction, rows)
    return transaction


@pytest.mark.parametrize("shape", SHAPES)
def test_a_creation_without_an_answer_is_in_doubt(shape: str, world: World) -> None:
    writer, metastore = silent(world)
    transaction = begin(writer, SHAPES[shape])
    with pytest.raises(CommitInDoubt), transaction:
        transaction.commit()
    assert transaction.state == "in doubt"
    assert len(metastore.sent) < 10
    metastore.sent[0]()  # now it comes, with all its rows
    kernel = Kernel(world.process())
    kernel.recover(NAME)
    assert rows_of(kernel, NAME) == SHAPES[shape]
    assert_nothing_orphaned(kernel, NAME)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_creation_that_comes_when_its_files_are_gone_is_removed(
    shape: str, world: World, kernel: Kernel
) -> None:
    writer, metastore = silent(world)
    with pytest.raises(CommitInDoubt), begin(writer, SHAPES[shape]) as transaction:
        transaction.commit()
    create(kernel, NAME, SHAPES[shape])
    drop(kernel, NAME)
    metastore.sent[0]()
    assert not kernel.exists(NAME)
    metastore.sent[1]()
    begin(kernel, SHAPES[shape]).commit()
    assert rows_of(kernel, NAME) == SHAPES[shape]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_group_whose_new_table_has_no_answer_publishes_nothing(
    shape: str, world: World, kernel: Kernel
) -> None:
    create(kernel, OTHER, {"p=1": ["old"]})
    writer, metastore = silent(world)
    first, second = writer.begin(OTHER, "append"), begin(writer, SHAPES[shape])
    stage(writer, first, {"p=2": ["mine"]})
    with pytest.raises(MetastoreError) as caught, first, second:
        writer.commit_together([first, second])
    assert not isinstance(caught.value, CommitInDoubt)
    assert len(metastore.sent) < 10
    metastore.sent[0]()
    assert not kernel.exists(NAME)
    begin(kernel, SHAPES[shape]).commit()
    assert rows_of(kernel, NAME) == SHAPES[shape]
    assert rows_of(kernel, OTHER) == {"p=1": ["old"]}


def test_a_table_that_has_lost_its_manifest_and_has_rows_stays(kernel: Kernel) -> None:
    create(kernel, NAME, SHAPES["whole"])
    state = kernel.open(NAME)
    kernel.files.delete(state.layout.manifest_of(state.txn))
    assert kernel.exists(NAME)
    assert rows_of(kernel, NAME) == SHAPES["whole"]


@pytest.mark.parametrize("compares", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_view_gives_way_to_a_table_without_a_moment_in_which_there_is_neither(
    shape: str, compares: bool, world: World
) -> None:
    world.metastore.honours_expectations = compares
    world.metastore.create_table(VIEW)
    kernel, kinds = Kernel(world.process()), []
    alter = world.metastore.alter_table

    def watched(*args: Any, **kwargs: Any) -> None:
        alter(*args, **kwargs)
        found = world.metastore.get_table(NAME)
        kinds.append(found.kind if found else None)

    world.metastore.alter_table = watched  # type: ignore[method-assign]
    begin(kernel, SHAPES[shape], in_place_of_view=True).commit()
    assert kinds
    assert set(kinds) == {"MANAGED_TABLE"}
    assert rows_of(kernel, NAME) == SHAPES[shape]
    assert names_in_metastore(kernel, NAME) == {"t"}


@pytest.mark.parametrize("step", ["staged", "manifest written"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_view_stays_when_the_table_that_was_to_take_its_place_is_not_claimed(
    shape: str, step: str, world: World
) -> None:
    world.metastore.create_table(VIEW)
    die_at(world, step, lambda kernel: begin(kernel, SHAPES[shape], in_place_of_view=True).commit())
    found = world.metastore.get_table(NAME)
    assert found is not None
    assert found.kind == "VIRTUAL_VIEW"


@pytest.mark.parametrize("shape", SHAPES)
def test_a_table_that_took_the_place_of_the_view_meanwhile_stays(shape: str, world: World) -> None:
    world.metastore.create_table(VIEW)
    other, ports = Kernel(world.process()), world.process()

    def first() -> None:
        begin(other, {part: ["other"] for part in SHAPES[shape]}, in_place_of_view=True).commit()

    slow: Any = Meanwhile(ports.metastore, "alter_table", first)
    slow.compares = True
    writer = Kernel(dataclasses.replace(ports, metastore=slow))
    with (
        pytest.raises(CommitConflict),
        begin(writer, SHAPES[shape], in_place_of_view=True) as transaction,
    ):
        transaction.commit()
    assert rows_of(other, NAME) == {part: ["other"] for part in SHAPES[shape]}
    assert_nothing_orphaned(other, NAME)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_table_takes_the_place_of_a_view_in_a_group(shape: str, world: World, kernel: Kernel) -> None:
    create(kernel, OTHER, {"p=1": ["old"]})
    world.metastore.create_table(VIEW)
    first, second = kernel.begin(OTHER, "append"), begin(kernel, SHAPES[shape], in_place_of_view=True)
    stage(kernel, first, {"p=2": ["mine"]})
    kernel.commit_together([first, second])
    assert rows_of(kernel, NAME) == SHAPES[shape]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_view_is_made_again_when_the_group_is_given_up(shape: str, world: World, kernel: Kernel) -> None:
    create(kernel, OTHER, {"p=1": ["old"]})
    world.metastore.create_table(VIEW)
    before = world.metastore.get_table(NAME)

    def interfere(step: str) -> None:
        steps.append(step)
        if steps.count("table claimed") == 2:
            other.files.write_text(f"{locations(other, OTHER)['p=1']}/foreign.orc", "more")
            world.timeline.pass_by(5)

    steps: list[str] = []
    other = Kernel(world.process())
    writer = Kernel(world.process(), step=interfere)
    first, second = writer.begin(OTHER, "merge"), begin(writer, SHAPES[shape], in_place_of_view=True)
    first.read(["p=1"])
    stage(writer, first, {"p=1": ["mine"]})
    with pytest.raises(CommitConflict), first, second:
        writer.commit_together([first, second])
    found = world.metastore.get_table(NAME)
    assert before is not None
    assert found is not None
    assert (found.kind, found.view_text, found.columns) == (before.kind, before.view_text, before.columns)
