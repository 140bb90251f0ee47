"""Writes under the metastore's locks, for metastores that do not compare and swap."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from kernel.meanwhile import Meanwhile
from kernel.support import (
    OTHER_KEYS,
    WIDER_COLUMNS,
    add_delta,
    add_overlay,
    assert_whole,
    create,
    make_plain,
    merge,
    picture,
    rows_of,
    stage,
)
from lakemerge.errors import ClaimHeld, CommitInDoubt
from lakemerge.kernel import Kernel, Settings, TableName, drop, remove_overlay
from lakemerge.kernel.ports import DDL_TIME, HiveTable, Metastore
from lakemerge.kernel.table.definition import TABLE_ID
from lakemerge.testing import LateCalls, World

NAME = TableName("s", "t")


@pytest.fixture
def world() -> World:
    world = World()
    world.metastore.honours_expectations = False
    return world


def process(world: World) -> tuple[LateCalls, Kernel]:
    ports = world.process()
    late = LateCalls(ports.metastore)
    kernel = Kernel(dataclasses.replace(ports, metastore=late.metastore))
    return late, kernel


def test_a_write_that_comes_late_replaces_no_later_version(world: World) -> None:
    """Nobody else writes until it can no longer come."""
    other = Kernel(world.process())
    create(other, NAME, {"p=1": ["old"]})
    late, kernel = process(world)
    kernel.versions.compares(NAME)
    late.lose("alter_table")
    assert merge(kernel, NAME, {"p=1": ["first"]}) == 2
    began = world.timeline.seconds
    assert merge(other, NAME, {"p=1": ["second"]}) == 3
    assert world.timeline.seconds - began >= 250
    # 45 seconds after it was sent it would have been in time to do harm; now it would not be carried out any more
    late.on_their_way.clear()
    assert rows_of(other, NAME) == {"p=1": ["second"]}
    assert_whole(other, NAME)


def test_a_write_that_comes_while_the_lock_is_kept_changes_nothing(world: World) -> None:
    other = Kernel(world.process(), Settings(claim_timeout=1))
    create(other, NAME, {"p=1": ["old"]})
    late, kernel = process(world)
    kernel.versions.compares(NAME)
    late.lose("alter_table")
    transaction = kernel.begin(NAME, "merge")
    transaction.read()
    kernel.files.write_text(f"{transaction.stage_directory}/p=1/part-0.orc", "first")
    transaction.add_staged()
    # the claim, sent twice; then the first one comes between the second and the settlement
    step = kernel.step
    kernel.step = lambda name: (late.arrive() if name == "claimed" else None, step(name))[1]
    assert transaction.commit() == 2
    assert rows_of(other, NAME) == {"p=1": ["first"]}
    assert_whole(other, NAME)


@pytest.mark.parametrize("arrives", [False, True])
def test_a_process_whose_write_got_no_answer_ends_its_commit_and_waits_before_the_next(
    world: World, arrives: bool
) -> None:
    """Its own late write would take the place of its next version, as it would of anybody's."""
    create(Kernel(world.process()), NAME, {"p=1": ["old"]})
    late, kernel = process(world)
    kernel.versions.compares(NAME)
    late.lose("alter_table")
    began = world.timeline.seconds
    assert merge(kernel, NAME, {"p=1": ["first"]}) == 2
    assert world.timeline.seconds - began < 60
    if arrives:
        late.arrive()
    assert merge(kernel, NAME, {"p=1": ["second"]}) == 3
    assert world.timeline.seconds - began >= 250
    assert rows_of(kernel, NAME) == {"p=1": ["second"]}
    assert_whole(kernel, NAME)
    assert world.metastore._locks == {}


class Overtaken:
    """A metastore in which somebody whose lock has timed out writes right after a write of this client."""

    def __init__(self, inner: Metastore, write: Callable[[], None], times: int = 1) -> None:
        self._inner = inner
        self._write = [write] * times

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def alter_table(self, name: TableName, table: HiveTable, **expected: Any) -> None:
        self._inner.alter_table(name, table, **expected)
        if self._write:
            self._write.pop()()


def test_what_was_replaced_under_the_lock_is_written_again(world: World) -> None:
    other = Kernel(world.process())
    create(other, NAME, {"p=1": ["old"]})
    before = other.table(NAME)
    merge(other, NAME, {"p=1": ["acknowledged"]})
    ports = world.process()
    overtaken: Any = Overtaken(ports.metastore, lambda: world.metastore.alter_table(NAME, before))
    kernel = Kernel(dataclasses.replace(ports, metastore=overtaken))
    kernel.versions.compares(NAME)
    assert merge(kernel, NAME, {"p=1": ["newest"]}) == 3
    assert rows_of(other, NAME) == {"p=1": ["newest"]}
    assert [one.version for one in _history(other)] == [3, 2, 1]


