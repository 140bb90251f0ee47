"""Tables that are dropped, and made again by the same name, while others are at work."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Callable

import pytest

from kernel.meanwhile import Meanwhile, beside, meeting
from kernel.support import (
    COLUMNS,
    KEYS,
    NO_RETENTION,
    OTHER_KEYS,
    Died,
    Rows,
    assert_nothing_orphaned,
    create,
    create_appendable,
    files_below,
    ingest,
    make_plain,
    merge,
    rejected,
    rows_of,
    stage,
)
from lakemerge.errors import CommitConflict, LakemergeError, TableNotFound
from lakemerge.kernel import Kernel, TableDefinition, TableName, Transaction
from lakemerge.kernel.maintenance.drop import drop
from lakemerge.kernel.maintenance.vacuum import vacuum
from lakemerge.kernel.ports.metastore import HiveTable, ReplyLost
from lakemerge.kernel.protocol.drops import Leftovers
from lakemerge.kernel.settings import Settings
from lakemerge.kernel.table.definition import TABLE_ID
from lakemerge.testing import World

NAME = TableName("s", "t")
SHAPES: dict[str, Rows] = {"partitioned": {"p=1": ["old"], "p=2": ["old"]}, "whole": {"": ["old"]}}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("call", ["delete", "delete_if_empty"])
def test_a_drop_that_is_slow_deletes_nothing_of_the_next_table(
    call: str, shape: str, world: World, kernel: Kernel
) -> None:
    create(kernel, NAME, SHAPES[shape])

    def make() -> None:
        create(kernel, NAME, SHAPES[shape])

    drop(beside(world, "files", call, make), NAME)
    assert rows_of(kernel, NAME) == SHAPES[shape]
    assert_nothing_orphaned(kernel, NAME)


@pytest.mark.parametrize("adopted", [True, False])
def test_a_drop_that_has_taken_long_deletes_no_more_of_what_another_program_has_made_since(
    adopted: bool, world: World, kernel: Kernel
) -> None:
    make_plain(kernel, NAME, {"p=1": ["old"], "p=2": ["old"]})
    if adopted:
        merge(kernel, NAME, {"p=1": ["new"]})

    def make() -> None:
        world.timeline.pass_by(5)
        make_plain(kernel, NAME, {"p=1": ["next"], "p=2": ["next"]})

    drop(beside(world, "metastore", "drop_table", make, after=True), NAME)
    assert rows_of(kernel, NAME) == {"p=1": ["next"], "p=2": ["next"]}


def test_a_plain_table_is_dropped_though_others_adopt_it_and_make_its_row_anew() -> None:
    for number in itertools.count(1):
        world = World()
        kernel = Kernel(world.process())
        make_plain(kernel, NAME, {"p=1": ["old"], "p=2": ["old"]})

        def change_keys(world: World = world, kernel: Kernel = kernel) -> None:
            world.timeline.pass_by(5)
            with contextlib.suppress(TableNotFound), kernel.begin(NAME, "replace") as txn:
                txn.replace_all()
                txn.set_schema(COLUMNS, OTHER_KEYS)
                stage(kernel, txn, {"q=1/r=a": ["new"]})
                txn.commit()

        met = meeting(world, number, change_keys, lambda kernel: drop(kernel, NAME))
        assert not kernel.exists(NAME), number
        assert files_below(kernel, kernel.default_root(NAME)) == set(), number
        if not met:
            break


def test_a_drop_that_died_is_finished_beside_the_next_table(kernel: Kernel) -> None:
    create(kernel, NAME, SHAPES["partitioned"])
    table = kernel.table(NAME)
    begun = kernel.create(TableDefinition(NAME, table.columns, KEYS))
    stage(kernel, begun, {"p=1": ["new"]})
    assert kernel.drops.prepare(table) is not None
    kernel.metastore.drop_table(NAME)
    begun.commit()
    kernel.drops.finish(NAME)
    assert rows_of(kernel, NAME) == {"p=1": ["new"]}
    assert_nothing_orphaned(kernel, NAME)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_drop_that_never_happened_leaves_a_table_alone_that_was_adopted_since(
    shape: str, kernel: Kernel
) -> None:
    """It had no id when what was to be deleted was listed."""
    make_plain(kernel, NAME, SHAPES[shape])
    kernel.drops.prepare(kernel.table(NAME))  # and dies
    kernel.open(NAME)
    kernel.drops.finish(NAME)
    assert rows_of(kernel, NAME) == SHAPES[shape]
    vacuum(kernel, NAME, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)
    assert_nothing_orphaned(kernel, NAME)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_drop_that_died_deletes_nothing_of_what_another_program_made_in_its_place(
    shape: str, kernel: Kernel
) -> None:
    """Its partitions have the same directories as those that were to be deleted."""
    make_plain(kernel, NAME, SHAPES[shape])
    table = kernel.table(NAME)
    kernel.drops.prepare(dataclasses.replace(table, created=table.created - 60))
    kernel.metastore.drop_table(NAME)  # and dies
    make_plain(kernel, NAME, SHAPES[shape])
    vacuum(kernel, NAME, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)
    assert rows_of(kernel, NAME) == SHAPES[shape]
    assert_nothing_orphaned(kernel, NAME)


@pytest.mark.parametrize("call", ["read_text", "list"])
def test_a_drop_beside_one_that_dies_leaves_nothing(call: str, world: World, kernel: Kernel) -> None:
    """The other dies when the row is gone, right before this one reads its list or makes one."""
    make_plain(kernel, NAME, SHAPES["partitioned"])

    def die() -> None:
        table = kernel.metastore.get_table(NAME)
        if table is not None:
            kernel.drops.prepare(table)
            kernel.metastore.drop_table(NAME)

    drop(beside(world, "files", call, die, after=call == "read_text"), NAME)
    root = f"{kernel.metastore.database_location(NAME.schema)}/{NAME.name}"
    assert kernel.files.list(root) == []


@pytest.mark.parametrize("shape", SHAPES)
def test_a_drop_leaves_a_list_for_another_that_has_seen_the_table_adopted(
    shape: str, world: World, kernel: Kernel
) -> None:
    """It has written its own over the other's, which then removes the row and dies."""
    make_plain(kernel, NAME, SHAPES[shape])
    table = kernel.table(NAME)

    def adopt() -> None:
        kernel.open(NAME)
        assert kernel.drops.prepare(kernel.table(NAME)) is not None

    slow = beside(world, "files", "write_text", adopt)
    assert slow.drops.prepare(table) is None
    kernel.metastore.drop_table(NAME)
    slow.drops.finish(NAME)
    root = f"{kernel.metastore.database_location(NAME.schema)}/{NAME.name}"
    assert kernel.files.list(root) == []


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("unread", [False, True], ids=["merge", "replace"])
def test_a_commit_on_a_dropped_table_is_none_of_the_next_ones(
    unread: bool, shape: str, world: World, kernel: Kernel
) -> None:
    """Both are at version 1, which is what a claim compares."""
    create(kernel, NAME, SHAPES[shape])

    def remake(step: str) -> None:
        if step == "manifest written" and not done:
            done.append(step)
            drop(kernel, NAME)
            create(kernel, NAME, {part: ["next"] for part in SHAPES[shape]})

    done: list[str] = []
    part = next(iter(SHAPES[shape]))
    writer = Kernel(world.process(), step=remake)
    with writer.begin(NAME, "merge") as transaction:
        if unread:
            transaction.replace_all()
        else:
            transaction.read([part])
        stage(writer, transaction, {part: ["late"]})
        with pytest.raises(CommitConflict, match="dropped and made again"):
            transaction.commit()
    assert rows_of(kernel, NAME) == {part: ["next"] for part in SHAPES[shape]}
    kernel.recover(NAME)
    assert_nothing_orphaned(kernel, NAME)


