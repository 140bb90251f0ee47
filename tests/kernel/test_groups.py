"""Commits of several tables on a real metastore: their processes are killed, and all of it is there or nothing."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator

import pytest

from kernel.groups import BEFORE_DECISION, GROUPS, STEPS
from kernel.servers import MetastoreServer
from kernel.support import Picture, assert_nothing_orphaned, assert_whole, names_in_metastore
from kernel.test_crash import Killer
from lakemerge.kernel import Jvm, Kernel, TableName, as_of_group, ports_of

#: Those of the fast ring; the others, and the steps that they leave out, are slow.
_FAST = {
    "group-of-two": ("table claimed", "claimed", "confirmed"),
    "group-of-three": ("table claimed", "swapped"),
}
KILLS = [
    pytest.param(kind, step, marks=() if step in _FAST.get(kind, ()) else pytest.mark.slow)
    for kind in ("group-of-two", "group-of-three")
    for step in STEPS
]

Pictures = list["Picture | None"]


@pytest.fixture(scope="module")
def killer(server: MetastoreServer, jvm: Jvm) -> Iterator[Killer]:
    killer = Killer(server, jvm)
    yield killer
    killer.close()


class Expectations:
    """What readers see of a group's tables before and after it, found out once."""

    def __init__(self, jvm: Jvm) -> None:
        self._jvm = jvm
        self._found: dict[str, tuple[Pictures, Pictures]] = {}

    def __getitem__(self, kind: str) -> tuple[Pictures, Pictures]:
        if kind not in self._found:
            steps: list[str] = []
            kernel = Kernel(ports_of(self._jvm), step=steps.append)
            name = TableName("default", f"expected_{kind.replace('-', '_')}")
            GROUPS[kind].prepare(kernel, name)
            old = GROUPS[kind].pictures(kernel, name)
            steps.clear()
            GROUPS[kind].run(kernel, name)
            assert kind not in _FAST or set(steps) == set(STEPS), "each step is killed at"
            self._found[kind] = old, GROUPS[kind].pictures(kernel, name)
        return self._found[kind]


@pytest.fixture(scope="module")
def expected(jvm: Jvm) -> Expectations:
    return Expectations(jvm)


def check_recovery(
    kernel: Kernel, kind: str, name: TableName, expected: tuple[Pictures, Pictures], *, decided: bool | None
) -> None:
    """Recover from the last table on, and check that all of it is there or nothing, and nothing else is left."""
    names = sorted(GROUPS[kind].names(name), reverse=True)
    for table in names:
        if kernel.exists(table):
            kernel.recover(table)
    old, new = expected
    found = GROUPS[kind].pictures(kernel, name)
    assert found in ((old, new) if decided is None else (new if decided else old,))
    there = [table for table in names if kernel.exists(table)]
    for table in there:
        assert_whole(kernel, table)
        assert_nothing_orphaned(kernel, table)
    schema = {row.name for row in kernel.metastore.table_summaries(name.schema)}
    assert {one for one in schema if one.startswith(f"{name.name}_")} == {
        one for table in there for one in names_in_metastore(kernel, table)
    }
    assert {manifest.group is not None for manifest in as_of_group(kernel, there).values()} <= {
        found == new,
        False,
    }
    if found == old:  # what it has left is not in the way
        GROUPS[kind].run(kernel, name)
        assert _unnumbered(GROUPS[kind].pictures(kernel, name)) == _unnumbered(new)


def _unnumbered(pictures: Pictures) -> list[object]:
    """Pictures without the numbers of appends, one of which a release may have taken."""
    return [
        one
        and (
            sorted((re.sub(r"_commit=\d+", "_commit", name), texts) for name, texts in one.rows.items()),
            dataclasses.replace(one, rows={}),
        )
        for one in pictures
    ]


@pytest.mark.parametrize(("kind", "step"), KILLS)
def test_a_group_killed_at_a_step_is_in_all_tables_or_in_none(
    kind: str, step: str, killer: Killer, kernel: Kernel, name: TableName, expected: Expectations
) -> None:
    GROUPS[kind].prepare(kernel, name)
    assert killer.run(kind, name, step=step)
    check_recovery(kernel, kind, name, expected[kind], decided=step not in BEFORE_DECISION)


# Those whose calls of the ports differ. Each group is killed at each of its steps above, and anywhere in the simulator.
_WRITES_DIFFER = ("group-of-two", "group-of-appends", "group-rebuilt", "group-created", "group-on-read")


@pytest.mark.slow
@pytest.mark.parametrize("kind", _WRITES_DIFFER)
def test_a_group_killed_after_each_write_is_in_all_tables_or_in_none(
    kind: str, killer: Killer, kernel: Kernel, expected: Expectations
) -> None:
    for write in itertools.count(1):
        name = TableName("default", f"killed_{kind.replace('-', '_')}_{write}")
        GROUPS[kind].prepare(kernel, name)
        if not killer.run(kind, name, write=write):
            break
        check_recovery(kernel, kind, name, expected[kind], decided=None)
    print(f"{kind}: {write - 1} kills")
    assert write > len(STEPS)
