"""Commits of several tables, in memory: all of them or none, whoever dies where, and what that costs."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from typing import Any

import pytest

from kernel.counted import NAME, Counted, Dead, counted, expected, recover
from kernel.groups import GROUPS, GroupKind
from kernel.support import (
    COLUMNS,
    KEYS,
    Died,
    Picture,
    assert_nothing_orphaned,
    assert_whole,
    create,
    make_plain,
    merge,
    rows_of,
    stage,
)
from lakemerge.errors import (
    ClaimHeld,
    CommitConflict,
    CommitInDoubt,
    CommitUnfinished,
    InvalidTransactionState,
    TableNotFound,
    TableTooNew,
    UnsupportedTable,
)
from lakemerge.kernel import (
    Kernel,
    Manifest,
    Ports,
    Settings,
    TableDefinition,
    TableName,
    as_of_group,
    history,
)
from lakemerge.kernel.maintenance.drop import drop
from lakemerge.kernel.maintenance.vacuum import vacuum
from lakemerge.kernel.ports import HiveTable, ReplyLost
from lakemerge.kernel.protocol.drops import Leftovers
from lakemerge.kernel.table import manifest as manifests
from lakemerge.kernel.table.definition import VERSION, version_number
from lakemerge.testing import World

ONE, TWO = TableName("s", "one"), TableName("s", "two")

# -- the calls ---------------------------------------------------------------------------------


_SWAPPED = (
    "get_table get_table alter_table "
    "get_table partition_names delete_partition_column_statistics partitions get_table "
    "alter_partitions partitions get_table get_table alter_table"
)
_MOVED = "get_table delete_table_column_statistics get_table alter_table get_table"


@pytest.mark.parametrize(
    ("rows", "calls"),
    [({"p=1": ["new"], "p=2": ["new"]}, _SWAPPED), ({"": ["new"]}, _MOVED)],
    ids=["partitioned", "unpartitioned"],
)
def test_a_group_of_one_costs_what_a_commit_costs(
    world: World, rows: dict[str, list[str]], calls: str
) -> None:
    create(Kernel(world.process()), ONE, {key: ["old"] for key in rows})
    ports, made = counted(world.process())
    kernel = Kernel(ports)
    kernel.versions.compares(ONE)  # found out once by each process
    for together in (False, True):
        txn = kernel.begin(ONE, "overwrite")
        stage(kernel, txn, rows)
        made.clear()
        if together:
            kernel.commit_together([txn])
        else:
            txn.commit()
        assert " ".join(made) == calls
        assert kernel.settled(ONE)[1].group is None
        assert kernel.settled(ONE)[1].writer_features == ()


def test_a_group_costs_one_more_comparison_for_each_table(world: World) -> None:
    create(Kernel(world.process()), ONE, {"p=1": ["old"]})
    create(Kernel(world.process()), TWO, {"p=1": ["old"]})
    ports, made = counted(world.process())
    kernel = Kernel(ports)
    alone = {}
    for names in ([ONE], [ONE, TWO]):
        opened = [kernel.begin(name, "overwrite") for name in names]
        for txn in opened:
            stage(kernel, txn, {"p=1": ["new"]})
        made.clear()
        kernel.commit_together(opened)
        alone[len(names)] = {call: made.count(call) for call in made}
    assert alone[1]["alter_table"] == 2  # the claim and the settlement
    assert alone[2]["alter_table"] == 2 * 3
    assert alone[2]["alter_partitions"] == 2


# -- what is refused, and what conflicts -------------------------------------------------------


def test_transactions_that_cannot_be_one_commit_are_refused(kernel: Kernel, world: World) -> None:
    create(kernel, ONE, {"p=1": ["old"]})
    one, other = (kernel.begin(ONE, "overwrite") for _ in range(2))
    with pytest.raises(InvalidTransactionState, match=r"several for s\.one"):
        kernel.commit_together([one, other])
    foreign = Kernel(world.process()).create(TableDefinition(TWO, COLUMNS, KEYS))
    with pytest.raises(InvalidTransactionState, match="of another one"):
        kernel.commit_together([one, foreign])
    other.abort()
    with pytest.raises(InvalidTransactionState, match="aborted"):
        kernel.commit_together([one, other])
    assert kernel.commit_together([]) == {}
    assert one.state == "open"
    assert kernel.settled(ONE)[0].version == 1


def test_a_conflict_in_one_table_leaves_all_as_they_are(kernel: Kernel) -> None:
    group = GROUPS["group-of-three"]
    group.prepare(kernel, NAME)
    old = group.pictures(kernel, NAME)
    opened = group.begin(kernel, NAME)
    late = max(group.names(NAME))
    create(kernel, late, {"p=1": ["came first"]})  # the one that the group is to make
    with pytest.raises(CommitConflict, match="another writer made the table"):
        kernel.commit_together(opened)
    for txn in opened:
        assert txn.state == "open"
        txn.abort()
    assert rows_of(kernel, late) == {"p=1": ["came first"]}
    found = group.pictures(kernel, NAME)
    assert [one for one in found if one in old] == [one for one in old if one is not None]
    for name in group.names(NAME):
        assert_whole(kernel, name)
        assert_nothing_orphaned(kernel, name)


def test_a_writer_outside_the_group_conflicts_and_is_conflicted_with(kernel: Kernel) -> None:
    for name in (ONE, TWO):
        create(kernel, name, {"p=1": ["old"], "p=2": ["old"]})
    outside = kernel.begin(TWO, "merge")
    outside.read(["p=1"])
    stage(kernel, outside, {"p=1": ["outside"]})
    opened = []
    for name in (ONE, TWO):
        txn = kernel.begin(name, "merge")
        txn.read(["p=1"])
        stage(kernel, txn, {"p=1": ["group"]})
        opened.append(txn)
    merge(kernel, TWO, {"p=2": ["elsewhere"]})  # which neither has read
    assert kernel.commit_together(opened) == {ONE: 2, TWO: 3}
    with pytest.raises(CommitConflict, match="version 3 came first"):
        outside.commit()
    assert rows_of(kernel, TWO) == {"p=1": ["group"], "p=2": ["elsewhere"]}


def test_commits_follow_on_a_group_and_name_none(kernel: Kernel) -> None:
    group = GROUPS["group-of-two"]
    group.prepare(kernel, NAME)
    group.run(kernel, NAME)
    for name in group.names(NAME):
        newest = kernel.settled(name)[1]
        assert newest.group is not None
        assert newest.writer_features == (manifests.GROUPS,)
        following = newest.followed_by(txn="x", operation="foreign", committed_at="")
        assert (following.group, following.writer_features) == (None, ())
    merge(kernel, group.names(NAME)[0], {"p=1": ["later"]})
    assert kernel.settled(group.names(NAME)[0])[1].writer_features == ()


# -- between claim and decision ----------------------------------------------------------------


def halted(world: World, step: str, kind: GroupKind, times: int = 1) -> tuple[Kernel, Ports]:
    """A group whose writer has come to a step so many times, and stays there."""
    ports = world.process()
    left = itertools.count(1)

    def at(done: str) -> None:
        if done == step and next(left) == times:
            raise Dead

    kernel = Kernel(ports, Settings(claim_timeout=0.0), step=at)
    opened = kind.begin(kernel, NAME)
    with pytest.raises(Dead):
        kernel.commit_together(opened)
    return kernel, ports


def test_nothing_shows_before_the_decision_and_others_wait_for_a_live_writer(world: World) -> None:
    group = GROUPS["group-of-five"]
    other = Kernel(world.process(), Settings(claim_timeout=0.0))
    group.prepare(other, NAME)
    old = group.pictures(other, NAME)
    halted(world, "table claimed", group, times=5)
    found = group.pictures(other, NAME)
    made = group.names(NAME)[-1]
    assert found[:-1] == old[:-1]
    assert found[-1] == Picture(COLUMNS, (), {})  # its name is taken, and it shows nothing
    there = [name for name in group.names(NAME) if name != made]
    assert {name: one.version for name, one in as_of_group(other, there).items()} == {
        name: other.current_state(name).version  # type: ignore[union-attr]
        for name in there
    }
    with pytest.raises(TableNotFound):
        as_of_group(other, [made])
    assert other.current_state(made) is None
    assert history(other, made) == []
    for name in there:
        with pytest.raises(ClaimHeld):
            other.begin(name, "merge")
    with pytest.raises(ClaimHeld):
        other.exists(made)


def test_a_decided_group_is_seen_whole_by_a_pinned_read_at_once(world: World) -> None:
    group = GROUPS["group-of-five"]
    other = Kernel(world.process())
    group.prepare(other, NAME)
    before = {name: other.settled(name)[0].version for name in group.names(NAME)[:-1]}
    halted(world, "claimed", group)
    found = as_of_group(other, group.names(NAME))
    assert {name: manifest.version for name, manifest in found.items()} == {
        name: before.get(name, 0) + 1 for name in group.names(NAME)
    }
    assert all(manifest.group for manifest in found.values())


def test_tables_without_versions_have_no_pinned_read(kernel: Kernel) -> None:
    make_plain(kernel, ONE, {"p=1": ["plain"]})
    with pytest.raises(UnsupportedTable, match="never written to"):
        as_of_group(kernel, [ONE])
    with pytest.raises(TableNotFound):
        as_of_group(kernel, [TWO])


def test_a_writer_that_was_taken_for_dead_does_not_decide(world: World) -> None:
    """Its claim is not only taken back: a call of it that is still on its way claims nothing any more."""
    group = GROUPS["group-of-two"]
    other = Kernel(world.process())
    group.prepare(other, NAME)
    old = group.pictures(other, NAME)
    names = sorted(group.names(NAME))
    versions = {name: other.settled(name)[0].version for name in names}
    ports = world.process()
    taken_back: list[Any] = []

    def at(step: str) -> None:
        claimed = other.metastore.get_table(names[-1]) if step == "table claimed" else None
        if claimed and claimed.parameters[VERSION].endswith(".group"):
            world.running.discard(ports.host.owner().pid)
            other.recover(names[-1])
            taken_back.extend(other.metastore.get_table(name).parameters[VERSION] for name in names)  # type: ignore[union-attr]

    kernel = Kernel(ports, step=at)
    opened = group.begin(kernel, NAME)
    with pytest.raises(CommitConflict, match="silent for longer"):
        kernel.commit_together(opened)
    for txn in opened:
        txn.abort()
    assert list(map(version_number, taken_back)) == [versions[names[0]] + 1, versions[names[1]]]
    assert history(other, names[0])[0].operation == "release"
    assert group.pictures(other, NAME) == old
    recover(other, names)
    for name in names:
        assert_nothing_orphaned(other, name)


def test_a_decision_whose_answer_is_lost_is_in_doubt_and_found_to_stand(world: World) -> None:
    group = GROUPS["group-of-two"]
    other = Kernel(world.process())
    group.prepare(other, NAME)
    _, new = expected(group)
    ports = world.process()
    first = min(group.names(NAME))

    class Mute(Counted):
        """One that answers no more from the decision on."""

        decided = False

        def __getattr__(self, name: str) -> Any:
            found = super().__getattr__(name)

            def call(*args: Any, **kwargs: Any) -> Any:
                decides = name == "alter_table" and args[0] == first and ":" in args[1].parameters[VERSION]
                if Mute.decided:
                    raise ReplyLost(expected="an answer", found="none", action="None.")
                result = found(*args, **kwargs)
                if decides and not args[1].parameters[VERSION].endswith(".group"):
                    Mute.decided = True
                    raise ReplyLost(expected="an answer", found="none", action="None.")
                return result

            return call if callable(found) else found

    mute = Mute(ports.metastore, "metastore", [])
    kernel = Kernel(dataclasses.replace(ports, metastore=mute))
    opened = group.begin(kernel, NAME)
    with pytest.raises(CommitInDoubt):
        kernel.commit_together(opened)
    assert {txn.state for txn in opened} == {"in doubt"}
    for txn in opened:
        txn.abort()  # which deletes nothing
    recover(other, group.names(NAME)[:1])
    assert group.pictures(other, NAME) == new


def test_a_table_that_decides_may_be_dropped_and_the_others_have_the_commit(world: World) -> None:
    group = GROUPS["group-of-two"]
    other = Kernel(world.process())
    group.prepare(other, NAME)
    _, new = expected(group)
    _, ports = halted(world, "claimed", group)
    first, last = sorted(group.names(NAME))
    drop(other, first)
    world.running.discard(ports.host.owner().pid)
    recover(other, [last])
    at = group.names(NAME).index(last)
    assert group.pictures(other, NAME)[at] == new[at]


@pytest.mark.parametrize("again", [False, True], ids=["dropped", "dropped and made anew"])
def test_a_live_writer_finishes_the_others_when_the_table_that_decides_is_dropped(
    world: World, again: bool
) -> None:
    """Whoever drops a table cannot compare, so the decision may come between the last look and the drop."""
    group = GROUPS["group-of-two"]
    other = Kernel(world.process())
    group.prepare(other, NAME)
    _, new = expected(group)
    first, last = sorted(group.names(NAME))

    def at(step: str) -> None:
        if step == "claimed":
            other.metastore.drop_table(first)
            if again:
                create(other, first, {"p=1": ["another"]})

    kernel = Kernel(world.process(), step=at)
    opened = group.begin(kernel, NAME)
    with contextlib.nullcontext() if again else pytest.raises(CommitUnfinished):
        kernel.commit_together(opened)
    recover(other, [last])
    at_last = group.names(NAME).index(last)
    assert group.pictures(other, NAME)[at_last] == new[at_last]


def test_a_drop_looks_once_more_whether_a_group_stands_by_the_table(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = GROUPS["group-of-two"]
    other = Kernel(world.process())
    group.prepare(other, NAME)
    _, new = expected(group)
    _, ports = halted(world, "table claimed", group, times=2)
    first, last = sorted(group.names(NAME))
    prepare = other.drops.prepare

    def decided_meanwhile(table: HiveTable) -> Leftovers | None:
        left = prepare(table)
        state = other.current_state(first)
        assert state is not None
        assert state.claim is not None
        assert other.groups.confirm(other.groups.read(state.layout, state.claim).first)
        world.running.discard(ports.host.owner().pid)
        return left

    monkeypatch.setattr(other.drops, "prepare", decided_meanwhile)
    drop(other, first)
    recover(other, [last])
    at = group.names(NAME).index(last)
    assert group.pictures(other, NAME)[at] == new[at]


def test_a_group_whose_first_table_is_dropped_undecided_is_released(world: World) -> None:
    group = GROUPS["group-of-two"]
    other = Kernel(world.process())
    group.prepare(other, NAME)
    old = group.pictures(other, NAME)
    _, ports = halted(world, "table claimed", group, times=2)
    first, last = sorted(group.names(NAME))
    other.metastore.drop_table(first)  # by another program
    world.running.discard(ports.host.owner().pid)
    assert other.recover(last)[0].startswith("released the claim")
    at = group.names(NAME).index(last)
    assert group.pictures(other, NAME)[at] == old[at]


def test_vacuum_of_a_table_ends_a_dead_group(world: World) -> None:
    group = GROUPS["group-of-two"]
    other = Kernel(world.process())
    group.prepare(other, NAME)
    old = group.pictures(other, NAME)
    _, ports = halted(world, "table claimed", group, times=2)
    world.running.discard(ports.host.owner().pid)
    for name in group.names(NAME):
        vacuum(other, name, dry_run=False)
    assert group.pictures(other, NAME) == old


# -- older programs ----------------------------------------------------------------------------


def test_an_older_program_is_told_that_it_is_too_old(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes what follows the colon for a transaction, and looks for its manifest."""
    group = GROUPS["group-of-two"]
    other = Kernel(world.process())
    group.prepare(other, NAME)
    halted(world, "table claimed", group, times=2)
    for name in group.names(NAME):
        row = other.table(name)
        claim = row.parameters[VERSION].partition(":")[2]
        path = f"{other.current_state(name).layout.commits}/{claim}.json"  # type: ignore[union-attr]
        with pytest.raises(TableTooNew, match="A newer lakemerge wrote it"):
            Manifest.from_json(other.files.read_text(path), path)
    monkeypatch.setattr(manifests, "WRITER_FEATURES", frozenset())
    committed = World()
    kernel = Kernel(committed.process())
    group.prepare(kernel, NAME)
    monkeypatch.setattr(manifests, "WRITER_FEATURES", frozenset({manifests.GROUPS}))
    group.run(kernel, NAME)
    monkeypatch.setattr(manifests, "WRITER_FEATURES", frozenset())
    with pytest.raises(TableTooNew, match="groups"):
        kernel.begin(group.names(NAME)[0], "merge")


def test_a_group_stands_by_any_table_that_has_it_if_the_first_is_gone(world: World, kernel: Kernel) -> None:
    """Another program drops the first table when the writer has died between its confirmations."""
    names = [TableName("s", name) for name in "abc"]
    for name in names:
        create(kernel, name, {"p=1": ["old"]})
    ports = world.process()

    def reached(step: str) -> None:
        if step == "claimed":
            raise Died

    writer = Kernel(ports, step=reached)
    opened = [writer.begin(name, "merge") for name in names]
    for one in opened:
        stage(writer, one, {"p=1": ["new"]})
    with pytest.raises(Died):
        writer.commit_together(opened)
    state = kernel.current_state(names[0])
    assert state is not None
    assert state.claim is not None
    _, second, _ = kernel.groups.read(state.layout, state.claim).members
    assert kernel.groups.confirm(second)
    kernel.metastore.drop_table(names[0])
    world.running.discard(ports.host.owner().pid)
    for name in names[1:]:
        kernel.recover(name)
        assert rows_of(kernel, name) == {"p=1": ["new"]}