def test_a_transaction_does_not_go_on_in_the_next_table_of_the_name(world: World, kernel: Kernel) -> None:
    """What it was begun for, columns and ledger among them, was that of the table which is gone."""
    create(kernel, NAME, {"p=1": ["old"]})
    with Kernel(world.process()).begin(NAME, "merge") as transaction:
        drop(kernel, NAME)
        create(kernel, NAME, {"p=1": ["next"]})
        with pytest.raises(CommitConflict, match="dropped and made again"):
            transaction.read(["p=1"])
    assert rows_of(kernel, NAME) == {"p=1": ["next"]}


def rebuilding(world: World, at: Callable[[], None], *, step: str = "row moved") -> None:
    """Give the table other partition columns; something happens at a step: while its row is missing."""

    def reached(name: str) -> None:
        if name == step:
            at()

    transaction = Kernel(world.process(), step=reached).begin(NAME, "replace")
    transaction.replace_all()
    transaction.set_schema(COLUMNS, OTHER_KEYS)
    stage(transaction._tables, transaction, {"q=1/r=x": ["new"]})  # type: ignore[arg-type]
    transaction.commit()


def test_a_drop_that_never_happened_deletes_nothing_while_the_row_is_made_anew(
    world: World, kernel: Kernel
) -> None:
    create(kernel, NAME, SHAPES["partitioned"])
    kernel.drops.prepare(kernel.table(NAME))  # and dies
    rebuilding(world, lambda: kernel.drops.finish(NAME))
    assert rows_of(kernel, NAME) == {"q=1/r=x": ["new"]}
    kernel.drops.finish(NAME)
    assert_nothing_orphaned(kernel, NAME)


