"""Commits of several tables whose process dies, after each of its writes, in memory."""

from __future__ import annotations

import itertools

import pytest

from kernel.counted import NAME, expected, killed_after, recover
from kernel.groups import GROUPS
from kernel.support import assert_nothing_orphaned, assert_whole, create, names_in_metastore
from lakemerge.kernel import Kernel
from lakemerge.kernel.maintenance.drop import drop
from lakemerge.kernel.table.definition import VERSION
from lakemerge.kernel.table.overlay import find_row
from lakemerge.testing import World


@pytest.mark.parametrize("backwards", [False, True], ids=["from the first", "from the last"])
@pytest.mark.parametrize("kind", GROUPS)
def test_a_commit_killed_after_any_write_is_in_all_tables_or_in_none(kind: str, backwards: bool) -> None:
    """Recovery of one table, whichever, settles what becomes of the others."""
    group = GROUPS[kind]
    old, new = expected(group)
    seen = []
    for write in itertools.count(1):
        world = World()
        kernel = Kernel(world.process())
        group.prepare(kernel, NAME)
        if not killed_after(world, write, group):
            break
        names = sorted(group.names(NAME), reverse=backwards)
        row = find_row(kernel.metastore, names[0])
        claimed = row is not None and ":" in row.parameters[VERSION]
        recover(kernel, names[:1])
        first = group.pictures(kernel, NAME)
        recover(kernel, names)
        found = group.pictures(kernel, NAME)
        assert found in (old, new), f"after write {write}"
        if claimed:  # the whole group is finished from any of its tables
            assert first == found
        seen.append(found == new)
        for name in names:
            if kernel.exists(name):
                assert_whole(kernel, name)
                assert_nothing_orphaned(kernel, name)
        assert {row.name for row in world.metastore.table_summaries("s")} == {
            one for name in names for one in names_in_metastore(kernel, name)
        }
        if found == old:
            group.run(kernel, NAME)
    assert seen == sorted(seen), "from one write on it stands"
    assert {True, False} == set(seen)


def test_a_name_that_a_dead_group_held_is_free_again(world: World) -> None:
    group = GROUPS["group-created"]
    kernel = Kernel(world.process())
    for write in itertools.count(1):
        if not killed_after(world, write, group):
            break
        for name in group.names(NAME):
            if not kernel.exists(name):
                create(kernel, name, {"p=1": ["another"]})
            drop(kernel, name)
        assert not list(kernel.files.walk("memory:/warehouse/s.db")), f"after write {write}"
    assert world.metastore.table_summaries("s") != []
