"""Versions by number, time and name, and the tables that show them."""

from __future__ import annotations

import datetime

import pytest

from kernel.support import create, merge
from lakemerge.errors import (
    TimeBeforeHistory,
    TimeInFuture,
    UnsupportedTable,
    VersionNotFound,
    VersionVacuumed,
)
from lakemerge.kernel import (
    Kernel,
    ReadOnlyKernel,
    TableName,
    drop,
    drop_tag_table,
    find_version,
    make_tag_table,
    vacuum,
)
from lakemerge.kernel.table.definition import TAG_OF
from lakemerge.testing import World

NAME = TableName("s", "t")
SHOWN = TableName("s", "t__kept")
DAY = 86_400


def made(world: World, days: int = 4) -> Kernel:
    """A kernel and a table with a version a day."""
    kernel = Kernel(world.process())
    create(kernel, NAME, {"p=1": ["1"]})
    for number in range(2, days + 1):
        world.timeline.pass_by(DAY)
        merge(kernel, NAME, {"p=1": [str(number)]})
    return kernel


def test_a_time_names_the_last_version_that_was_committed_by_then(world: World) -> None:
    kernel = made(world)
    times = [
        datetime.datetime.fromisoformat(find_version(kernel, NAME, version=n)[1].committed_at) for n in (1, 2)
    ]
    second = datetime.timedelta(seconds=1)
    assert find_version(kernel, NAME, time=times[0])[1].version == 1
    assert find_version(kernel, NAME, time=times[1] - second)[1].version == 1
    assert find_version(kernel, NAME, time=times[1])[1].version == 2
    with pytest.raises(TimeBeforeHistory, match="the table was made then"):
        find_version(kernel, NAME, time=times[0] - second)
    with pytest.raises(TimeInFuture):
        find_version(kernel, NAME, time=kernel.clock.now() + datetime.timedelta(hours=1))
    # a version that a clock of the past has made does not hide a later one
    assert find_version(kernel, NAME)[1].version == 4


def test_what_vacuum_has_left_is_found(world: World) -> None:
    kernel = made(world)
    first = find_version(kernel, NAME, version=1)[1]
    with kernel.begin(NAME, "tag", data_change=False) as transaction:
        transaction.set_reference("kept", first.txn)
        transaction.commit()
    world.timeline.pass_by(10 * DAY)
    vacuum(kernel, NAME, dry_run=False)
    assert find_version(kernel, NAME, version=1)[1].partitions == first.partitions
    with pytest.raises(
        VersionVacuumed, match=r"version 2 of s\.t to be kept; found versions 4 to 5 and 1 \(kept\)"
    ):
        find_version(kernel, NAME, version=2)
    with pytest.raises(VersionNotFound, match="a version 9"):
        find_version(kernel, NAME, version=9)
    with pytest.raises(TimeBeforeHistory, match="older ones are vacuumed"):
        find_version(kernel, NAME, time=datetime.datetime(2000, 1, 1, tzinfo=datetime.timezone.utc))


@pytest.mark.parametrize("reads_only", [False, True], ids=["vacuum", "dry run"])
def test_a_name_keeps_its_version_until_it_expires(world: World, reads_only: bool) -> None:
    kernel = made(world)
    first = find_version(kernel, NAME, version=1)[1]
    until = kernel.clock.now() + datetime.timedelta(days=30)
    with kernel.begin(NAME, "tag", data_change=False) as transaction:
        transaction.set_reference("kept", first.txn, expires_at=until.isoformat())
        transaction.commit()
    place = kernel.open(NAME).layout.absolute(first.partitions["p=1"].location)

    def frees() -> bool:
        seen_by = ReadOnlyKernel(world.process()) if reads_only else kernel
        return any(place.startswith(one.path) for one in vacuum(seen_by, NAME, dry_run=reads_only))

    world.timeline.pass_by(20 * DAY)
    assert not frees()
    world.timeline.pass_by(20 * DAY)
    assert frees()


def test_a_table_shows_a_version_and_goes_with_the_main_table(world: World) -> None:
    kernel = made(world)
    state, second = find_version(kernel, NAME, version=2)
    for _ in range(2):  # the second call finds all done
        make_tag_table(kernel, state, second, SHOWN)
    (shown,) = kernel.metastore.partitions(SHOWN, ["p=1"])
    assert shown.location == state.layout.absolute(second.partitions["p=1"].location)
    assert kernel.table(SHOWN).kind == "EXTERNAL_TABLE"
    with pytest.raises(UnsupportedTable, match="a version of another one"):
        kernel.open(SHOWN)
    with pytest.raises(UnsupportedTable, match="to be free"):
        make_tag_table(kernel, state, find_version(kernel, NAME, version=3)[1], SHOWN)
    with kernel.begin(NAME, "tag", data_change=False) as transaction:
        transaction.set_reference("kept", second.txn, table=SHOWN.name)
        transaction.commit()
    drop(kernel, NAME)
    assert kernel.metastore.get_table(SHOWN) is None


def test_another_tables_row_is_not_dropped(world: World) -> None:
    kernel = made(world)
    state, second = find_version(kernel, NAME, version=2)
    make_tag_table(kernel, state, second, SHOWN)
    drop_tag_table(kernel, SHOWN, "another")
    assert kernel.table(SHOWN).parameters[TAG_OF] == state.table_id
    drop_tag_table(kernel, SHOWN, state.table_id)
    assert kernel.metastore.get_table(SHOWN) is None
    assert find_version(kernel, NAME, version=2)[1].partitions == second.partitions
