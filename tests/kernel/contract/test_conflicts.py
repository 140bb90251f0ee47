"""Transactions of ours that meet: what may follow on another commit, and what has to be redone."""

from __future__ import annotations

import threading

import pytest

from kernel.sites import Site
from kernel.support import (
    COLUMNS,
    KEYS,
    NO_RETENTION,
    OTHER_KEYS,
    WIDER_COLUMNS,
    assert_nothing_orphaned,
    assert_whole,
    create,
    files_below,
    locations,
    make_plain,
    merge,
    picture,
    rows_of,
    settled,
    stage,
)
from lakemerge.errors import ClaimHeld, CommitConflict, InvalidTransactionState
from lakemerge.kernel import HiveColumn, Kernel, Settings, TableDefinition, TableName
from lakemerge.kernel.maintenance.drop import drop
from lakemerge.kernel.maintenance.history import history
from lakemerge.kernel.maintenance.vacuum import vacuum

ROWS = {"p=1": ["a1"], "p=2": ["a2"], "p=3": ["a3"]}


def test_disjoint_commits_follow_each_other(kernel: Kernel, name: TableName) -> None:
    create(kernel, name, ROWS)
    txn = kernel.begin(name, "merge")
    txn.read(["p=1"])
    stage(kernel, txn, {"p=1": ["mine"]})
    assert merge(kernel, name, {"p=2": ["theirs"]}) == 2
    assert txn.commit() == 3
    assert rows_of(kernel, name) == {"p=1": ["mine"], "p=2": ["theirs"], "p=3": ["a3"]}
    assert_whole(kernel, name)


def test_a_commit_that_follows_the_same_rows_follows_no_disjoint_change(
    kernel: Kernel, name: TableName
) -> None:
    create(kernel, name, ROWS)
    txn = kernel.begin(name, "merge")
    txn.read(["p=1"])
    txn.follow_same_rows()
    stage(kernel, txn, {"p=1": ["mine"]})
    merge(kernel, name, {"p=2": ["theirs"]})
    with pytest.raises(CommitConflict, match=r"version 2 came first \(merge"):
        txn.commit()
    txn.abort()


@pytest.mark.parametrize("read", [["p=1"], ["p=1", "p=2"], ["p=1", "p=new"], None])
def test_a_commit_that_changed_what_was_read_is_a_conflict(
    read: list[str] | None, kernel: Kernel, name: TableName
) -> None:
    create(kernel, name, ROWS)
    txn = kernel.begin(name, "merge")
    txn.read(read)
    stage(kernel, txn, {"p=1": ["mine"]})
    theirs = {"p=2": ["theirs"]} if read is None else {read[-1]: ["theirs"]}
    merge(kernel, name, theirs)
    with pytest.raises(CommitConflict, match=r"version 2 came first \(merge"):
        txn.commit()
    staged = txn.layout.data_of(txn.txn)
    assert kernel.files.exists(staged)
    txn.abort()
    assert not kernel.files.exists(staged)
    assert rows_of(kernel, name) == {**ROWS, **theirs}
    assert_nothing_orphaned(kernel, name)


def test_a_removed_partition_is_a_conflict_for_its_reader(kernel: Kernel, name: TableName) -> None:
    create(kernel, name, ROWS)
    txn = kernel.begin(name, "merge")
    txn.read(["p=1"])
    other = kernel.begin(name, "merge")
    other.remove(["p=1"])
    other.commit()
    stage(kernel, txn, {"p=1": ["mine"]})
    with pytest.raises(CommitConflict):
        txn.commit()
    txn.abort()
    assert "p=1" not in rows_of(kernel, name)


def test_reading_after_another_commit_rebases(kernel: Kernel, name: TableName) -> None:
    """Begin, another's commit, then read: what is read is the newest, and nothing of it is moved back."""
    create(kernel, name, ROWS)
    txn = kernel.begin(name, "merge")
    merge(kernel, name, {"p=1": ["theirs"]})
    newest = locations(kernel, name)
    txn.read(["p=1"])
    assert locations(kernel, name) == newest
    assert txn.base is not None
    assert txn.base.version == 2
    stage(kernel, txn, {"p=1": ["mine"]})
    assert txn.commit() == 3
    assert_whole(kernel, name)


def test_reading_after_a_rebuild_knows_the_new_partition_columns(kernel: Kernel, name: TableName) -> None:
    create(kernel, name, ROWS)
    txn = kernel.begin(name, "merge")
    other = kernel.begin(name, "replace")
    other.replace_all()
    other.set_schema(COLUMNS, OTHER_KEYS)
    stage(kernel, other, {"q=1/r=x": ["theirs"]})
    other.commit()
    txn.read()
    stage(kernel, txn, {"q=1/r=x": ["mine"]})
    assert txn.commit() == 3
    assert rows_of(kernel, name) == {"q=1/r=x": ["mine"]}