def test_a_table_whose_row_is_made_anew_is_dropped_all_the_same(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, SHAPES["partitioned"])
    ports = world.process()
    dropping = Kernel(
        dataclasses.replace(
            ports,
            metastore=Meanwhile(ports.metastore, "alter_table", lambda: rebuilding(world, lambda: None)),
        )
    )
    drop(dropping, NAME)
    assert not kernel.exists(NAME)
    assert list(kernel.files.walk(kernel.default_root(NAME))) == []


def test_a_row_that_went_aside_is_dropped_by_the_next_that_does(world: World, kernel: Kernel) -> None:
    """Its process had died before it cleared up, and the next one names itself in the same file."""
    create(kernel, NAME, SHAPES["partitioned"])

    def die() -> None:
        raise Died

    with pytest.raises(Died):
        rebuilding(world, die, step="settled")
    transaction = kernel.begin(NAME, "replace")
    transaction.replace_all()
    transaction.set_schema(COLUMNS, KEYS)
    stage(kernel, transaction, {"p=1": ["new"]})
    transaction.commit()
    assert [row.name for row in kernel.metastore.table_summaries("s")] == ["t"]
    kernel.recover(NAME)
    assert_nothing_orphaned(kernel, NAME)


def test_a_vacuum_beside_a_drop_ends(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, SHAPES["partitioned"])
    merge(kernel, NAME, {"p=1": ["new"]})
    vacuuming = beside(world, "files", "exists", lambda: drop(kernel, NAME))
    with contextlib.suppress(LakemergeError):
        vacuum(vacuuming, NAME, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)
    assert not kernel.exists(NAME)


def test_the_drop_of_a_table_leaves_the_next_ones_quarantine(world: World, kernel: Kernel) -> None:
    def make(text: str) -> None:
        create_appendable(kernel, NAME, {"p=1": [text]})
        ingest(kernel, NAME, {"p=1": ["row"]}, text)

    make("old")
    drop(beside(world, "metastore", "drop_table", lambda: make("new"), after=True), NAME)
    assert rejected(kernel, NAME) == ("new",)


