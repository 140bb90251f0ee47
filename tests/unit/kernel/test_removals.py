"""Rows that are dropped while others are at work: the next table of the name stays, with its files."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kernel.meanwhile import Meanwhile
from kernel.support import (
    COLUMNS,
    OTHER_KEYS,
    Died,
    Rows,
    add_overlay,
    assert_nothing_orphaned,
    create,
    create_appendable,
    ingest,
    make_plain,
    merge,
    rejected,
    rows_of,
    stage,
)
from lakemerge.errors import ClaimHeld
from lakemerge.kernel import HiveTable, Kernel, TableName, committed_tables, drop
from lakemerge.kernel.ports.metastore import ReplyLost, Storage, ValueChanged
from lakemerge.testing import World

NAME = TableName("s", "t")
SHAPES: dict[str, Rows] = {"partitioned": {"p=1": ["old"], "p=2": ["old"]}, "whole": {"": ["old"]}}
SOURCES = Path(__file__).parents[3] / "src"
# The only functions that drop a row by a name: one that only their own call has given it.
_DROPPING = {("removals.py", "clear"), ("removals.py", "drop_passing"), ("versions.py", "_probe")}


def before_its_rename(world: World, action: Callable[[], object]) -> Kernel:
    """A kernel that is slow just before it takes a row out."""
    ports = world.process()
    slow: Any = Meanwhile(ports.metastore, "alter_table", action)
    slow.compares = True
    return Kernel(dataclasses.replace(ports, metastore=slow))


class Late:
    """A metastore that carries out the first rename after its client has given up."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.late: Callable[[], None] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def alter_table(self, name: TableName, table: HiveTable, **expected: Any) -> None:
        if self.late is None and table.name != name:
            self.late = partial(self.inner.alter_table, name, table, **expected)
            raise ReplyLost(expected="an answer", found="none", action="None.")
        self.inner.alter_table(name, table, **expected)


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_slow_drop_leaves_the_next_table_and_its_files(
    shape: str, plain: bool, world: World, kernel: Kernel
) -> None:
    (make_plain if plain else create)(kernel, NAME, SHAPES[shape])
    newer = {partition: ["newer"] for partition in SHAPES[shape]}

    def make_next() -> None:
        drop(kernel, NAME)
        world.timeline.pass_by(1)  # a plain table has nothing but its time, in seconds
        create(kernel, NAME, SHAPES[shape])
        merge(kernel, NAME, newer)

    drop(before_its_rename(world, make_next), NAME)
    assert rows_of(kernel, NAME) == newer
    assert_nothing_orphaned(kernel, NAME)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_drop_goes_on_when_the_table_is_committed_to(shape: str, world: World, kernel: Kernel) -> None:
    create(kernel, NAME, SHAPES[shape])
    newer = {partition: ["newer"] for partition in SHAPES[shape]}
    drop(before_its_rename(world, lambda: merge(kernel, NAME, newer)), NAME)
    assert not kernel.exists(NAME)
    assert list(kernel.files.walk(kernel.default_root(NAME))) == []


@pytest.mark.parametrize("shape", SHAPES)
def test_a_drop_that_is_carried_out_late_leaves_the_next_table(
    shape: str, world: World, kernel: Kernel
) -> None:
    create(kernel, NAME, SHAPES[shape])
    ports = world.process()
    metastore: Any = Late(ports.metastore)
    metastore.compares = True
    drop(Kernel(dataclasses.replace(ports, metastore=metastore)), NAME)
    assert not kernel.exists(NAME)
    create(kernel, NAME, {partition: ["next"] for partition in SHAPES[shape]})
    with pytest.raises(ValueChanged):
        metastore.late()
    assert rows_of(kernel, NAME) == {partition: ["next"] for partition in SHAPES[shape]}


def test_a_drop_that_is_sent_again_finds_no_table_by_the_name(world: World, kernel: Kernel) -> None:
    """Its answer was lost, and the client sends ``dropTable`` as often as it likes, whenever it likes."""
    create(kernel, NAME, SHAPES["partitioned"])
    ports, sent = world.process(), []

    class Recording(Late):
        def alter_table(self, name: TableName, table: HiveTable, **expected: Any) -> None:
            self.inner.alter_table(name, table, **expected)

        def drop_table(self, name: TableName) -> None:
            sent.append(name)
            self.inner.drop_table(name)

    recording: Any = Recording(ports.metastore)
    drop(Kernel(dataclasses.replace(ports, metastore=recording)), NAME)
    create(kernel, NAME, SHAPES["partitioned"])
    for name in sent:
        kernel.metastore.drop_table(name)
    assert sent
    assert rows_of(kernel, NAME) == SHAPES["partitioned"]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_slow_drop_leaves_files_that_the_drop_of_the_next_table_has_kept(
    shape: str, world: World, kernel: Kernel
) -> None:
    create(kernel, NAME, SHAPES[shape])
    kept: list[str] = []

    def make_and_drop_next() -> None:
        drop(kernel, NAME)
        create(kernel, NAME, SHAPES[shape])
        kept.extend(entry.path for entry in kernel.files.walk(kernel.default_root(NAME)))
        drop(kernel, NAME, keep_files=True)

    drop(before_its_rename(world, make_and_drop_next), NAME)
    assert kept
    assert all(kernel.files.exists(path) for path in kept)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_slow_drop_leaves_what_another_program_prepares_in_the_same_place(
    shape: str, world: World, kernel: Kernel
) -> None:
    create(kernel, NAME, SHAPES[shape])
    ready = f"{kernel.default_root(NAME)}/q=1/part-0.orc"
    drop(before_its_rename(world, lambda: kernel.files.write_text(ready, "next")), NAME)
    assert kernel.files.exists(ready)