def test_a_blind_write_does_not_survive_other_partition_columns(kernel: Kernel, name: TableName) -> None:
    create(kernel, name, ROWS)
    txn = kernel.begin(name, "append")
    stage(kernel, txn, {"p=9": ["mine"]})
    other = kernel.begin(name, "replace")
    other.replace_all()
    other.set_schema(COLUMNS, OTHER_KEYS)
    stage(kernel, other, {"q=1/r=x": ["theirs"]})
    other.commit()
    with pytest.raises(CommitConflict):
        txn.commit()
    txn.abort()
    assert rows_of(kernel, name) == {"q=1/r=x": ["theirs"]}
    assert_whole(kernel, name)


def test_a_schema_change_is_a_conflict(kernel: Kernel, name: TableName) -> None:
    create(kernel, name, ROWS)
    txn = kernel.begin(name, "merge")
    txn.read(["p=1"])
    other = kernel.begin(name, "merge")
    other.set_schema(WIDER_COLUMNS)
    other.commit()
    stage(kernel, txn, {"p=1": ["mine"]})
    with pytest.raises(CommitConflict):
        txn.commit()
    txn.abort()


def test_a_replacement_replaces_what_came_meanwhile(kernel: Kernel, name: TableName) -> None:
    create(kernel, name, ROWS)
    txn = kernel.begin(name, "replace")
    txn.replace_all()
    stage(kernel, txn, {"p=9": ["mine"]})
    merge(kernel, name, {"p=1": ["theirs"], "p=4": ["theirs"]})
    assert txn.commit() == 3
    assert rows_of(kernel, name) == {"p=9": ["mine"]}
    assert_nothing_orphaned(kernel, name)


def test_a_replacement_that_has_read_the_table_is_redone(kernel: Kernel, name: TableName) -> None:
    create(kernel, name, ROWS)
    txn = kernel.begin(name, "compact", data_change=False)
    txn.read()
    txn.replace_all()
    stage(kernel, txn, {"p=1": ["all of it"]})
    merge(kernel, name, {"p=4": ["theirs"]})
    with pytest.raises(CommitConflict):
        txn.commit()
    txn.abort()
    assert rows_of(kernel, name)["p=4"] == ["theirs"]


def test_conflicts_are_found_when_versions_between_are_vacuumed(kernel: Kernel, name: TableName) -> None:
    create(kernel, name, ROWS)
    txn = kernel.begin(name, "merge")
    txn.read(["p=1"])
    stage(kernel, txn, {"p=1": ["mine"]})
    for number in range(3):
        merge(kernel, name, {"p=2": [str(number)]})
    vacuum(kernel, name, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)
    with pytest.raises(CommitConflict, match="vacuumed"):
        txn.commit()
    txn.abort()
    assert rows_of(kernel, name) == {**ROWS, "p=2": ["2"]}
    assert_nothing_orphaned(kernel, name)


def test_two_that_create_the_same_table(kernel: Kernel, name: TableName) -> None:
    first, second = (kernel.create(TableDefinition(name, COLUMNS, KEYS)) for _ in range(2))
    stage(kernel, first, {"p=1": ["first"]})
    stage(kernel, second, {"p=1": ["second"]})
    assert first.commit() == 1
    with pytest.raises(CommitConflict, match="made the table meanwhile"):
        second.commit()
    second.abort()
    assert rows_of(kernel, name) == {"p=1": ["first"]}
    assert_nothing_orphaned(kernel, name)


def test_a_table_dropped_and_made_again_is_another(kernel: Kernel, name: TableName) -> None:
    create(kernel, name, ROWS)
    txn = kernel.begin(name, "merge")
    txn.read(["p=1"])
    drop(kernel, name)
    create(kernel, name, ROWS)
    stage(kernel, txn, {"p=1": ["mine"]})
    with pytest.raises(CommitConflict, match="dropped and made again"):
        txn.commit()
    txn.abort()
    assert rows_of(kernel, name) == ROWS


def test_a_live_claim_is_waited_for_and_named(kernel: Kernel, site: Site, name: TableName) -> None:
    create(kernel, name, ROWS)
    claimed, go_on = threading.Event(), threading.Event()

    def wait(step: str) -> None:
        if step == "claimed":
            claimed.set()
            assert go_on.wait(60)

    slow = Kernel(site.ports(), step=wait)
    thread = threading.Thread(target=merge, args=(slow, name, {"p=1": ["slow"]}))
    thread.start()
    try:
        assert claimed.wait(60)
        impatient = Kernel(site.ports(), Settings(claim_timeout=1))
        clock = site.ports().clock
        start = clock.monotonic()
        with pytest.raises(ClaimHeld, match="is alive"):
            impatient.begin(name, "merge")
        assert 0.5 < clock.monotonic() - start < 20
    finally:
        go_on.set()
        thread.join(60)
    assert not thread.is_alive()
    assert merge(kernel, name, {"p=1": ["next"]}) == 3
    assert_whole(kernel, name)