@pytest.mark.parametrize("call", ["probe_compare_and_swap", "lock"])
def test_a_claim_that_pauses_leaves_the_next_table_of_the_name_alone(call: str, world: World) -> None:
    """Both tables are at version 1, and that is all that a metastore compares."""
    world.metastore.honours_expectations = call != "lock"
    kernel = Kernel(world.process())
    create(kernel, NAME, {"": ["old"]})

    def remake() -> None:
        drop(kernel, NAME)
        create(kernel, NAME, {"": ["new"]})

    transaction = beside(world, "metastore", call, remake).begin(NAME, "append")
    transaction.read()
    stage(kernel, transaction, {"": ["old", "more"]})
    with pytest.raises(CommitConflict):
        transaction.commit()
    assert rows_of(kernel, NAME) == {"": ["new"]}


def test_a_row_does_not_move_aside_before_the_new_one_is_there(world: World, kernel: Kernel) -> None:
    """The call that makes it has no answer, for it never reached the metastore."""
    create(kernel, NAME, SHAPES["partitioned"])
    ports = world.process()

    def lose() -> None:
        raise ReplyLost(expected="an answer", found="none", action="None.")

    losing = dataclasses.replace(ports, metastore=Meanwhile(ports.metastore, "create_table", lose))
    writer = Kernel(losing)
    with writer.begin(NAME, "replace") as transaction:
        transaction.replace_all()
        transaction.set_schema(COLUMNS, ())
        stage(writer, transaction, {"": ["new"]})
        transaction.commit()
    assert rows_of(kernel, NAME) == {"": ["new"]}
    assert_nothing_orphaned(kernel, NAME)


# -- a transaction that makes a table, and is taken for dead ---------------------------------------


def made_and_dropped(kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["other"]})
    drop(kernel, NAME)


def made_vacuumed_and_dropped(kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["other"]})
    vacuum(kernel, NAME, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)
    kernel.metastore.drop_table(NAME)  # by another program, which leaves the files


def plain_and_dropped(kernel: Kernel) -> None:
    make_plain(kernel, NAME, {"p=1": ["other"]})
    drop(kernel, NAME)


MEETINGS = (made_and_dropped, made_vacuumed_and_dropped, plain_and_dropped)


def asleep_at(call: str, world: World, meet: Callable[[], None]) -> Kernel:
    """A kernel that is silent for longer than its lease at a call, and meets others that take it for dead."""

    def sleep() -> None:
        world.timeline.pass_by(10 * Settings().lease_seconds)
        meet()

    port = "metastore" if call == "create_table" else "files"
    return beside(world, port, call, sleep)


def begin_creation(kernel: Kernel, rows: Rows, name: TableName = NAME) -> Transaction:
    transaction = kernel.create(TableDefinition(name, COLUMNS, () if list(rows) == [""] else KEYS))
    stage(kernel, transaction, rows)
    return transaction


