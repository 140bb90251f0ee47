"""Transactions that wait to be published: suspended, told to others, resumed together, or left."""

from __future__ import annotations

import datetime
from collections.abc import Callable

import pytest

from kernel.counted import counted
from kernel.support import (
    COLUMNS,
    COMMIT,
    COMMIT_KEYS,
    KEYS,
    NO_RETENTION,
    Died,
    Rows,
    add_delta,
    add_overlay,
    assert_nothing_orphaned,
    begin_delta,
    create,
    create_appendable,
    merge,
    move_into_base,
    rows_of,
    stage,
)
from lakemerge.errors import CommitConflict, InvalidTransactionState
from lakemerge.kernel import (
    Kernel,
    Settings,
    TableDefinition,
    TableName,
    Transaction,
    discard_left,
    leave,
    resume,
    staged_versions,
    suspend,
    vacuum,
)
from lakemerge.testing import World

ONE, TWO, NEW = TableName("s", "one"), TableName("s", "two"), TableName("s", "new")


def merged(kernel: Kernel, name: TableName, rows: dict[str, list[str]]) -> Transaction:
    """A transaction that has read and staged these partitions."""
    txn = kernel.begin(name, "merge")
    txn.read(rows)
    stage(kernel, txn, rows)
    return txn


def test_a_preview_tells_the_version_and_publishes_nothing(world: World) -> None:
    create(Kernel(world.process()), ONE, {"p=1": ["old"], "p=2": ["old"]})
    ports, calls = counted(world.process())
    kernel = Kernel(ports)
    txn = merged(kernel, ONE, {"p=1": ["new"], "p=3": ["new"]})
    txn.remove(["p=2"])
    calls.clear()
    manifest = suspend(txn)
    assert calls == []
    assert (manifest.version, manifest.written, manifest.removed) == (2, ("p=1", "p=3"), ("p=2",))
    assert set(manifest.partitions) == {"p=1", "p=3"}
    assert all(
        state.location.startswith(f"_lakemerge/data/{txn.txn}/") for state in manifest.partitions.values()
    )
    assert rows_of(kernel, ONE) == {"p=1": ["old"], "p=2": ["old"]}
    resume(txn)
    assert txn.commit() == 2
    assert kernel.settled(ONE)[1].partitions == manifest.partitions
    assert kernel.files.list(txn.layout.staged) == []
    assert_nothing_orphaned(kernel, ONE)


def test_a_preview_names_appended_partitions_after_the_next_version(kernel: Kernel) -> None:
    create_appendable(kernel, ONE, {"p=1": ["a"]})
    txn = kernel.begin(ONE, "append")
    stage(kernel, txn, {f"p=1/{COMMIT}=__HIVE_DEFAULT_PARTITION__": ["b"]})
    assert suspend(txn).written == (f"p=1/{COMMIT}=2",)
    resume(txn)
    txn.abort()
    assert_nothing_orphaned(kernel, ONE)


def test_what_waits_is_aborted_only_when_it_is_taken_up(kernel: Kernel) -> None:
    create(kernel, ONE, {"p=1": ["old"]})
    txn = merged(kernel, ONE, {"p=1": ["new"]})
    suspend(txn)
    txn.abort()
    with pytest.raises(InvalidTransactionState, match="suspended"):
        txn.commit()
    assert [one.alive for one in staged_versions(kernel, ONE, txn.layout)] == [True]
    resume(txn)
    with pytest.raises(InvalidTransactionState, match="one that is open"):
        resume(txn)
    txn.abort()
    assert staged_versions(kernel, ONE, txn.layout) == []
    assert_nothing_orphaned(kernel, ONE)


def test_kernels_of_one_process_publish_together_each_under_its_own_name(world: World) -> None:
    ports = world.process()
    one, two = (Kernel(ports, Settings(writer={"node": node})) for node in ("model.one", "model.two"))
    create(one, ONE, {"p=1": ["old"]})
    waiting = [merged(one, ONE, {"p=1": ["new"]}), two.create(TableDefinition(NEW, COLUMNS, KEYS))]
    stage(two, waiting[1], {"p=1": ["first"]})
    for txn in waiting:
        suspend(txn)
    assert not one.exists(NEW)
    for txn in waiting:
        resume(txn)
    assert Kernel(ports).commit_together(waiting) == {ONE: 2, NEW: 1}
    assert [one.settled(name)[1].writer["node"] for name in (ONE, NEW)] == ["model.one", "model.two"]
    assert rows_of(one, NEW) == {"p=1": ["first"]}
    for name in (ONE, NEW):
        assert_nothing_orphaned(one, name)