def test_a_transaction_ends_once(kernel: Kernel, name: TableName) -> None:
    create(kernel, name, ROWS)
    txn = kernel.begin(name, "merge")
    stage(kernel, txn, {"p=1": ["mine"]})
    txn.commit()
    txn.abort()
    for call in (txn.commit, txn.read, txn.replace_all):
        with pytest.raises(InvalidTransactionState, match="committed"):
            call()
    assert rows_of(kernel, name)["p=1"] == ["mine"]


@pytest.mark.parametrize("keys", [OTHER_KEYS, ()], ids=["other-keys", "to-whole"])
def test_a_rebuild_keeps_the_table_s_own_parameters(
    keys: tuple[HiveColumn, ...], kernel: Kernel, name: TableName
) -> None:
    txn = kernel.create(
        TableDefinition(
            name, COLUMNS, KEYS, external=True, owner="me", parameters={"comment": "mine", "x.y": "z"}
        )
    )
    stage(kernel, txn, ROWS)
    txn.commit()
    txn = kernel.begin(name, "replace")
    txn.replace_all()
    txn.set_schema(COLUMNS, keys)
    stage(kernel, txn, {"q=1/r=x" if keys else "": ["new"]})
    txn.commit()
    table = kernel.table(name)
    assert (table.kind, table.owner) == ("EXTERNAL_TABLE", "me")
    assert {"comment": "mine", "x.y": "z", "EXTERNAL": "TRUE"}.items() <= table.parameters.items()
    assert_nothing_orphaned(kernel, name)


class Died(Exception):
    """Stands for a process that dies at a step."""


def dying_at(step: str) -> object:
    def die(reached: str) -> None:
        if reached == step:
            raise Died

    return die


@pytest.mark.parametrize("where", ["default", "elsewhere"])
def test_a_rebuild_that_dies_without_a_row_loses_nothing(where: str, site: Site, name: TableName) -> None:
    kernel = Kernel(site.ports())
    root = None if where == "default" else f"{kernel.default_root(name)}_own/deep"
    parameters = {"comment": "mine"}
    txn = kernel.create(
        TableDefinition(name, COLUMNS, KEYS, root=root, external=True, owner="me", parameters=parameters)
    )
    stage(kernel, txn, ROWS)
    txn.commit()
    before = kernel.table(name)
    dying = Kernel(site.ports(), step=dying_at("row moved"))  # type: ignore[arg-type]
    txn = dying.begin(name, "replace")
    txn.replace_all()
    txn.set_schema(COLUMNS, OTHER_KEYS)
    stage(dying, txn, {"q=1/r=x": ["new"]})
    with pytest.raises(Died):
        txn.commit()
    assert kernel.metastore.get_table(name) is None
    done = kernel.recover(name)
    assert done
    assert "anew" in done[0]
    table = kernel.table(name)
    assert (table.kind, table.owner) == ("EXTERNAL_TABLE", "me")
    assert table.parameters["comment"] == "mine"
    assert table.parameters["lakemerge.root"] == before.parameters["lakemerge.root"]
    assert rows_of(kernel, name) == {"q=1/r=x": ["new"]}
    assert settled(kernel, name).version == 2
    assert_nothing_orphaned(kernel, name)


def test_a_dropped_table_stays_dropped_after_a_rebuild_died(site: Site, name: TableName) -> None:
    kernel = Kernel(site.ports())
    create(kernel, name, ROWS)
    dying = Kernel(site.ports(), step=dying_at("row moved"))  # type: ignore[arg-type]
    txn = dying.begin(name, "replace")
    txn.replace_all()
    txn.set_schema(COLUMNS, OTHER_KEYS)
    stage(dying, txn, {"q=1/r=x": ["new"]})
    with pytest.raises(Died):
        txn.commit()
    drop(kernel, name)
    assert not kernel.exists(name)
    assert files_below(kernel, kernel.default_root(name)) == set()


def test_a_drop_that_died_is_finished_by_the_next_table(site: Site, name: TableName) -> None:
    """Files of an adopted table straight below its root are nobody's version: only the drop knows of them."""
    kernel = Kernel(site.ports())
    make_plain(kernel, name, ROWS)
    kernel.open(name)
    assert kernel.drops.prepare(kernel.table(name)) is not None
    kernel.metastore.drop_table(name)
    create(kernel, name, {"p=5": ["new"]})
    assert rows_of(kernel, name) == {"p=5": ["new"]}
    assert_nothing_orphaned(kernel, name)


def test_history_lists_versions_from_the_newest(kernel: Kernel, name: TableName) -> None:
    create(kernel, name, ROWS)
    merge(kernel, name, {"p=1": ["b"]})
    merge(kernel, name, {"p=4": ["b"]})
    commits = history(kernel, name)
    assert [(commit.version, commit.operation, commit.written) for commit in commits] == [
        (3, "merge", ("p=4",)),
        (2, "merge", ("p=1",)),
        (1, "create", ("p=1", "p=2", "p=3")),
    ]
    assert picture(kernel, name) is not None
    assert [commit.version for commit in history(kernel, name, limit=1)] == [3]
