"""Processes that die while they name a version, make its table or take both away, after each of their writes."""

from __future__ import annotations

import itertools

import pytest

from kernel.commits import Kind
from kernel.counted import NAME, killed_after
from kernel.support import (
    add_delta,
    add_overlay,
    assert_nothing_orphaned,
    assert_whole,
    create,
    locations,
    merge,
    picture,
)
from lakemerge.engine.versions.choice import Choice
from lakemerge.engine.versions.tags import tag, untag
from lakemerge.errors import InvalidConfig, UnknownReference, VersionNotFound
from lakemerge.kernel import Kernel, TableName, find_version
from lakemerge.testing import World

SHOWN = TableName("s", "t__kept")
#: The names in the metastore by which other programs read a version with deltas.
ON_READ = {"t__kept", "t__kept__base", "t__kept__deltas"}


def prepare(kernel: Kernel, on_read: bool) -> int:
    """A table whose version before the last is to be named; returns its number."""
    create(kernel, NAME, {"p=1": ["old"], "p=2": ["old"]})
    if on_read:
        add_overlay(kernel, NAME)
        version = add_delta(kernel, NAME, "delta 1")
        add_delta(kernel, NAME, "delta 2")
        return version
    version = kernel.open(NAME).version
    merge(kernel, NAME, {"p=1": ["new"]})
    return version


def extra_names(kernel: Kernel) -> set[str]:
    names = {row.name for row in kernel.metastore.table_summaries("s")}
    return {name for name in names if name.startswith(SHOWN.name)}


def shows(kernel: Kernel, version: int, on_read: bool) -> None:
    """The table of the version points to the version's own files."""
    state, manifest = find_version(kernel, NAME, version=version)
    assert extra_names(kernel) == (ON_READ if on_read else {SHOWN.name})
    main = TableName("s", "t__kept__base") if on_read else SHOWN
    places = {name: state.layout.absolute(one.location) for name, one in manifest.partitions.items()}
    assert locations(kernel, main) == places


@pytest.mark.parametrize("on_read", [False, True], ids=["copy on write", "merge on read"])
@pytest.mark.parametrize("undoes", [False, True], ids=["tag", "untag"])
def test_killed_after_any_write(undoes: bool, on_read: bool) -> None:
    """The main table is as it was, its next commit counts, and the same call again completes the work."""
    for write in itertools.count(1):
        world = World()
        kernel = Kernel(world.process())
        version = prepare(kernel, on_read)
        if undoes:
            tag(kernel, NAME, "kept", Choice(version=version), as_table=True)

        def run(kernel: Kernel, name: TableName, version: int = version) -> None:
            if undoes:
                untag(kernel, name, "kept")
            else:
                tag(kernel, name, "kept", Choice(version=version), as_table=True)

        before = picture(kernel, NAME)
        if not killed_after(world, write, Kind(lambda *_: None, run, ())):
            break
        kernel.recover(NAME)
        assert picture(kernel, NAME) == before
        assert_whole(kernel, NAME)
        named = "kept" in kernel.settled(NAME)[1].references
        if undoes:
            if named:
                untag(kernel, NAME, "kept")
        else:
            assert named or not extra_names(kernel), "a table comes after its name, which keeps its files"
            tag(kernel, NAME, "kept", Choice(version=version), as_table=True)
            shows(kernel, version, on_read)
            untag(kernel, NAME, "kept")
        assert extra_names(kernel) == set()
        assert picture(kernel, NAME) == before
        assert_nothing_orphaned(kernel, NAME)
    assert write > 5


def test_no_two_tags_have_one_table() -> None:
    world = World()
    kernel = Kernel(world.process())
    create(kernel, NAME, {"p=1": ["old"]})
    add_overlay(kernel, NAME)
    add_delta(kernel, NAME, "delta 1")
    first = tag(kernel, NAME, "month.end", Choice(), as_table=True)
    for label in ("month-end", "MONTH.end", "month.end__base"):
        with pytest.raises(InvalidConfig, match=r"month\.end has t__month_end"):
            tag(kernel, NAME, label, Choice(), as_table=True)
        with pytest.raises(UnknownReference):
            untag(kernel, NAME, label)
    tag(kernel, NAME, "20261031", Choice(), as_table=True)  # digits are a name, and no number
    untag(kernel, NAME, "20261031")
    assert {row.name for row in kernel.metastore.table_summaries("s")} >= {first.table.partition(".")[2]}
    with pytest.raises(VersionNotFound):
        Choice.of(version=20261031).find_with(kernel, NAME)
