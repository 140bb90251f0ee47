"""Tables by which views show versions: made once for each content, and gone a day after the next one."""

from __future__ import annotations

import datetime
import itertools
from dataclasses import replace

import pytest

from kernel.commits import Kind
from kernel.counted import NAME, killed_after
from kernel.support import (
    add_delta,
    add_overlay,
    assert_nothing_orphaned,
    assert_whole,
    compact,
    create,
    merge,
    rows_of,
)
from lakemerge.engine.versions.choice import Choice
from lakemerge.engine.versions.published import GRACE, table_for_view
from lakemerge.engine.versions.tags import tag, untag
from lakemerge.kernel import Kernel, TableName
from lakemerge.kernel.ports.metastore import HiveTable, Storage
from lakemerge.testing import World

VIEW = TableName("marts", "exact")


def build(kernel: Kernel, choice: Choice | None = None, view: TableName = VIEW) -> TableName:
    """What a build of the view does."""
    kernel.clock.sleep(1)
    table = table_for_view(kernel, NAME, view, choice or Choice())
    row = HiveTable(view, "VIRTUAL_VIEW", Storage(), view_text=f"select * from {table}")
    known = kernel.metastore.get_table(view)
    if known is None:
        kernel.metastore.create_table(row)
    else:
        kernel.metastore.alter_table(view, replace(known, view_text=row.view_text))
    return table


def tables(kernel: Kernel) -> set[str]:
    return {row.name for row in kernel.metastore.table_summaries("s")} - {NAME.name}


def forget(kernel: Kernel) -> None:
    for label in kernel.settled(NAME)[1].references:
        untag(kernel, NAME, label)


def wait(kernel: Kernel, days: float) -> None:
    kernel.clock.sleep(datetime.timedelta(days=days).total_seconds())


@pytest.fixture
def kernel() -> Kernel:
    kernel = Kernel(World().process())
    create(kernel, NAME, {"p=1": ["old"], "p=2": ["old"]})
    return kernel


def test_a_table_for_each_content(kernel: Kernel) -> None:
    first = build(kernel)
    versions = kernel.open(NAME).version
    assert build(kernel) == first, "nothing has changed"
    assert kernel.open(NAME).version == versions, "so nothing was committed"
    before = rows_of(kernel, first)
    merge(kernel, NAME, {"p=1": ["new"]})
    second = build(kernel)
    assert second != first
    assert rows_of(kernel, first) == before, "queries that have begun go on"
    compact(
        kernel, NAME
    )  # the same rows in other files: a table over the old ones would keep them from vacuum
    assert build(kernel) not in (first, second)
    kept = tag(kernel, NAME, "month_end", Choice(version=1), as_table=True)
    assert str(build(kernel, Choice.of(tag="month_end"))) == kept.table, "a tag's own table is enough"


def test_old_tables_go_a_day_after_the_next_one(kernel: Kernel) -> None:
    first = build(kernel)
    merge(kernel, NAME, {"p=1": ["2"]})
    wait(kernel, 7)
    second = build(kernel)
    merge(kernel, NAME, {"p=1": ["3"]})
    third = build(kernel)
    assert {first.name, second.name, third.name} == tables(kernel), "the second has shown for a moment"
    wait(kernel, 7)
    assert build(kernel) == third
    assert tables(kernel) == {third.name}
    assert_whole(kernel, NAME)
    forget(kernel)
    assert_nothing_orphaned(kernel, NAME)


def test_what_another_view_shows_stays(kernel: Kernel) -> None:
    other = TableName("dev", VIEW.name)
    mine, theirs = build(kernel), build(kernel, view=other)
    assert mine != theirs
    for text in "234":
        merge(kernel, NAME, {"p=1": [text]})
        wait(kernel, 7)
        build(kernel)
    assert theirs.name in tables(kernel)


def test_what_the_view_shows_stays_until_it_shows_another(kernel: Kernel) -> None:
    first = build(kernel)
    before = kernel.open(NAME).version
    merge(kernel, NAME, {"p=1": ["2"]})
    second = build(kernel)
    wait(kernel, 7)
    assert build(kernel, Choice(version=before)) == first, "the view goes back"
    wait(kernel, 7)
    merge(kernel, NAME, {"p=1": ["3"]})
    third = table_for_view(
        kernel, NAME, VIEW, Choice()
    )  # and the process dies before it has replaced the view
    assert {first.name, third.name} <= tables(kernel)
    assert second.name in tables(kernel), "the next one after it is of this moment"
    wait(kernel, 2 * GRACE.total_seconds() / 86400)
    assert build(kernel) == third
    assert first.name in tables(kernel), "the view has shown it until now"
    assert build(kernel) == third
    assert tables(kernel) == {third.name}


def test_merged_on_read(kernel: Kernel) -> None:
    add_overlay(kernel, NAME)
    add_delta(kernel, NAME, "delta 1")
    shown = build(kernel)
    assert build(kernel) == shown
    add_delta(kernel, NAME, "delta 2")
    assert build(kernel) != shown


def test_killed_after_any_write() -> None:
    """The view shows a whole version all the time, and the next build completes the work."""
    for write in itertools.count(1):
        world = World()
        kernel = Kernel(world.process())
        create(kernel, NAME, {"p=1": ["old"], "p=2": ["old"]})
        first = build(kernel)
        merge(kernel, NAME, {"p=1": ["2"]})
        build(kernel)
        merge(kernel, NAME, {"p=1": ["3"]})
        wait(kernel, 7)

        def run(kernel: Kernel, _: TableName) -> None:
            build(kernel)

        if not killed_after(world, write, Kind(lambda *_: None, run, ())):
            break
        row = kernel.metastore.get_table(VIEW)
        assert row is not None
        shown = TableName.parse(row.view_text.rpartition(" ")[2], "")
        assert len(rows_of(kernel, shown)) == 2
        kernel.recover(NAME)
        wait(kernel, 7)
        newest = build(kernel)
        assert rows_of(kernel, newest) == rows_of(kernel, NAME)
        wait(kernel, 7)
        build(kernel)
        assert tables(kernel) == {newest.name}
        assert first != newest
        assert_whole(kernel, NAME)
        forget(kernel)
        assert_nothing_orphaned(kernel, NAME)
    assert write > 10
