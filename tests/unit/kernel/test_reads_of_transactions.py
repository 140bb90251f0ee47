"""What a transaction reads when others have gone on, and what it records beside their commits."""

from __future__ import annotations

import dataclasses

import pytest

from kernel.support import (
    COLUMNS,
    WIDER_COLUMNS,
    add_overlay,
    add_plain_partition,
    create,
    merge,
    rows_of,
    stage,
)
from lakemerge.errors import CommitConflict
from lakemerge.kernel import Kernel, TableDefinition, TableName
from lakemerge.kernel.commit.on_read import only_moved_since
from lakemerge.kernel.commit.properties import united_properties
from lakemerge.kernel.commit.retiring import unread_deltas
from lakemerge.testing import World

NAME = TableName("s", "t")


def move_rows(kernel: Kernel) -> int:
    """As a compaction."""
    with kernel.begin(NAME, "compact", data_change=False) as transaction:
        transaction.read(["p=1"])
        stage(kernel, transaction, {"p=1": ["old"]})
        return transaction.commit()


def widen(kernel: Kernel) -> int:
    with kernel.begin(NAME, "alter") as transaction:
        transaction.set_schema(WIDER_COLUMNS)
        return transaction.commit()


def test_a_second_read_finds_that_others_have_gone_on(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"], "p=2": ["old"]})
    with kernel.begin(NAME, "merge") as transaction:
        transaction.read(["p=1"])
        merge(Kernel(world.process()), NAME, {"p=1": ["theirs"]})
        with pytest.raises(CommitConflict, match="came first"):
            transaction.read(["p=2"])


@pytest.mark.parametrize("missing", [True, False])
def test_who_has_looked_for_other_partitions_is_overtaken_by_new_ones(
    world: World, kernel: Kernel, missing: bool
) -> None:
    create(kernel, NAME, {"p=1": ["old"], "p=2": ["old"]})
    other = Kernel(world.process())
    with kernel.begin(NAME, "delete") as transaction:
        transaction.read(["p=1"], missing=missing)
        stage(kernel, transaction, {"p=1": ["new"]})
        # what is there already is as before
        merge(other, NAME, {"p=2": ["theirs"]})
        move_rows(other)
        merge(other, NAME, {"p=3": ["theirs"]})
        if missing:
            with pytest.raises(CommitConflict, match="came first"):
                transaction.commit()
        else:
            transaction.commit()


@pytest.mark.parametrize("missing", [True, False])
def test_who_looks_for_other_partitions_finds_those_of_other_programs(kernel: Kernel, missing: bool) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    add_plain_partition(kernel, NAME, "p=2", "/other/p=2")
    with kernel.begin(NAME, "delete") as transaction:
        transaction.read(["p=1"], missing=missing)
        assert transaction.base is not None
        assert set(transaction.base.partitions) == ({"p=1", "p=2"} if missing else {"p=1"})


def test_who_has_staged_nothing_reads_other_columns(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    with kernel.begin(NAME, "merge") as transaction:
        widen(Kernel(world.process()))
        transaction.read(["p=1"])
        assert transaction.base is not None
        assert transaction.base.columns == WIDER_COLUMNS


def test_a_transaction_that_makes_a_table_reads_nothing(kernel: Kernel) -> None:
    with kernel.create(TableDefinition(NAME, COLUMNS)) as transaction:
        transaction.read()
        assert transaction.commit() == 1
    assert rows_of(kernel, NAME) == {}


def test_an_unpartitioned_table_may_be_replaced_by_no_rows(kernel: Kernel) -> None:
    create(kernel, NAME, {"": ["old"]})
    with kernel.begin(NAME, "replace") as transaction:
        transaction.replace_all()
        transaction.commit()
    assert rows_of(kernel, NAME) == {}


@pytest.mark.parametrize(
    ("steps", "may_move", "expected"),
    [
        ((), True, True),
        ((move_rows,), True, True),
        ((move_rows,), False, False),
        ((lambda kernel: merge(kernel, NAME, {"p=1": ["new"]}),), True, False),
        ((widen, move_rows), True, False),
        ((lambda kernel: add_overlay(kernel, NAME),), True, False),
    ],
    ids=["nothing", "moved", "moved, but not allowed", "changed", "widened", "a view"],
)
def test_whether_rows_were_only_moved_since(
    kernel: Kernel, steps: tuple[object, ...], may_move: bool, expected: bool
) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    before = kernel.settled(NAME)[1]
    for step in steps:
        step(kernel)  # type: ignore[operator]
    with kernel.begin(NAME, "merge") as transaction:
        if may_move:
            transaction.let_rows_move()
        assert only_moved_since(transaction, before) == expected
        unknown = dataclasses.replace(before, txn="20200101T000000-000000000000")
        assert not only_moved_since(transaction, unknown)


def test_no_deltas_are_held_without_a_view(kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    with kernel.begin(NAME, "merge") as transaction:
        assert unread_deltas(transaction) == ()


def test_properties_that_a_commit_leaves_alone_are_those_of_the_commit_before_it(kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    made = kernel.settled(NAME)[1]
    base = dataclasses.replace(made, properties={"node": "a", "rows": 1, "keys": ["a"], "gone": "x"})
    parent = dataclasses.replace(base, txn="later", properties={"node": "b", "rows": 5, "keys": ["a", "b"]})
    mine = {"node": "a", "rows": 3, "keys": ["a", "c"], "gone": "x"}
    assert united_properties(mine, base, parent) == {"node": "b", "rows": 7, "keys": ["a", "c", "b"]}
    assert united_properties({**mine, "node": "c"}, base, parent)["node"] == "c"


def test_an_unpartitioned_table_of_no_rows_has_a_directory(kernel: Kernel) -> None:
    """Some engines do not read a table whose location is not there."""
    with kernel.create(TableDefinition(NAME, COLUMNS)) as transaction:
        assert transaction.add_staged() == [""]
        transaction.commit()
    location = kernel.table(NAME).location
    above, _, name = location.rpartition("/")
    assert name in [entry.name for entry in kernel.files.list(above)]


def test_what_replaces_all_also_replaces_partitions_that_nobody_has_taken_in(kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    place = f"{kernel.default_root(NAME)}/by-hand/p=9"
    kernel.files.write_text(f"{place}/part-0.orc", "by hand")
    add_plain_partition(kernel, NAME, "p=9", place)
    with kernel.begin(NAME, "replace") as transaction:
        transaction.replace_all()
        stage(kernel, transaction, {"p=2": ["new"]})
        transaction.commit()
    assert rows_of(kernel, NAME) == {"p=2": ["new"]}


def test_a_second_read_of_the_same_version_is_no_conflict(kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"], "p=2": ["old"]})
    with kernel.begin(NAME, "merge") as transaction:
        transaction.read(["p=1"])
        transaction.read(["p=2"])
        stage(kernel, transaction, {"p=2": ["new"]})
        transaction.commit()
    assert rows_of(kernel, NAME) == {"p=1": ["old"], "p=2": ["new"]}


def test_a_metastore_that_compares_is_not_warned_of(kernel: Kernel, caplog: pytest.LogCaptureFixture) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    merge(kernel, NAME, {"p=1": ["new"]})
    assert kernel.metastore.compares
    assert caplog.text == ""


def test_a_table_that_gets_a_view_before_the_first_read_is_a_conflict(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    with kernel.begin(NAME, "merge") as transaction:
        add_overlay(Kernel(world.process()), NAME)
        with pytest.raises(CommitConflict, match="another write_mode"):
            transaction.read()
