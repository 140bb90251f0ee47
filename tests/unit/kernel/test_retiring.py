"""Deltas that the base holds: readers find them as long as a query may need them, and no longer."""

from __future__ import annotations

import datetime

import pytest

from kernel.support import (
    Died,
    add_delta,
    add_overlay,
    assert_nothing_orphaned,
    assert_whole,
    create,
    move_into_base,
    published,
)
from lakemerge.errors import CommitConflict
from lakemerge.kernel import Kernel, TableName, mark_folded, mark_settled, retire_unread, vacuum
from lakemerge.kernel.commit.retiring import PLANNING_TIME
from lakemerge.testing import World

NAME = TableName("s", "t")
ROWS = {"p=1": ["merged"]}
PLANNING = PLANNING_TIME.total_seconds()


@pytest.fixture(autouse=True)
def table(kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"], "p=2": ["old"]})
    add_overlay(kernel, NAME)
    add_delta(kernel, NAME, "delta 1")


def retire(kernel: Kernel) -> int:
    with kernel.begin(NAME, "compact", data_change=False) as txn:
        count = retire_unread(txn)
        if count:
            txn.commit()
        return count


def test_who_has_looked_at_the_base_before_finds_its_deltas_for_ten_minutes(
    world: World, kernel: Kernel
) -> None:
    move_into_base(kernel, NAME, ROWS)
    add_delta(kernel, NAME, "delta 2")
    assert retire(kernel) == 0
    world.timeline.pass_by(PLANNING - 60)
    add_delta(kernel, NAME, "delta 3")
    assert retire(kernel) == 0
    world.timeline.pass_by(61)
    assert retire(kernel) == 1
    assert published(kernel, NAME, "deltas") == ("delta 2", "delta 3")
    assert_whole(kernel, NAME)


def test_a_mark_tells_that_no_other_version_has_to_follow(world: World, kernel: Kernel) -> None:
    with kernel.begin(NAME, "compact", data_change=False) as txn:
        assert txn.base is not None
        mark_folded(txn, txn.base.sidecars["deltas"])
        txn.commit()
    mark_settled(txn)
    world.timeline.pass_by(PLANNING + 1)
    assert retire(kernel) == 1
    assert published(kernel, NAME, "deltas") == ()


def test_however_merges_and_compactions_follow_on_each_other_those_of_ten_minutes_stay(
    world: World, kernel: Kernel
) -> None:
    for number in range(2, 40):
        move_into_base(kernel, NAME, ROWS)
        for more in range(3):
            world.timeline.pass_by(70)
            add_delta(kernel, NAME, f"delta {number:02}.{more}")
            retire(kernel)
        manifest = assert_whole(kernel, NAME)
        assert len(manifest.sidecars["folded_deltas"]) <= 12
    shown = published(kernel, NAME, "deltas")
    assert shown == tuple(sorted(shown))
    # no older one stays where a newer one goes, whose row of the same key it would show again
    assert shown[0].startswith("delta 3")
    assert shown[-1] == "delta 39.2"


def test_a_move_that_is_finished_for_its_dead_writer_is_as_old_as_that(world: World, kernel: Kernel) -> None:
    """Its manifest was written long before any reader saw the base that it makes."""

    def die(step: str) -> None:
        if step == "claimed":
            raise Died

    with pytest.raises(Died):
        move_into_base(Kernel(world.process(), step=die), NAME, ROWS)
    world.timeline.pass_by(100 * PLANNING)
    kernel.recover(NAME)
    assert len(kernel.settled(NAME)[1].sidecars["folded_deltas"]) == 1
    assert retire(kernel) == 0
    add_delta(kernel, NAME, "delta 2")
    world.timeline.pass_by(PLANNING + 1)
    assert retire(kernel) == 1


def test_two_that_take_them_away_at_once_are_no_conflict(world: World, kernel: Kernel) -> None:
    move_into_base(kernel, NAME, ROWS)
    add_delta(kernel, NAME, "delta 2")
    world.timeline.pass_by(PLANNING + 1)
    with kernel.begin(NAME, "merge") as txn:
        assert retire_unread(txn) == 1
        assert retire(Kernel(world.process())) == 1
        move_into_base(kernel, NAME, ROWS)
        txn.commit()
    assert published(kernel, NAME, "deltas") == ("delta 2",)
    assert_whole(kernel, NAME)


def test_who_reads_the_view_meanwhile_does_its_work_again(world: World, kernel: Kernel) -> None:
    """A query may find a delta at one place of the view and not at the other, and miss its keys."""
    move_into_base(kernel, NAME, ROWS)
    add_delta(kernel, NAME, "delta 2")
    world.timeline.pass_by(PLANNING + 1)
    for data_change in (True, False):
        with kernel.begin(NAME, "merge", data_change=data_change) as txn:
            txn.read_side_data("folded_deltas")
            txn.read([])
            assert retire(Kernel(world.process())) == 1
            with pytest.raises(CommitConflict):
                txn.commit()
        move_into_base(kernel, NAME, ROWS)
        add_delta(kernel, NAME, "delta 3")
        world.timeline.pass_by(PLANNING + 1)


def test_vacuum_takes_them_away_and_keeps_their_files_for_its_own_time(world: World, kernel: Kernel) -> None:
    move_into_base(kernel, NAME, ROWS)
    layout, folders = (
        kernel.open(NAME).layout,
        kernel.settled(NAME)[1].sidecars["folded_deltas"],
    )
    week = datetime.timedelta(days=7)
    vacuum(kernel, NAME, retention=week, dry_run=False)
    assert kernel.settled(NAME)[1].sidecars["folded_deltas"] == folders, "nobody knows how old the move is"
    world.timeline.pass_by(PLANNING + 1)
    assert vacuum(kernel, NAME, retention=week, dry_run=True) == []
    assert kernel.settled(NAME)[1].sidecars["folded_deltas"] == folders, "it only tells"
    vacuum(kernel, NAME, retention=week, dry_run=False)
    assert not kernel.settled(NAME)[1].sidecars["folded_deltas"]
    assert published(kernel, NAME, "deltas") == ()
    place = layout.absolute(folders[0])
    assert list(kernel.files.walk(place)), "a query that has been planned reads them"
    vacuum(kernel, NAME, retention=week, dry_run=False)
    world.timeline.pass_by(week.total_seconds() + 1)
    vacuum(kernel, NAME, retention=week, dry_run=False)
    assert not list(kernel.files.walk(place))
    assert_nothing_orphaned(kernel, NAME)