def test_who_is_replaced_under_the_lock_each_time_does_not_take_that_for_a_commit(world: World) -> None:
    other = Kernel(world.process())
    create(other, NAME, {"p=1": ["old"]})
    before = other.table(NAME)
    ports = world.process()
    overtaken: Any = Overtaken(ports.metastore, lambda: world.metastore.alter_table(NAME, before), times=100)
    kernel = Kernel(dataclasses.replace(ports, metastore=overtaken))
    kernel.versions.compares(NAME)
    with pytest.raises(CommitInDoubt, match="whether the commit stands"):
        merge(kernel, NAME, {"p=1": ["newest"]})
    assert rows_of(other, NAME) == {"p=1": ["old"]}


def _history(kernel: Kernel) -> Any:
    from lakemerge.kernel.maintenance.history import history

    return history(kernel, NAME)


def test_who_waits_too_long_for_a_lock_gives_its_request_back(world: World) -> None:
    kernel = Kernel(world.process())
    create(kernel, NAME, {"p=1": ["old"]})
    world.metastore.lock_seconds = 3600
    held = world.metastore.lock(NAME, user="other", host="other")
    with pytest.raises(ClaimHeld):
        merge(kernel, NAME, {"p=1": ["new"]})
    assert list(world.metastore._locks) == [held]


