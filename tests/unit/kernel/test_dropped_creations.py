"""Tables that others drop, or are about to drop, before their maker has had the answer of the metastore."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from kernel.meanwhile import Meanwhile
from kernel.support import COLUMNS, KEYS, Died, Rows, assert_nothing_orphaned, create, merge, rows_of, stage
from lakemerge.errors import CommitConflict, CommitUnfinished
from lakemerge.kernel import HiveTable, Kernel, TableDefinition, TableName, Transaction
from lakemerge.kernel.maintenance.drop import drop
from lakemerge.kernel.ports.metastore import ReplyLost
from lakemerge.testing import LateCalls, World

NAME, SECOND = TableName("s", "t"), TableName("s", "u")
SHAPES: dict[str, Rows] = {"partitioned": {"p=1": ["mine"]}, "whole": {"": ["mine"]}}

pytestmark = pytest.mark.parametrize("shape", SHAPES)


def making(world: World, others: Callable[[], None]) -> Kernel:
    """A kernel that makes a table; others act right after the metastore has made it."""
    ports = world.process()
    metastore: Any = Meanwhile(ports.metastore, "create_table", others, after=True)
    return Kernel(dataclasses.replace(ports, metastore=metastore))


def begin(kernel: Kernel, shape: str) -> Transaction:
    """An open transaction that makes a table."""
    txn = kernel.create(TableDefinition(NAME, COLUMNS, KEYS if shape == "partitioned" else ()))
    stage(kernel, txn, SHAPES[shape])
    return txn


def lose_reply() -> None:
    raise ReplyLost(expected="an answer", found="none", action="Look.")


def test_a_dropped_table_is_not_made_again(shape: str, world: World, kernel: Kernel) -> None:
    def drop_it() -> None:
        drop(kernel, NAME)
        lose_reply()

    txn = begin(making(world, drop_it), shape)
    with pytest.raises(CommitConflict), txn:
        txn.commit()
    assert not kernel.exists(NAME)
    assert not kernel.files.list(txn.layout.data_of(txn.txn))
    assert not kernel.files.exists(txn.layout.manifest_of(txn.txn))


def test_a_group_does_not_make_a_dropped_table_again(shape: str, world: World, kernel: Kernel) -> None:
    create(kernel, SECOND, {"p=1": ["old"]})

    def drop_it() -> None:
        drop(kernel, NAME)
        lose_reply()

    maker = making(world, drop_it)
    txn, second = begin(maker, shape), maker.begin(SECOND, "merge")
    stage(maker, second, {"p=1": ["mine"]})
    with pytest.raises(CommitConflict), txn, second:
        maker.commit_together([txn, second])
    assert not kernel.exists(NAME)
    assert rows_of(kernel, SECOND) == {"p=1": ["old"]}


def test_a_table_that_was_made_and_dropped_has_stood(shape: str, world: World, kernel: Kernel) -> None:
    txn = begin(making(world, lambda: drop(kernel, NAME)), shape)
    with pytest.raises(CommitUnfinished, match="it was dropped meanwhile"), txn:
        txn.commit()
    assert not kernel.exists(NAME)


def test_a_table_with_a_later_version_stands_though_a_drop_of_it_died(
    shape: str, world: World, kernel: Kernel
) -> None:
    """The drop dies right before it drops the row, and another process commits to the table."""

    def begin_to_drop() -> None:
        table = kernel.table(NAME)
        assert kernel.drops.prepare(table) is not None
        kernel.creations.close_of(txn.layout, table.parameters["lakemerge.id"])
        merge(kernel, NAME, {"p=2": ["later"]} if shape == "partitioned" else {"": ["later"]})

    txn = begin(making(world, begin_to_drop), shape)
    with txn:
        txn.commit()
    assert txn.state == "committed"
    later = {"p=1": ["mine"], "p=2": ["later"]} if shape == "partitioned" else {"": ["later"]}
    assert rows_of(kernel, NAME) == later
    assert_nothing_orphaned(kernel, NAME)


@pytest.mark.parametrize("is_dropped", [False, True], ids=["no drop", "a drop that died"])
def test_a_table_that_came_too_late_leaves_no_row_if_its_maker_dies(
    shape: str, is_dropped: bool, world: World, kernel: Kernel
) -> None:
    """It dies right after its row has gone aside."""
    ports = world.process()

    def close() -> None:
        if is_dropped:
            kernel.files.write_text(f"{txn.layout.root}/by-hand/part-0.orc", "of the table that is dropped")
            assert kernel.drops.prepare(kernel.table(NAME)) is not None
        kernel.creations.close_of(txn.layout, kernel.table(NAME).parameters["lakemerge.id"])

    def die() -> None:
        raise Died

    metastore: Any = Meanwhile(ports.metastore, "create_table", close, after=True)
    metastore = Meanwhile(metastore, "alter_table", die, after=True)
    txn = begin(Kernel(dataclasses.replace(ports, metastore=metastore)), shape)
    with pytest.raises(Died):
        txn.commit()
    world.running.discard(ports.host.owner().pid)
    assert [one.name for one in kernel.metastore.table_summaries("s")] == [f"t__old_{txn.txn[-12:]}"]
    create(kernel, NAME, SHAPES[shape])
    assert [one.name for one in kernel.metastore.table_summaries("s")] == ["t"]
    assert rows_of(kernel, NAME) == SHAPES[shape]
    assert not kernel.files.list(f"{txn.layout.root}/by-hand")


@pytest.mark.parametrize("is_dropped", [False, True], ids=["no drop", "a drop that died"])
def test_a_table_that_came_too_late_takes_no_list_of_a_drop_away(
    shape: str, is_dropped: bool, world: World, kernel: Kernel
) -> None:
    def close() -> None:
        if is_dropped:
            assert kernel.drops.prepare(kernel.table(NAME)) is not None
        kernel.creations.close_of(txn.layout, kernel.table(NAME).parameters["lakemerge.id"])

    txn = begin(making(world, close), shape)
    with pytest.raises(CommitConflict), txn:
        txn.commit()
    assert kernel.files.exists(txn.layout.dropping) == is_dropped
    kernel.drops.finish(NAME)
    assert not kernel.files.exists(txn.layout.dropping)
    assert kernel.metastore.table_summaries("s") == []


@pytest.mark.parametrize("dies", [True, False], ids=["its maker dies", "its maker is alive"])
def test_a_late_call_of_its_maker_does_not_bring_a_dropped_table_back(
    shape: str, dies: bool, world: World, kernel: Kernel
) -> None:
    """The maker's first call comes after the table that its second call has made was dropped."""
    ports = world.process()
    late = LateCalls(world.metastore)
    late.lose("create_table")

    def drop_it() -> None:
        drop(kernel, NAME)
        if dies:
            raise Died
        late.arrive()

    second: Any = Meanwhile(
        late.metastore, "create_table", drop_it, after=True, when=lambda _: bool(late.on_their_way)
    )
    txn = begin(Kernel(dataclasses.replace(ports, metastore=second)), shape)
    with pytest.raises(Died if dies else CommitConflict):
        txn.commit()
    world.running.discard(ports.host.owner().pid)
    late.arrive()
    assert not kernel.exists(NAME)
    create(kernel, NAME, {part: ["next"] for part in SHAPES[shape]})
    assert rows_of(kernel, NAME) == {part: ["next"] for part in SHAPES[shape]}


def test_what_was_dropped_is_not_even_sent_again(shape: str, world: World, kernel: Kernel) -> None:
    ports = world.process()
    sent: list[str] = []

    class Counting:
        def __getattr__(self, name: str) -> Any:
            return getattr(ports.metastore, name)

        def create_table(self, row: HiveTable) -> None:
            sent.append(row.name.name)
            ports.metastore.create_table(row)
            drop(kernel, NAME)
            lose_reply()

    txn = begin(Kernel(dataclasses.replace(ports, metastore=Counting())), shape)
    with pytest.raises(CommitConflict), txn:
        txn.commit()
    assert sent == [NAME.name]