@pytest.mark.parametrize("beats", [True, False])
def test_what_waits_is_safe_from_vacuum_while_its_heart_beats(world: World, beats: bool) -> None:
    kernel = Kernel(world.process())
    create(kernel, ONE, {"p=1": ["old"], "p=2": ["old"]})
    txn = merged(kernel, ONE, {"p=1": ["new"]})
    suspend(txn)
    world.timeline.pass_by(3600)
    if beats:
        kernel.heartbeats._beat_all()
    other = Kernel(world.process())
    freed = vacuum(other, ONE, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)
    assert any(txn.txn in item.path for item in freed) is not beats
    resume(txn)
    if beats:
        assert txn.commit() == 2
        assert rows_of(kernel, ONE) == {"p=1": ["new"], "p=2": ["old"]}
        return
    with pytest.raises(CommitConflict, match="taken it for dead"):
        txn.commit()
    assert rows_of(kernel, ONE) == {"p=1": ["old"], "p=2": ["old"]}


def _overwritten(kernel: Kernel) -> Transaction:
    txn = kernel.begin(ONE, "overwrite")
    stage(kernel, txn, {"p=1": ["new"]})
    return txn


def _replaced(kernel: Kernel) -> Transaction:
    txn = kernel.begin(ONE, "replace")
    txn.replace_all()
    stage(kernel, txn, {"p=1": ["new"]})
    return txn


@pytest.mark.parametrize("begin", [_overwritten, _replaced])
def test_what_was_looked_at_is_published_or_nothing_is(
    world: World, begin: Callable[[Kernel], Transaction]
) -> None:
    """Work that reads nothing follows on any commit, but not when somebody has read what it would make."""
    kernel, other = Kernel(world.process()), Kernel(world.process())
    create(kernel, ONE, {"p=1": ["old"], "p=2": ["old"]})
    for reads in ("moved", "changed"):
        txn = begin(kernel)
        suspend(txn)
        with other.begin(ONE, "compact", data_change=reads == "changed") as between:
            between.read(["p=2"])
            stage(other, between, {"p=2": ["old"]})
            between.commit()
        resume(txn)
        if reads == "moved":
            assert txn.commit() == 3
            assert rows_of(kernel, ONE)["p=1"] == ["new"]
            merge(kernel, ONE, {"p=2": ["old"]})
            continue
        with pytest.raises(CommitConflict, match="came first"):
            txn.commit()
        txn.abort()


@pytest.mark.parametrize("compacted", ["p=1", "p=2"])
def test_a_compaction_of_what_was_read_may_come_between(world: World, compacted: str) -> None:
    kernel, other = Kernel(world.process()), Kernel(world.process())
    create(kernel, ONE, {"p=1": ["old"], "p=2": ["old"]})
    txn = kernel.begin(ONE, "merge")
    txn.read(None)
    stage(kernel, txn, {"p=1": ["new"]})
    suspend(txn)
    with other.begin(ONE, "compact", data_change=False) as between:
        between.read([compacted])
        stage(other, between, {compacted: ["old"]})
        between.commit()
    resume(txn)
    assert txn.commit() == 3
    assert rows_of(kernel, ONE) == {"p=1": ["new"], "p=2": ["old"]}


def test_deltas_that_come_between_are_a_conflict_and_folding_them_is_none(kernel: Kernel) -> None:
    create(kernel, ONE, {"": ["old"]})
    add_overlay(kernel, ONE, "first")
    txn = begin_delta(kernel, ONE, "mine")
    suspend(txn)
    add_delta(kernel, ONE, "theirs")
    resume(txn)
    with pytest.raises(CommitConflict, match="came first"):
        txn.commit()
    txn.abort()
    txn = begin_delta(kernel, ONE, "mine")
    suspend(txn)
    folded = move_into_base(kernel, ONE, {"": ["all"]})
    resume(txn)
    assert txn.commit() == folded + 1


def test_a_conflict_of_one_leaves_all_as_they_are_and_their_rows_to_be_looked_at(world: World) -> None:
    kernel = Kernel(world.process())
    for name in (ONE, TWO):
        create(kernel, name, {"p=1": ["old"]})
    waiting = [merged(kernel, name, {"p=1": ["new"]}) for name in (ONE, TWO)]
    for txn in waiting:
        suspend(txn)
    merge(Kernel(world.process()), TWO, {"p=1": ["theirs"]})
    for txn in waiting:
        resume(txn)
    with pytest.raises(CommitConflict, match=r"s\.two to be as it was read"):
        kernel.commit_together(waiting)
    for txn in waiting:
        leave(txn, "another came first")
        leave(txn, "said twice")
    assert (rows_of(kernel, ONE), rows_of(kernel, TWO)) == ({"p=1": ["old"]}, {"p=1": ["theirs"]})
    for name, txn in zip((ONE, TWO), waiting, strict=True):
        (found,) = staged_versions(Kernel(world.process()), name, txn.layout)
        assert (found.left, found.alive) == ("another came first", False)
        place = txn.layout.absolute(found.manifest.partitions["p=1"].location)
        assert kernel.files.read_text(f"{place}/part-0.orc") == "new"
        assert kernel.files.list(txn.layout.open) == []
        assert merge(kernel, name, {"p=1": ["again"]}) > 1
        assert discard_left(kernel, txn.layout) == [txn.txn]
        assert not kernel.files.exists(txn.layout.data_of(txn.txn))
        assert_nothing_orphaned(kernel, name)