def test_a_write_that_is_answered_gives_its_lock_back_at_once(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    late, kernel = process(world)
    create(kernel, NAME, {"p=1": ["old"]})
    assert caplog.text.count("This metastore has no compare-and-swap") == 1
    merge(kernel, NAME, {"p=1": ["new"]})
    assert world.metastore._locks == {}
    late.lose("alter_table", times=100)
    with pytest.raises(CommitInDoubt):
        merge(kernel, NAME, {"p=1": ["never"]})
    assert len(world.metastore._locks) == 1


@pytest.mark.parametrize("lost", ["mark", "confirmation"])
def test_a_call_of_a_group_that_comes_late_takes_nothing_back(world: World, lost: str) -> None:
    """A mark says that nothing is decided: after the decision, whoever finds it would end the group."""
    first, second = TableName("s", "a"), TableName("s", "b")
    late, kernel = process(world)
    for name in (first, second):
        create(kernel, name, {"p=1": ["old"]})
        kernel.versions.compares(name)
    transactions = [kernel.begin(name, "merge") for name in (first, second)]
    for one in transactions:
        stage(kernel, one, {"p=1": ["new"]})
    steps: list[str] = []

    def reached(step: str) -> None:
        steps.append(step)
        if steps.count("table claimed") == 2 and step == "table claimed":
            late.lose("alter_table")

    if lost == "mark":
        late.lose("alter_table")
    else:
        kernel.step = reached
    began = world.timeline.seconds
    assert kernel.commit_together(transactions) == {first: 2, second: 2}
    if world.timeline.seconds - began >= 250:
        late.on_their_way.clear()  # it would not be carried out any more
    late.arrive()
    other = Kernel(world.process())
    for name in (first, second):
        other.recover(name)
        assert rows_of(other, name) == {"p=1": ["new"]}
        assert_whole(other, name)


class LateBy(LateCalls):
    """A client one of whose changes of rows comes later, but no later than a lock is kept.

    Attributes:
        number: which of them; ``sent`` counts.
    """

    def __init__(self, inner: Metastore, world: World, number: int) -> None:
        super().__init__(inner)
        self.number, self.sent, self.at = number, 0, -1.0
        self._world = world

    def alter_table(self, *args: Any, **kwargs: Any) -> None:
        self.sent += 1
        if self.sent == self.number:
            self.at = self._world.timeline.seconds
            self.lose("alter_table")
        self.__getattr__("alter_table")(*args, **kwargs)

    def arrive(self) -> None:
        if self._world.timeline.seconds - self.at >= 295:
            self.on_their_way.clear()
        super().arrive()


def other_columns(kernel: Kernel) -> None:
    with kernel.begin(NAME, "replace") as transaction:
        transaction.replace_all()
        transaction.set_schema(WIDER_COLUMNS, OTHER_KEYS)
        stage(kernel, transaction, {"q=1/r=x": ["new"]})
        transaction.commit()


def take_off(kernel: Kernel) -> None:
    with kernel.begin(NAME, "write_mode") as transaction:
        remove_overlay(transaction)
        transaction.commit()


WORKS: dict[str, tuple[Callable[[Kernel], object], bool]] = {
    "merge": (lambda kernel: merge(kernel, NAME, {"p=1": ["new"]}), False),
    "other columns": (other_columns, False),
    "view": (lambda kernel: add_overlay(kernel, NAME), False),
    "delta": (lambda kernel: add_delta(kernel, NAME, "new"), True),
    "no view": (take_off, True),
}


@pytest.mark.parametrize("then_another", [False, True])
@pytest.mark.parametrize("number", [1, 2, 3, 4])
@pytest.mark.parametrize("work", WORKS)
def test_no_change_of_a_row_that_comes_late_harms_anybody(
    world: World, work: str, number: int, then_another: bool
) -> None:
    """It comes when its writer has ended, or when others have gone on."""
    do, on_read = WORKS[work]
    other = Kernel(world.process())
    create(other, NAME, {"p=1": ["old"]})
    if on_read:
        add_overlay(other, NAME)
    ports = world.process()
    late = LateBy(ports.metastore, world, number)
    writer = Kernel(dataclasses.replace(ports, metastore=late.metastore))
    do(writer)
    if late.at < 0:
        pytest.skip("it has fewer calls")
    if then_another:
        add_delta(other, NAME, "another") if other.open(NAME).table.name != NAME else other.recover(NAME)
    before = picture(other, NAME)
    version = other.open(NAME).version
    late.arrive()
    other.recover(NAME)
    assert other.open(NAME).version == version
    assert picture(other, NAME) == before
    assert [one.version for one in _history(other)] == list(range(version, 0, -1))
    other.recover(NAME)
    assert not [row.name for row in other.metastore.table_summaries("s") if "__new" in row.name]


@pytest.mark.parametrize("adopts", [False, True])
def test_who_was_left_in_doubt_waits_before_it_writes_the_same_version_again(
    world: World, adopts: bool
) -> None:
    """The first write of that version, by another transaction, would take the place of the second."""
    kernel = Kernel(world.process())
    if adopts:
        make_plain(kernel, NAME, {"p=1": ["old"]})
    else:
        create(kernel, NAME, {"p=1": ["old"]})
    late, writer = process(world)
    writer.versions.compares(NAME)
    late.lose("alter_table", times=1 if adopts else 4)
    began = world.timeline.seconds
    if not adopts:
        with pytest.raises(CommitInDoubt):
            merge(writer, NAME, {"p=1": ["doubtful"]})
    merge(writer, NAME, {"p=1": ["acknowledged"]})
    elapsed = world.timeline.seconds - began
    if elapsed >= 250:
        late.on_their_way.clear()  # they would not be carried out any more
    late.arrive()
    assert rows_of(kernel, NAME) == {"p=1": ["acknowledged"]}
    assert_whole(kernel, NAME)
    assert elapsed >= 250


def test_an_adoption_does_not_take_a_table_that_was_made_within_the_same_second(world: World) -> None:
    """The time of the last DDL is the same; under the lock the table's id tells."""
    other = Kernel(world.process())
    make_plain(other, NAME, {"p=1": ["plain"]})
    plain = other.table(NAME)
    made: list[HiveTable] = []

    def make_another() -> None:
        world.metastore.drop_table(NAME)
        create(other, NAME, {"p=1": ["another"]})
        row = other.table(NAME)
        row = dataclasses.replace(row, parameters={**row.parameters, DDL_TIME: plain.parameters[DDL_TIME]})
        world.metastore.alter_table(NAME, row)
        made.append(row)

    ports = world.process()
    slow: Any = Meanwhile(ports.metastore, "lock", make_another)
    kernel = Kernel(dataclasses.replace(ports, metastore=slow))
    kernel.versions.compares(NAME)
    assert kernel.open(NAME).table_id == made[0].parameters[TABLE_ID]
    assert rows_of(other, NAME) == {"p=1": ["another"]}


@pytest.mark.parametrize("is_view", [False, True], ids=["table", "view"])
def test_a_drop_that_comes_late_leaves_the_next_table_of_the_name_alone(world: World, is_view: bool) -> None:
    """Nobody takes a name of which a call may still take away what has it."""
    other = Kernel(world.process())
    create(other, NAME, {"p=1": ["old"]})
    if is_view:
        add_overlay(other, NAME)
    ports = world.process()
    late = LateBy(ports.metastore, world, 1)
    dropping = Kernel(dataclasses.replace(ports, metastore=late.metastore))
    drop(dropping, NAME)
    assert late.at >= 0
    ports = world.process()
    meanwhile: Any = Meanwhile(ports.metastore, "create_table", late.arrive, after=True)
    next_one = Kernel(dataclasses.replace(ports, metastore=meanwhile))
    create(next_one, NAME, {"p=1": ["next"]})
    assert rows_of(other, NAME) == {"p=1": ["next"]}
    assert_whole(other, NAME)