@pytest.mark.parametrize("meet", MEETINGS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("call", ["exists", "create_table"])
def test_who_makes_a_table_and_sleeps_makes_none_whose_files_are_gone(
    call: str, shape: str, meet: Callable[[Kernel], None], world: World, kernel: Kernel
) -> None:
    writer = asleep_at(call, world, lambda: meet(kernel))
    with (
        begin_creation(writer, SHAPES[shape]) as transaction,
        pytest.raises(CommitConflict, match="silent for longer"),
    ):
        transaction.commit()
    assert kernel.metastore.table_summaries("s") == []
    create(kernel, NAME, SHAPES[shape])
    assert_nothing_orphaned(kernel, NAME)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("call", ["exists", "create_table"])
def test_a_sleeping_creation_of_a_group_ends_the_group(
    call: str, shape: str, world: World, kernel: Kernel
) -> None:
    other = TableName("s", "a")
    create(kernel, other, SHAPES[shape])
    before = rows_of(kernel, other)
    writer = asleep_at(call, world, lambda: made_and_dropped(kernel))
    part = next(iter(SHAPES[shape]))
    with begin_creation(writer, SHAPES[shape]) as made, writer.begin(other, "merge") as merged:
        merged.read([part])
        stage(writer, merged, {part: ["new"]})
        with pytest.raises(CommitConflict, match="silent for longer"):
            writer.commit_together([made, merged])
    assert rows_of(kernel, other) == before
    kernel.recover(other)
    assert [row.name for row in kernel.metastore.table_summaries("s")] == ["a"]
    assert_nothing_orphaned(kernel, other)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_drop_leaves_the_table_that_a_sleeping_creation_has_made_meanwhile(
    shape: str, world: World, kernel: Kernel
) -> None:
    """Its drop had died when the old row was gone; what it had listed before was taken for dead, and was not."""
    writer = Kernel(world.process())
    creation = begin_creation(writer, SHAPES[shape])
    create(kernel, NAME, {"p=1": ["other"]})
    assert kernel.drops.prepare(kernel.table(NAME)) is not None
    kernel.metastore.drop_table(NAME)
    creation.commit()
    kernel.drops.finish(NAME)
    assert rows_of(kernel, NAME) == SHAPES[shape]
    kernel.recover(NAME)
    assert_nothing_orphaned(kernel, NAME)


def test_a_row_that_is_made_anew_too_late_is_dropped(world: World, kernel: Kernel) -> None:
    """The first call's answer is lost; another process finishes the commit; and the second call's process dies."""
    create(kernel, NAME, SHAPES["partitioned"])
    ports = world.process()

    class Losing(Meanwhile):
        def create_table(self, row: HiveTable) -> None:
            self._inner.create_table(row)
            if "__new_" not in row.name.name:
                return  # it is tried out
            calls.append(row.name)
            if len(calls) == 1:
                Kernel(world.process()).recover(NAME)
                raise ReplyLost(expected="an answer", found="none", action="None.")
            raise Died

    calls: list[TableName] = []
    writer = Kernel(dataclasses.replace(ports, metastore=Losing(ports.metastore, "", lambda: None)))
    with writer.begin(NAME, "replace") as transaction, contextlib.suppress(Died):
        transaction.replace_all()
        transaction.set_schema(COLUMNS, ())
        stage(writer, transaction, {"": ["new"]})
        transaction.commit()
    assert rows_of(kernel, NAME) == {"": ["new"]}
    kernel.recover(NAME)
    assert [row.name for row in kernel.metastore.table_summaries("s")] == ["t"]
    assert_nothing_orphaned(kernel, NAME)


def test_a_table_that_was_made_anew_and_dropped_is_not_in_the_way_of_the_next(
    world: World, kernel: Kernel
) -> None:
    """The process that had made its row anew died before it cleared up, and left the file that says so."""
    create(kernel, NAME, SHAPES["partitioned"])

    def die() -> None:
        raise Died

    with pytest.raises(Died):
        rebuilding(world, die, step="settled")
    drop(kernel, NAME)
    assert not kernel.exists(NAME)
    create(kernel, NAME, SHAPES["whole"])
    assert rows_of(kernel, NAME) == SHAPES["whole"]
    assert [row.name for row in kernel.metastore.table_summaries("s")] == ["t"]
    assert_nothing_orphaned(kernel, NAME)


def test_a_table_that_was_moved_aside_is_not_forgotten_for_the_next_one_that_is(kernel: Kernel) -> None:
    def withdraw(number: int, *, dies: bool) -> None:
        row = kernel.table(NAME)
        aside = TableName(NAME.schema, f"{NAME.name}__old_{number}")
        root = kernel.default_root(NAME)
        left = Leftovers(row.parameters[TABLE_ID], root, whole=False, aside=aside.name)

        def move_aside() -> None:
            kernel.metastore.alter_table(NAME, dataclasses.replace(row, name=aside))
            if dies:
                raise Died

        kernel.drops.withdraw(NAME, left, move_aside)

    create(kernel, NAME, SHAPES["partitioned"])
    with pytest.raises(Died):
        withdraw(1, dies=True)
    # one that was begun before, and so has not looked at what the first one left
    first = kernel.table(TableName(NAME.schema, f"{NAME.name}__old_1"))
    other = {**first.parameters, TABLE_ID: "another"}
    kernel.metastore.create_table(dataclasses.replace(first, name=NAME, parameters=other))
    withdraw(2, dies=False)
    assert kernel.metastore.table_summaries(NAME.schema) == []