def test_what_dead_transactions_have_made_since_is_deleted(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, SHAPES["partitioned"])

    def begin_and_die() -> None:
        ports = world.process()
        dying = Kernel(ports)
        stage(dying, dying.begin(NAME, "merge"), SHAPES["partitioned"])
        world.running.discard(ports.host.owner().pid)

    drop(before_its_rename(world, begin_and_die), NAME)
    assert list(kernel.files.walk(kernel.default_root(NAME))) == []


def test_the_quarantine_of_the_next_table_stays(world: World, kernel: Kernel) -> None:
    create_appendable(kernel, NAME, SHAPES["partitioned"])
    ingest(kernel, NAME, SHAPES["partitioned"], "old")

    def make_next() -> None:
        drop(kernel, NAME)
        create_appendable(kernel, NAME, SHAPES["partitioned"])
        ingest(kernel, NAME, SHAPES["partitioned"], "next")

    table_id = kernel.open(NAME).table_id
    slow = before_its_rename(world, make_next)
    slow.roll_forward.side_tables.drop(NAME, table_id)
    assert rejected(kernel, NAME) == ("next",)


@pytest.mark.parametrize("compares", [True, False])
def test_a_view_is_dropped_and_the_table_that_took_its_place_is_not(
    compares: bool, world: World, kernel: Kernel
) -> None:
    world.metastore.honours_expectations = compares
    view = HiveTable(NAME, "VIRTUAL_VIEW", Storage(columns=COLUMNS), view_text="select 1")
    kernel.metastore.create_table(view)
    before = kernel.metastore.get_table(NAME)
    assert before is not None
    drop(kernel, NAME)
    assert kernel.metastore.table_summaries("s") == []
    world.timeline.pass_by(1)
    make_plain(kernel, NAME, SHAPES["partitioned"])
    assert not kernel.removals.remove(NAME, before)
    assert kernel.metastore.get_table(NAME) is not None


def test_a_probe_of_compare_and_swap_leaves_a_view_as_it_is(world: World) -> None:
    kernel, probed = Kernel(world.process()), []
    world.metastore.probe_compare_and_swap = lambda name: probed.append(name) or True  # type: ignore[method-assign]
    kernel.metastore.create_table(HiveTable(NAME, "VIRTUAL_VIEW", Storage(columns=COLUMNS)))
    assert kernel.versions.compares(NAME)
    assert NAME not in probed
    assert [one.name for one in kernel.metastore.table_summaries("s")] == [NAME.name]


def test_a_row_that_is_on_its_way_out_is_no_table_with_versions(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, SHAPES["partitioned"])
    add_overlay(kernel, NAME)
    row = kernel.table(NAME)
    kernel.versions.compares(row.name)
    world.metastore.drop_table = lambda name: None  # type: ignore[method-assign]
    kernel.removals.remove(NAME, row)
    assert committed_tables(kernel.metastore, TableName("s", "*")) == []


@pytest.mark.parametrize("length", [110, 120, 128])
def test_a_long_name_is_no_hindrance(length: int, world: World) -> None:
    world.metastore.longest_name = 128
    kernel, name = Kernel(world.process()), TableName("s", "t" * length)
    create(kernel, name, SHAPES["partitioned"])
    transaction = kernel.begin(name, "replace")  # its row is made anew
    transaction.replace_all()
    transaction.set_schema(COLUMNS, OTHER_KEYS)
    stage(kernel, transaction, {"q=1/r=a": ["new"]})
    transaction.commit()
    drop(kernel, name)
    assert not kernel.exists(name)
    assert kernel.metastore.table_summaries("s") == []


def test_nothing_drops_a_row_by_the_name_of_a_table() -> None:
    found = set()
    for path in SOURCES.rglob("*.py"):
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef | ast.Lambda | ast.Module):
                names = {node.attr for node in ast.walk(function) if isinstance(node, ast.Attribute)}
                if names & {"drop_table", "dropTable"} and not isinstance(function, ast.Module):
                    found.add((path.name, getattr(function, "name", "lambda")))
    # the port itself says it to Hive's client
    assert found - {("metastore.py", "drop_table"), ("metastore.py", "lambda")} == _DROPPING


