"""Calls that the metastore refuses: the refusal is reported as it is, and is not taken for another writer's doing."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from kernel.meanwhile import Meanwhile
from kernel.support import (
    COLUMNS,
    OTHER_KEYS,
    Died,
    add_delta,
    add_overlay,
    create,
    ingest,
    make_plain,
    merge,
    move_into_base,
    picture,
    rows_of,
    stage,
)
from lakemerge.errors import (
    ClaimHeld,
    CommitUnfinished,
    LakemergeError,
    TableNotFound,
    UnsupportedTable,
)
from lakemerge.kernel import HiveTable, Kernel, TableName, drop, remove_overlay
from lakemerge.kernel.ports import Refused, ReplyLost, Storage
from lakemerge.kernel.table.definition import TABLE_ID, VERSION, with_parameters
from lakemerge.kernel.table.overlay import MADE_BY
from lakemerge.kernel.table.side_tables import SIDE_TABLES
from lakemerge.testing import World

NAME = TableName("s", "t")
VIEW = HiveTable(NAME, "VIRTUAL_VIEW", Storage(columns=COLUMNS), view_text="select 1")


class Refusing:
    """A metastore that refuses one kind of call, as long as there is a reason to."""

    def __init__(self, inner: Any, call: str, when: Callable[..., bool] = lambda *_, **__: True) -> None:
        self._inner, self._call, self._when = inner, call, when

    @property
    def compares(self) -> bool | None:
        return self._inner.compares

    @compares.setter
    def compares(self, value: bool | None) -> None:
        self._inner.compares = value

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name != self._call:
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            if self._when(*args, **kwargs):
                raise Refused(name, "MetaException", "permission denied")
            return found(*args, **kwargs)

        return call


def refusing(world: World, call: str, when: Callable[..., bool] = lambda *_, **__: True) -> Kernel:
    ports = world.process()
    metastore: Any = Refusing(ports.metastore, call, when)
    return Kernel(dataclasses.replace(ports, metastore=metastore))


@pytest.mark.parametrize("is_view", [False, True], ids=["table", "view"])
def test_a_drop_that_is_refused(world: World, kernel: Kernel, is_view: bool) -> None:
    if is_view:
        kernel.metastore.create_table(VIEW)
    else:
        create(kernel, NAME, {"p=1": ["old"]})
    with pytest.raises(Refused, match="permission denied"):
        drop(refusing(world, "alter_table", lambda name, row, **_: row.name != name), NAME)
    assert kernel.exists(NAME)


def test_comments_that_are_refused(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    change = refusing(world, "alter_table")
    with pytest.raises(Refused, match="permission denied"):
        change.change_row(NAME, lambda row: with_parameters(row, {"comment": "new"}))


def test_comments_that_commits_come_before_each_time(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, {"": ["old"]})
    tried: list[int] = []

    def change(row: HiveTable) -> HiveTable:
        tried.append(merge(kernel, NAME, {"": ["new"]}))
        return with_parameters(row, {"comment": "new"})

    with pytest.raises(ClaimHeld, match="other writers were first each time"):
        kernel.change_row(NAME, change)
    assert len(tried) == 20


def test_comments_of_a_table_that_goes_meanwhile(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})

    def change(row: HiveTable) -> HiveTable:
        drop(kernel, NAME)
        return with_parameters(row, {"comment": "new"})

    assert kernel.change_row(NAME, change)
    with pytest.raises(TableNotFound):
        kernel.change_row(NAME, change)


def test_a_probe_that_is_refused(world: World, kernel: Kernel) -> None:
    """Of a view no answer is known without another row, which is not allowed."""
    kernel.metastore.create_table(VIEW)
    with pytest.raises(Refused, match="permission denied"):
        refusing(world, "create_table").versions.compares(NAME)


def test_a_probe_finds_what_an_earlier_one_has_left(world: World, kernel: Kernel) -> None:
    kernel.metastore.create_table(VIEW)
    dying = refusing(world, "drop_table")
    with pytest.raises(Refused):
        dying.versions.compares(NAME)
    assert len(world.metastore.table_summaries("s")) == 2
    assert kernel.versions.compares(NAME)
    assert len(world.metastore.table_summaries("s")) == 1


def test_no_version_follows_where_there_is_no_table(kernel: Kernel) -> None:
    """Whether the metastore compares is not asked of a table that is gone."""
    assert kernel.metastore.compares is None
    assert not kernel.versions.compare_and_swap(NAME, "id", "1", {VERSION: "2", TABLE_ID: "id"})


def rebuild(kernel: Kernel) -> int:
    with kernel.begin(NAME, "replace") as transaction:
        transaction.replace_all()
        transaction.set_schema(COLUMNS, OTHER_KEYS)
        stage(kernel, transaction, {"q=1/r=x": ["new"]})
        return transaction.commit()


def is_new(row: HiveTable) -> bool:
    return "__new_" in row.name.name


def test_a_new_row_that_is_refused_stays_claimed_and_is_made_later(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    with pytest.raises(CommitUnfinished, match="permission denied"):
        rebuild(refusing(world, "create_table", is_new))
    world.running.clear()
    kernel = Kernel(world.process())
    kernel.recover(NAME)
    assert rows_of(kernel, NAME) == {"q=1/r=x": ["new"]}


@pytest.mark.parametrize("call", ["create_table", "alter_table"])
def test_a_new_row_that_never_comes_leaves_the_old_one_where_it_is(
    world: World, kernel: Kernel, call: str
) -> None:
    """Requests are lost, each time."""
    create(kernel, NAME, {"p=1": ["old"]})
    ports = world.process()

    class Losing(Refusing):
        def __getattr__(self, name: str) -> Any:
            found = getattr(self._inner, name)
            if name != self._call:
                return found

            def lost(*args: Any, **kwargs: Any) -> Any:
                if self._when(*args, **kwargs):
                    raise ReplyLost(expected="an answer", found="none", action="None.")
                return found(*args, **kwargs)

            return lost

    def when(*args: Any, **_: Any) -> bool:
        name = args[0] if isinstance(args[0], TableName) else args[0].name
        return "__new_" in name.name

    metastore: Any = Losing(ports.metastore, call, when)
    with pytest.raises(CommitUnfinished, match="no answer"):
        rebuild(Kernel(dataclasses.replace(ports, metastore=metastore)))
    assert kernel.metastore.get_table(NAME) is not None or call == "alter_table"
    world.running.clear()
    kernel = Kernel(world.process())
    kernel.recover(NAME)
    assert rows_of(kernel, NAME) == {"q=1/r=x": ["new"]}


def test_a_view_that_is_refused_is_made_later(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    with pytest.raises(LakemergeError, match="permission denied"):
        add_overlay(refusing(world, "create_table", lambda row: row.name == NAME), NAME)
    world.running.clear()
    kernel = Kernel(world.process())
    kernel.recover(NAME)
    assert world.metastore.get_table(NAME).kind == "VIRTUAL_VIEW"  # type: ignore[union-attr]


def test_a_view_whose_text_never_changes_is_reported(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    add_overlay(kernel, NAME)
    ports = world.process()

    class Deaf(Refusing):
        def alter_table(self, name: TableName, row: HiveTable, **kwargs: Any) -> None:
            if row.kind == "VIRTUAL_VIEW":
                raise ReplyLost(expected="an answer", found="none", action="None.")
            self._inner.alter_table(name, row, **kwargs)

    metastore: Any = Deaf(ports.metastore, "")
    with pytest.raises(CommitUnfinished, match="no answer"):
        add_delta(Kernel(dataclasses.replace(ports, metastore=metastore)), NAME, "new")
    world.running.clear()
    kernel = Kernel(world.process())
    kernel.recover(NAME)
    assert picture(kernel, NAME) is not None


def test_partitions_that_the_metastore_names_otherwise_are_refused(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    ports = world.process()

    class Renaming(Refusing):
        def partition_names(self, name: TableName) -> list[str]:
            found: list[str] = self._inner.partition_names(name)
            return [one.replace("é", "e") for one in found]

    metastore: Any = Renaming(ports.metastore, "")
    with pytest.raises(UnsupportedTable, match="to keep"):
        merge(Kernel(dataclasses.replace(ports, metastore=metastore)), NAME, {"p=é": ["new"]})
    assert rows_of(kernel, NAME) == {"p=1": ["old"]}


def test_a_name_that_lakemerge_needs_for_a_moment_is_somebody_elses(world: World, kernel: Kernel) -> None:
    make_plain(kernel, NAME, {"": ["plain"]})
    kernel.open(NAME)
    taken = dataclasses.replace(VIEW, name=TableName("s", "t__removed"))
    kernel.metastore.create_table(taken)
    with pytest.raises(UnsupportedTable, match="to be free for a moment"):
        add_overlay(kernel, NAME)
    assert world.metastore.get_table(taken.name) is not None
    assert rows_of(kernel, NAME) == {"": ["plain"]}


def test_new_columns_that_are_refused_are_refused_before_the_claim(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    with pytest.raises(UnsupportedTable, match="permission denied"):
        rebuild(refusing(world, "create_table", lambda row: row.partition_columns == OTHER_KEYS))
    state = kernel.current_state(NAME)
    assert state is not None
    assert (state.version, state.claim) == (1, None)


def test_the_deltas_stay_as_long_as_the_view_that_reads_them(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    add_overlay(kernel, NAME)
    add_delta(kernel, NAME, "delta")
    move_into_base(kernel, NAME, {"p=1": ["new"]})
    deltas = SIDE_TABLES["deltas"].name_of(NAME)
    kinds: list[str] = []

    class Watching(Refusing):
        def alter_table(self, name: TableName, row: HiveTable, **kwargs: Any) -> None:
            found = world.metastore.get_table(NAME)
            if name == deltas and row.name != name:
                kinds.append(found.kind if found else "")
            self._inner.alter_table(name, row, **kwargs)

    ports = world.process()
    metastore: Any = Watching(ports.metastore, "")
    writer = Kernel(dataclasses.replace(ports, metastore=metastore))
    with writer.begin(NAME, "write_mode") as transaction:
        remove_overlay(transaction)
        transaction.commit()
    assert kinds
    assert "VIRTUAL_VIEW" not in kinds


def test_a_view_of_an_earlier_version_gives_way_to_that_of_the_newest(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    add_overlay(kernel, NAME)
    earlier = world.metastore.get_table(NAME)
    assert earlier is not None
    with kernel.begin(NAME, "write_mode") as transaction:
        remove_overlay(transaction)
        transaction.commit()
    add_overlay(kernel, NAME)
    newest = world.metastore.get_table(NAME)
    world.metastore.drop_table(NAME)
    world.metastore.create_table(earlier)
    kernel.recover(NAME)
    found = world.metastore.get_table(NAME)
    assert found is not None
    assert newest is not None
    assert found.parameters[MADE_BY] == newest.parameters[MADE_BY] != earlier.parameters[MADE_BY]


def test_a_trial_whose_process_died_is_found_by_the_next(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    ports = world.process()

    def die() -> None:
        raise Died

    dying: Any = Meanwhile(ports.metastore, "drop_table", die)
    with pytest.raises(Died):
        ingest(Kernel(dataclasses.replace(ports, metastore=dying)), NAME, {"p=2": ["new"]}, "refused")
    assert len(world.metastore.table_summaries("s")) == 2
    world.running.discard(ports.host.owner().pid)
    merge(kernel, NAME, {"p=1": ["new"]})
    drop(kernel, NAME)
    assert world.metastore.table_summaries("s") == []