def test_vacuum_frees_what_was_left_when_it_is_old(kernel: Kernel, world: World) -> None:
    create(kernel, ONE, {"p=1": ["old"]})
    txn = merged(kernel, ONE, {"p=1": ["new"]})
    suspend(txn)
    leave(txn, "a test failed")
    vacuum(kernel, ONE, retention=datetime.timedelta(hours=1), dry_run=False, allow_short_retention=True)
    assert len(staged_versions(kernel, ONE, txn.layout)) == 1
    world.timeline.pass_by(7200)
    vacuum(kernel, ONE, retention=datetime.timedelta(hours=1), dry_run=False, allow_short_retention=True)
    assert staged_versions(kernel, ONE, txn.layout) == []
    assert_nothing_orphaned(kernel, ONE)


def test_what_a_dead_process_had_set_aside_is_told_and_not_discarded(world: World) -> None:
    create(Kernel(world.process()), ONE, {"p=1": ["old"]})
    ports = world.process()
    txn = merged(Kernel(ports), ONE, {"p=1": ["new"]})
    suspend(txn)
    world.running.discard(ports.host.owner().pid)
    kernel = Kernel(world.process())
    (found,) = staged_versions(kernel, ONE, txn.layout)
    assert (found.left, found.alive) == (None, False)
    assert discard_left(kernel, txn.layout) == []


@pytest.mark.parametrize("shape", [{"p=1": ["old"]}, {"": ["old"]}], ids=["partitioned", "whole"])
def test_what_a_dead_process_has_published_waits_no_more(shape: Rows, world: World) -> None:
    create(Kernel(world.process()), ONE, shape)
    ports, (part,) = world.process(), shape

    def die(step: str) -> None:
        if step == "claimed":
            raise Died

    txn = merged(Kernel(ports, step=die), ONE, {part: ["new"]})
    suspend(txn)
    resume(txn)
    with pytest.raises(Died):
        txn.commit()
    world.running.discard(ports.host.owner().pid)
    kernel = Kernel(world.process())
    assert kernel.files.list(txn.layout.staged) != []
    assert staged_versions(kernel, ONE, txn.layout) == []
    assert rows_of(kernel, ONE) == {part: ["new"]}


def test_a_table_that_is_never_made_leaves_what_it_would_have_been(kernel: Kernel) -> None:
    txn = kernel.create(TableDefinition(NEW, COLUMNS, COMMIT_KEYS, commit_column=COMMIT))
    stage(kernel, txn, {f"p=1/{COMMIT}=__HIVE_DEFAULT_PARTITION__": ["a"]})
    suspend(txn)
    leave(txn, "a test failed")
    assert not kernel.exists(NEW)
    (found,) = staged_versions(kernel, NEW, txn.layout)
    assert (found.manifest.version, found.manifest.columns) == (1, COLUMNS)
    assert create(kernel, NEW, {"p=1": ["b"]}) == 1
    assert discard_left(kernel, txn.layout) == [txn.txn]
    assert_nothing_orphaned(kernel, NEW)


@pytest.mark.parametrize(("count", "cost"), [(1, 15), (2, 37), (5, 94)])
def test_publishing_costs_metastore_calls_that_no_row_adds_to(world: World, count: int, cost: int) -> None:
    names = [TableName("s", f"t{number}") for number in range(count)]
    for name in names:
        create(Kernel(world.process()), name, {f"p={number}": ["old"] for number in range(20)})
    ports, calls = counted(world.process())
    kernel = Kernel(ports)
    kernel.versions.compares(names[0])
    for partitions, files in ((1, 1), (20, 5)):
        rows = {f"p={number}": ["x"] * files for number in range(partitions)}
        waiting = [merged(kernel, name, rows) for name in names]
        calls.clear()
        for txn in waiting:
            suspend(txn)
        assert calls == []
        for txn in waiting:
            resume(txn)
        kernel.commit_together(waiting)
        assert len(calls) == cost