def test_what_a_probe_that_died_has_left_is_dropped(world: World, kernel: Kernel) -> None:
    kernel.metastore.create_table(HiveTable(NAME, "VIRTUAL_VIEW", Storage(columns=COLUMNS)))
    probe = world.metastore.probe_compare_and_swap

    def die(name: TableName) -> bool:
        raise Died

    world.metastore.probe_compare_and_swap = die  # type: ignore[method-assign]
    with pytest.raises(Died):
        drop(kernel, NAME)
    world.metastore.probe_compare_and_swap = probe  # type: ignore[method-assign]
    assert len(kernel.metastore.table_summaries("s")) == 2
    drop(Kernel(world.process()), NAME)
    assert kernel.metastore.table_summaries("s") == []


def test_a_drop_gives_up_if_commits_come_between_each_time(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, {"": ["old"]})
    ports = world.process()

    class Busy:
        """A metastore in which others commit right before a row is to go aside."""

        def __getattr__(self, name: str) -> object:
            return getattr(ports.metastore, name)

        def alter_table(self, name: TableName, table: HiveTable, **expected: tuple[str, str]) -> None:
            if table.name != name:
                merge(kernel, NAME, {"": ["new"]})
            ports.metastore.alter_table(name, table, **expected)

    with pytest.raises(ClaimHeld, match="other writers were first each time"):
        drop(Kernel(dataclasses.replace(ports, metastore=Busy())), NAME)  # type: ignore[arg-type]
    assert rows_of(kernel, NAME) == {"": ["new"]}
    drop(kernel, NAME)
    assert not kernel.exists(NAME)


def test_a_drop_that_keeps_the_files_takes_the_published_quarantine_along(kernel: Kernel) -> None:
    create(kernel, NAME, SHAPES["partitioned"])
    ingest(kernel, NAME, {"p=3": ["new"]}, "rejected")
    assert len(kernel.metastore.table_summaries("s")) == 2
    drop(kernel, NAME, keep_files=True)
    assert kernel.metastore.table_summaries("s") == []


def test_the_drop_of_a_view_leaves_the_files_at_its_location(kernel: Kernel) -> None:
    place = f"{kernel.default_root(NAME)}/part-0.orc"
    kernel.files.write_text(place, "somebody's")
    row = HiveTable(NAME, "VIRTUAL_VIEW", Storage(location=kernel.default_root(NAME)), view_text="select 1")
    kernel.metastore.create_table(row)
    drop(kernel, NAME)
    assert not kernel.exists(NAME)
    assert kernel.files.exists(place)


@pytest.mark.parametrize("is_view", [False, True], ids=["table", "view"])
def test_a_row_that_goes_takes_no_files_along(world: World, kernel: Kernel, is_view: bool) -> None:
    """Hive moves the files of a table whose row keeps its location when it is renamed. A view has none."""
    if is_view:
        row = HiveTable(NAME, "VIRTUAL_VIEW", Storage(columns=COLUMNS), view_text="select 1")
        kernel.metastore.create_table(row)
    else:
        create(kernel, NAME, SHAPES["whole"])
    before = kernel.metastore.get_table(NAME)
    ports = world.process()
    renamed: list[HiveTable] = []

    class Watching:
        def __getattr__(self, name: str) -> Any:
            return getattr(ports.metastore, name)

        def alter_table(self, name: TableName, row: HiveTable, **expected: Any) -> None:
            renamed.append(row)
            ports.metastore.alter_table(name, row, **expected)

    drop(Kernel(dataclasses.replace(ports, metastore=Watching())), NAME)  # type: ignore[arg-type]
    assert before is not None
    assert [bool(row.location) for row in renamed] == [not is_view]
    assert is_view or renamed[0].location != before.location


def test_a_list_that_was_made_of_the_next_table_is_taken_away(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, SHAPES["whole"])
    table = kernel.table(NAME)
    ports = world.process()

    def make_next() -> None:
        drop(kernel, NAME)
        create(kernel, NAME, SHAPES["whole"])

    files: Any = Meanwhile(
        ports.files, "write_text", make_next, when=lambda path, _: path.endswith("/dropping")
    )
    assert Kernel(dataclasses.replace(ports, files=files)).drops.prepare(table) is None
    assert not kernel.files.exists(kernel.open(NAME).layout.dropping)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_drop_that_is_finished_leaves_the_next_table_whose_maker_has_died(
    shape: str, world: World, kernel: Kernel
) -> None:
    """The maker may still make it, by what is there of it; and it has made it just before it died."""
    create(kernel, NAME, {"p=1": ["other"]})
    assert kernel.drops.prepare(kernel.table(NAME)) is not None
    kernel.metastore.drop_table(NAME)
    maker = Kernel(world.process())
    maker.drops.finish = lambda name: None  # type: ignore[method-assign]  # it has looked before the drop died
    create(maker, NAME, SHAPES[shape])
    state = maker.open(NAME)
    kernel.files.write_text(state.layout.creation_of(state.txn), state.table_id)  # which it has not ended
    world.running.discard(maker.host.owner().pid)
    kernel.drops.finish(NAME)
    kernel.recover(NAME)
    assert rows_of(kernel, NAME) == SHAPES[shape]
