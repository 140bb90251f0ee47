"""Claims that the metastore refuses to show for good, and which an operator has undone."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from kernel.support import (
    KEYS,
    OTHER_KEYS,
    WIDER_COLUMNS,
    add_delta,
    add_overlay,
    append,
    assert_nothing_orphaned,
    assert_whole,
    create,
    create_appendable,
    ingest,
    merge,
    picture,
    rows_of,
    stage,
)
from lakemerge.errors import ClaimRefused, CommitConflict, CommitUnfinished, UnsupportedTable
from lakemerge.kernel import Kernel, Settings, TableName, history, remove_overlay, vacuum
from lakemerge.kernel.ports.metastore import Refused
from lakemerge.testing import World

NAME, OTHER = TableName("s", "t"), TableName("s", "u")
Work = Callable[[Kernel], object]


class Refusing:
    """A metastore that refuses some calls, for whoever makes them."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.refused: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        if name in self.refused:

            def refuse(*args: Any, **kwargs: Any) -> None:
                raise Refused(name, "MetaException", "Permission denied: user etl does not have WRITE")

            return refuse
        return getattr(self._inner, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("_inner", "refused"):
            object.__setattr__(self, name, value)
        else:
            setattr(self._inner, name, value)


def process(world: World) -> tuple[Kernel, Refusing]:
    ports = world.process()
    metastore: Any = Refusing(ports.metastore)
    metastore.compares = True
    return Kernel(dataclasses.replace(ports, metastore=metastore)), metastore


def replace_columns(kernel: Kernel, keys: Any = KEYS) -> None:
    txn = kernel.begin(NAME, "replace")
    txn.replace_all()
    txn.set_schema(WIDER_COLUMNS, keys)
    stage(kernel, txn, {"p=1": ["new"]} if keys == KEYS else {"q=1/r=a": ["new"]})
    txn.commit()


def commit_both(kernel: Kernel) -> None:
    txns = [kernel.begin(name, "merge") for name in (NAME, OTHER)]
    for txn in txns:
        stage(kernel, txn, {"p=1": ["new"], "p=4": ["new"]})
    kernel.commit_together(txns)


BEFORE: dict[str, Work] = {
    "partitioned": lambda kernel: create(kernel, NAME, {"p=1": ["old"], "p=2": ["old"]}),
    "append": lambda kernel: create_appendable(kernel, NAME, {"p=1": ["old"]}),
    "on read": lambda kernel: [
        create(kernel, NAME, {"p=1": ["old"]}),
        add_overlay(kernel, NAME),
        add_delta(kernel, NAME, "delta"),
    ],
}

CASES: list[tuple[str, str, Work]] = [
    ("partitioned", "alter_partitions", lambda kernel: merge(kernel, NAME, {"p=1": ["new"], "p=3": ["new"]})),
    ("partitioned", "add_partitions", lambda kernel: merge(kernel, NAME, {"p=1": ["new"], "p=3": ["new"]})),
    ("partitioned", "drop_partition", replace_columns),
    ("partitioned", "alter_partitions", replace_columns),
    ("partitioned", "add_partitions", lambda kernel: replace_columns(kernel, OTHER_KEYS)),
    ("partitioned", "add_partitions", commit_both),
    ("append", "add_partitions", lambda kernel: append(kernel, NAME, {"p=2": ["new"]})),
    ("append", "add_partitions", lambda kernel: ingest(kernel, NAME, {"p=2": ["new"]}, "rejected")),
    ("on read", "add_partitions", lambda kernel: add_delta(kernel, NAME, "refused")),
]


@pytest.mark.parametrize(("before", "call", "work"), CASES)
def test_a_claim_that_is_refused_is_undone(before: str, call: str, work: Work, world: World) -> None:
    kernel = Kernel(world.process())
    BEFORE[before](kernel)
    create(kernel, OTHER, {"p=1": ["old"]})
    seen, version = picture(kernel, NAME), kernel.open(NAME).version
    writer, metastore = process(world)
    metastore.refused = {call}
    with pytest.raises(CommitUnfinished, match="undo_refused"):
        work(writer)
    other, metastore = process(world)
    metastore.refused = {call}
    with pytest.raises(ClaimRefused, match=r"WRITE.*undo_refused"):
        merge(other, NAME, {"p=1": ["other"]})
    with pytest.raises(ClaimRefused):
        other.recover(NAME)
    metastore.refused = {call} if call != "drop_partition" else set()
    done = other.recover(NAME, undo_refused=True)
    if call == "drop_partition":  # it is taken now, so there is nothing to undo
        assert done[0].startswith("finished")
        return
    assert any(line.startswith(f"undid version {version + 1}") for line in done)
    assert history(kernel, NAME)[0].operation == "release"
    assert picture(kernel, NAME) == seen
    if before != "on read":
        assert_whole(kernel, NAME)
    kernel.recover(OTHER)
    assert kernel.open(NAME).version == version + 1
    if before == "partitioned":
        merge(kernel, NAME, {"p=1": ["after"]})
    vacuum(kernel, NAME, dry_run=False)
    assert_nothing_orphaned(kernel, NAME)


def test_the_first_version_of_a_table_has_none_before_it(world: World) -> None:
    writer, metastore = process(world)
    metastore.refused = {"add_partitions"}
    with pytest.raises(CommitUnfinished):
        create(writer, NAME, {"p=1": ["new"]})
    with pytest.raises(UnsupportedTable, match="lakemerge_drop"):
        writer.recover(NAME, undo_refused=True)


def undone_in_sleep(world: World, undo: Callable[[Kernel, Refusing], object]) -> Kernel:
    """A writer sleeps when it has claimed, another process has its claim undone, and the writer learns of it.

    Returns:
        The other's kernel.
    """
    create(Kernel(world.process()), NAME, {"p=1": ["old"], "p=2": ["old"]})
    other, metastore = process(world)
    metastore.refused = {"alter_partitions"}

    def sleep(step: str) -> None:
        if step == "registered":
            world.timeline.pass_by(10 * Settings().lease_seconds)
            world.running.discard(ports.host.owner().pid)
            undo(other, metastore)

    ports = world.process()
    with pytest.raises(CommitConflict, match="undone"):
        merge(Kernel(ports, step=sleep), NAME, {"p=1": ["new"], "p=3": ["new"]})
    assert_whole(other, NAME)
    return other


def test_a_writer_that_sleeps_meanwhile_learns_of_it(world: World) -> None:
    other = undone_in_sleep(world, lambda other, _: other.recover(NAME, undo_refused=True))
    assert picture(other, NAME) is not None
    assert merge(other_without_refusals(world), NAME, {"p=1": ["after"]}) == 3


def test_what_undoes_a_claim_is_not_undone_itself(world: World) -> None:
    """The writer of the claim sleeps through all of it, and learns that its commit is not there."""

    def undo(other: Kernel, metastore: Refusing) -> None:
        metastore.refused |= {"drop_partition"}
        for _ in range(2):
            with pytest.raises(ClaimRefused, match="cannot be undone itself"):
                other.recover(NAME, undo_refused=True)
            world.timeline.pass_by(10 * Settings().lease_seconds)
        metastore.refused = set()
        other.recover(NAME)

    other = undone_in_sleep(world, undo)
    assert rows_of(other, NAME) == {"p=1": ["old"], "p=2": ["old"]}
    assert [version.operation for version in history(other, NAME)] == ["release", "create"]


def other_without_refusals(world: World) -> Kernel:
    return Kernel(world.process())


def test_what_is_not_refused_is_not_undone(world: World) -> None:
    kernel = Kernel(world.process())
    create(kernel, NAME, {"p=1": ["old"]})
    writer, metastore = process(world)
    metastore.refused = {"alter_partitions"}
    with pytest.raises(CommitUnfinished):
        merge(writer, NAME, {"p=1": ["new"]})
    assert kernel.recover(NAME, undo_refused=True)[0].startswith("finished")
    assert history(kernel, NAME)[0].operation == "merge"


def take_off(kernel: Kernel) -> None:
    with kernel.begin(NAME, "write_mode") as transaction:
        remove_overlay(transaction)
        transaction.commit()


@pytest.mark.parametrize(
    ("call", "comes"), [("create_table", True), ("drop_table", False)], ids=["a view that comes", "that goes"]
)
def test_a_view_that_is_refused_after_the_claim_is_undone(call: str, comes: bool, world: World) -> None:
    """The table has its base's name by then, or its view is about to be dropped."""
    kernel = Kernel(world.process())
    create(kernel, NAME, {"p=1": ["old"]})
    if not comes:
        add_overlay(kernel, NAME)
    seen = picture(kernel, NAME)
    writer, metastore = process(world)

    def reached(step: str) -> None:
        if step == "claimed":
            metastore.refused = {call}

    writer.step = reached
    with pytest.raises(CommitUnfinished, match="undo_refused"):
        add_overlay(writer, NAME) if comes else take_off(writer)
    other, metastore = process(world)
    metastore.refused = {call}
    if comes:
        done = other.recover(NAME, undo_refused=True)
        assert any(line.startswith("undid") for line in done)
    else:  # nothing of the view can be dropped, so that the version before cannot be restored either
        with pytest.raises(Refused):
            other.recover(NAME, undo_refused=True)
    metastore.refused = set()
    other.recover(NAME)
    after = picture(kernel, NAME)
    assert after is not None
    assert after == seen or not (comes or after.is_view)
    names = {"t"} if comes or not after.is_view else {"t", "t__base", "t__deltas"}
    assert {row.name for row in kernel.metastore.table_summaries("s")} == names
    merge(kernel, NAME, {"p=1": ["after"]})
    assert rows_of(kernel, NAME)["p=1"] == ["after"]
