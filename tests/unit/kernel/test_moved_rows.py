"""A commit that gives partitions new rows, where a compaction has moved those that it read to other files meanwhile."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from kernel.support import (
    NO_RETENTION,
    Rows,
    add_delta,
    add_overlay,
    assert_nothing_orphaned,
    assert_whole,
    create,
    locations,
    merge,
    move_into_base,
    retire_deltas,
    rows_of,
    stage,
)
from lakemerge.errors import CommitConflict
from lakemerge.kernel import Kernel, TableName, Transaction, history, remove_overlay, vacuum
from lakemerge.kernel.commit.reads import Reads
from lakemerge.testing import World

NAME, OTHER = TableName("s", "t"), TableName("s", "u")
SHAPES: dict[str, Rows] = {"partitioned": {"p=1": ["old"], "p=2": ["old"]}, "whole": {"": ["old"]}}


def move(kernel: Kernel, rows: Rows, removed: tuple[str, ...] = ()) -> int:
    """Let partitions have these files, with the rows that they, and the removed ones, had before."""
    with kernel.begin(NAME, "compact", data_change=False) as txn:
        txn.read([*rows, *removed])
        stage(kernel, txn, rows)
        txn.remove(removed)
        return txn.commit()


def merging(kernel: Kernel, rows: Rows, reads: list[str] | None) -> Transaction:
    txn = kernel.begin(NAME, "merge")
    txn.read(reads)
    stage(kernel, txn, rows)
    return txn


@pytest.mark.parametrize("reads", ["all", "what it writes"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_compaction_is_no_conflict_for_who_writes_what_it_moves(
    shape: str, reads: str, kernel: Kernel
) -> None:
    create(kernel, NAME, SHAPES[shape])
    first, *others = SHAPES[shape]
    txn = merging(kernel, {first: ["new"]}, None if reads == "all" else [first])
    for number in range(2):
        move(kernel, {name: [f"moved {number}"] for name in SHAPES[shape]})
    assert txn.commit() == 4
    assert rows_of(kernel, NAME) == {first: ["new"], **{name: ["moved 1"] for name in others}}
    assert_whole(kernel, NAME)
    vacuum(kernel, NAME, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)
    assert rows_of(kernel, NAME)[first] == ["new"]
    assert_nothing_orphaned(kernel, NAME)


def test_nor_for_who_removes_it_or_replaces_all_having_read_it(kernel: Kernel) -> None:
    create(kernel, NAME, SHAPES["partitioned"])
    removes = kernel.begin(NAME, "merge")
    removes.read(["p=1"])
    removes.remove(["p=1"])
    move(kernel, {"p=1": ["moved"]})
    removes.commit()
    replaces = kernel.begin(NAME, "replace")
    replaces.read()
    replaces.replace_all()
    stage(kernel, replaces, {"p=3": ["all"]})
    move(kernel, {"p=2": ["moved"]})
    replaces.commit()
    assert rows_of(kernel, NAME) == {"p=3": ["all"]}
    assert_whole(kernel, NAME)


def test_nor_for_one_of_several_tables_that_are_committed_together(kernel: Kernel) -> None:
    for name in (NAME, OTHER):
        create(kernel, name, SHAPES["partitioned"])
    other = kernel.begin(OTHER, "merge")
    other.read(["p=1"])
    stage(kernel, other, {"p=1": ["new"]})
    txn = merging(kernel, {"p=1": ["new"]}, ["p=1"])
    move(kernel, {"p=1": ["moved"]})
    kernel.commit_together([txn, other])
    assert rows_of(kernel, NAME) == rows_of(kernel, OTHER) == {"p=1": ["new"], "p=2": ["old"]}
    assert_whole(kernel, NAME)


def test_nor_for_who_depends_on_all_rows_wherever_they_are(kernel: Kernel) -> None:
    create(kernel, NAME, SHAPES["partitioned"])
    txn = merging(kernel, {"p=1": ["new"]}, ["p=1"])
    txn.follow_same_rows()
    move(kernel, {"p=1": ["moved"], "p=3": ["old"]}, removed=("p=2",))
    assert txn.commit() == 3
    assert rows_of(kernel, NAME) == {"p=1": ["new"], "p=3": ["old"]}
    late = merging(kernel, {"p=1": ["newer"]}, ["p=1"])
    late.follow_same_rows()
    merge(kernel, NAME, {"p=3": ["theirs"]})
    with pytest.raises(CommitConflict, match="came first"), late:
        late.commit()


def into_another(kernel: Kernel) -> None:
    move(kernel, {"p=2": ["old", "old"]}, removed=("p=1",))


def into_a_new_one(kernel: Kernel) -> None:
    move(kernel, {"p=3": ["old"]}, removed=("p=1",))


def partly_into_a_new_one(kernel: Kernel) -> None:
    move(kernel, {"p=1": ["o"], "p=3": ["ld"]})


def beside_another_program(kernel: Kernel) -> None:
    move(kernel, {"p=1": ["old"]})
    kernel.files.write_text(f"{locations(kernel, NAME)['p=1']}/foreign.orc", "theirs")


def beside_another_commit(kernel: Kernel) -> None:
    move(kernel, {"p=1": ["old"]})
    merge(kernel, NAME, {"p=2": ["theirs"]})
    move(kernel, {"p=2": ["theirs"]})


@pytest.mark.parametrize(
    "moves",
    [into_another, into_a_new_one, partly_into_a_new_one, beside_another_program, beside_another_commit],
)
def test_rows_that_leave_their_partition_or_are_others_are_a_conflict(
    moves: Callable[[Kernel], None], kernel: Kernel
) -> None:
    create(kernel, NAME, SHAPES["partitioned"])
    txn = merging(kernel, {"p=1": ["new"]}, None)
    moves(kernel)
    with pytest.raises(CommitConflict), txn:
        txn.commit()
    assert "new" not in [row for rows in rows_of(kernel, NAME).values() for row in rows]


def test_another_compaction_is_one_for_who_only_moves_rows(kernel: Kernel) -> None:
    create(kernel, NAME, SHAPES["partitioned"])
    with kernel.begin(NAME, "compact", data_change=False) as txn:
        txn.read(["p=1"])
        stage(kernel, txn, {"p=1": ["mine"]})
        move(kernel, {"p=1": ["theirs"]})
        with pytest.raises(CommitConflict):
            txn.commit()


@pytest.mark.parametrize("mode", ["merge_on_read", "for a while"])
def test_deltas_that_were_moved_into_the_base_are_rows_that_nobody_had_read_there(
    mode: str, kernel: Kernel
) -> None:
    """By the time of the commit nothing is left of them but what the base holds."""
    create(kernel, NAME, SHAPES["partitioned"])
    if mode == "merge_on_read":
        add_overlay(kernel, NAME)
    txn = merging(kernel, {"p=1": ["new"]}, ["p=1"])
    if mode == "for a while":
        add_overlay(kernel, NAME)
    add_delta(kernel, NAME, "delta")
    move_into_base(kernel, NAME, {"p=1": ["old and delta"]})
    retire_deltas(kernel, NAME)
    if mode == "for a while":
        with kernel.begin(NAME, "write_mode") as other:
            remove_overlay(other)
            other.commit()
    with pytest.raises(CommitConflict), txn:
        txn.commit()
    assert rows_of(kernel, NAME)["p=1"] == ["old and delta"]


def test_what_comes_late_to_where_rows_were_moved_is_taken_in(world: World, kernel: Kernel) -> None:
    """Another program writes between the last look and the swap: not where the rows were when they were read."""
    create(kernel, NAME, SHAPES["partitioned"])
    plain = Kernel(world.process())

    def step(name: str) -> None:
        if name == "claimed":
            plain.files.write_text(f"{locations(plain, NAME)['p=1']}/foreign.orc", "foreign")

    txn = merging(Kernel(world.process(), step=step), {"p=1": ["new"]}, ["p=1"])
    move(kernel, {"p=1": ["moved"]})
    txn.commit()
    assert rows_of(kernel, NAME)["p=1"] == ["foreign", "new"]
    newest, merged = history(kernel, NAME, 2)
    assert (newest.operation, merged.operation) == ("foreign", "merge")
    assert kernel.recover(NAME) == []


def test_a_partition_that_a_compaction_has_left_out_is_none_that_was_read(kernel: Kernel) -> None:
    """Whoever does not depend on where rows are reads them at their new places, which may be fewer."""
    create(kernel, NAME, {"p=1": ["one"], "p=2": ["two"]})
    before = kernel.settled(NAME)[1]
    merge(kernel, NAME, {"p=1": ["one and two"]})
    now = kernel.settled(NAME)[1]
    newest = dataclasses.replace(now, partitions={"p=1": now.partitions["p=1"]})
    reads = Reads()
    reads.add_partitions(before, None)
    reads.follow_moves(["p=1", "p=2"], newest)
    assert reads.states == newest.partitions
