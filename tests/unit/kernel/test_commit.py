"""Commits from their updates to settled versions, in memory: what each half of an attempt does and leaves."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import replace

import pytest

from kernel import support
from lakemerge.errors import (
    CommitConflict,
    CorruptTable,
    InvalidConfig,
    InvalidTransactionState,
    StorageError,
    UnknownReference,
)
from lakemerge.kernel import (
    HiveColumn,
    Kernel,
    TableDefinition,
    TableName,
    Transaction,
    find_version,
    group_of,
    history,
)
from lakemerge.kernel.maintenance.vacuum import vacuum
from lakemerge.kernel.ports.filesystem import FileEntry
from lakemerge.testing import World

COLUMNS = (HiveColumn("line", "string"),)
KEYS = (HiveColumn("p", "string"),)
NAME = TableName("s", "t")


def stage(kernel: Kernel, txn: Transaction, *partitions: str) -> Transaction:
    support.stage(kernel, txn, {partition: [f"{txn.txn} {partition}"] for partition in partitions})
    return txn


@pytest.fixture
def table(kernel: Kernel) -> TableName:
    stage(kernel, kernel.create(TableDefinition(NAME, COLUMNS, KEYS)), "p=1", "p=2").commit()
    return NAME


def test_the_same_updates_follow_on_whatever_version_is_the_newest(kernel: Kernel, table: TableName) -> None:
    begun = stage(kernel, kernel.begin(table, "append"), "p=3")
    stage(kernel, kernel.begin(table, "append"), "p=4").commit()
    assert begun.commit() == 3
    assert sorted(kernel.settled(table)[1].partitions) == ["p=1", "p=2", "p=3", "p=4"]


def test_an_update_of_side_data_is_seen_by_who_has_read_it(kernel: Kernel, table: TableName) -> None:
    reader = stage(kernel, kernel.begin(table, "merge"), "p=1")
    reader.read_side_data("ledger", ["p=1"])
    for concerns in (["p=2"], ["p=1"]):
        other = kernel.begin(table, "merge")
        other.add_sidecar("ledger", other.sidecar_directory("ledger"), concerns=concerns)
        other.commit()
        if concerns == ["p=2"]:
            assert kernel.settled(table)[1].side_data_touched == {"ledger": ("p=2",)}
    with pytest.raises(CommitConflict, match="version 3 came first"):
        reader.commit()


@pytest.mark.parametrize("data_change", [True, False])
def test_rows_that_only_move_are_told_by_the_update_not_by_the_operation(
    kernel: Kernel, table: TableName, *, data_change: bool
) -> None:
    txn = stage(kernel, kernel.begin(table, "compact", data_change=data_change), "p=1")
    txn.remove(["p=2"])
    txn.commit()
    assert kernel.settled(table)[1].only_moves_rows is not data_change


def test_what_is_staged_for_a_partition_that_is_removed_later_is_not_written(
    kernel: Kernel, table: TableName
) -> None:
    txn = stage(kernel, kernel.begin(table, "merge"), "p=1", "p=2")
    txn.remove(["p=2"])
    txn.commit()
    assert set(kernel.settled(table)[1].partitions) == {"p=1"}


def test_a_schema_and_its_parameters_change_with_the_claim(kernel: Kernel, table: TableName) -> None:
    txn = stage(kernel, kernel.begin(table, "merge"), "p=1")
    txn.set_schema([*COLUMNS, HiveColumn("extra", "int")])
    txn.set_parameters({"comment": "one"})
    txn.set_parameters({"comment": "another", "owner": "me"})
    txn.commit()
    row = kernel.table(table)
    assert [column.name for column in row.columns] == ["line", "extra"]
    assert (row.parameters["comment"], row.parameters["owner"]) == ("another", "me")


def test_vacuum_keeps_what_a_named_version_needs_for_as_long_as_it_has_the_name(
    kernel: Kernel, table: TableName
) -> None:
    txn = stage(kernel, kernel.begin(table, "merge"), "p=1")
    txn.set_reference("audited", txn.txn)
    txn.commit()
    for _ in range(3):
        stage(kernel, kernel.begin(table, "merge"), "p=1", "p=2").commit()
        vacuum(kernel, table, retention=datetime.timedelta(0), dry_run=False, allow_short_retention=True)
        named = find_version(kernel, table, tag="audited")[1]
        assert (named.txn, named.version) == (txn.txn, 2)
        for entry in named.partitions.values():
            found = kernel.files.fingerprint(txn.layout.absolute(entry.location))
            assert (found.files, found.digest) == (entry.files, entry.digest)
    with pytest.raises(InvalidConfig, match="a retention time of 0 or more"):
        vacuum(kernel, table, retention=datetime.timedelta(microseconds=-1), allow_short_retention=True)
    with pytest.raises(UnknownReference, match="a version named released; found audited"):
        find_version(kernel, table, tag="released")
    untagging = kernel.begin(table, "tag")
    with pytest.raises(CorruptTable):
        untagging.set_reference("first", kernel.settled(table)[1].parent)
    untagging.set_reference("audited", None)
    untagging.commit()
    vacuum(kernel, table, retention=datetime.timedelta(0), dry_run=False, allow_short_retention=True)
    assert not kernel.files.exists(txn.layout.manifest_of(txn.txn))
    assert not kernel.files.exists(txn.layout.data_of(txn.txn))


@pytest.mark.parametrize("replaces", [False, True])
def test_a_writer_that_vacuum_has_taken_for_dead_cannot_claim(
    world: World, kernel: Kernel, table: TableName, *, replaces: bool
) -> None:
    silent = stage(kernel, kernel.begin(table, "append"), "p=3")
    if replaces:
        silent.replace_all()
    world.timeline.pass_by(3600)
    other = Kernel(world.process())
    version = other.open(table).version
    garbage = vacuum(other, table, retention=datetime.timedelta(0), dry_run=False, allow_short_retention=True)
    assert any(item.reason == "left by a transaction that never committed" for item in garbage)
    state, manifest = other.settled(table)
    assert (state.version, manifest.operation, manifest.fenced) == (version + 1, "vacuum", (silent.txn,))
    with pytest.raises(CommitConflict, match=f"version {version + 1} has taken it for dead"):
        silent.commit()
    assert sorted(other.settled(table)[1].partitions) == ["p=1", "p=2"]


def remove_and_sleep(world: World, table: TableName, meanwhile: Callable[[], None]) -> int:
    """Remove a partition, by a writer of whom there is only a manifest, and which sleeps before its claim."""

    def sleep(step: str) -> None:
        if step == "manifest written" and not slept:
            slept.append(step)
            meanwhile()

    slept: list[str] = []
    silent = Kernel(world.process(), step=sleep).begin(table, "delete")
    silent.remove(["p=1"])
    return silent.commit()


def test_a_writer_whose_manifest_vacuum_has_deleted_cannot_claim(world: World, table: TableName) -> None:
    def meanwhile() -> None:
        world.timeline.pass_by(100)
        vacuum(
            Kernel(world.process()),
            table,
            retention=datetime.timedelta(0),
            dry_run=False,
            allow_short_retention=True,
        )

    with pytest.raises(CommitConflict, match="has taken it for dead"):
        remove_and_sleep(world, table, meanwhile)
    assert sorted(Kernel(world.process()).settled(table)[1].partitions) == ["p=1", "p=2"]


@pytest.mark.parametrize("age", [90, 130])
def test_vacuum_deletes_nothing_that_grows_old_while_it_waits_for_its_fence(
    world: World, kernel: Kernel, table: TableName, age: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two writers that are silent, one counts as dead when vacuum begins, and the other only a minute later."""
    of_memory = world.files.list

    def with_times_of_folders(path: str) -> list[FileEntry]:
        return [
            replace(entry, modified=max((file.modified for file in kernel.files.walk(entry.path)), default=0))
            if entry.is_directory
            else entry
            for entry in of_memory(path)
        ]

    stage(kernel, kernel.begin(table, "append"), "p=3")
    world.timeline.pass_by(3600)
    late = stage(Kernel(world.process()), kernel.begin(table, "append"), "p=4")
    world.timeline.pass_by(age)

    def wait(step: str) -> None:
        if step == "staged":
            world.timeline.pass_by(60)

    monkeypatch.setattr(world.files, "list", with_times_of_folders)
    vacuuming = Kernel(world.process(), step=wait)
    vacuum(
        vacuuming, table, retention=datetime.timedelta(seconds=120), dry_run=False, allow_short_retention=True
    )
    if age > 120:
        with pytest.raises(CommitConflict, match="has taken it for dead"):
            late.commit()
        return
    late.commit()
    entry = kernel.settled(table)[1].partitions["p=4"]
    assert kernel.files.fingerprint(late.layout.absolute(entry.location)).files == 1


def test_vacuum_makes_a_version_only_to_fence(kernel: Kernel, table: TableName) -> None:
    for _ in range(2):
        stage(kernel, kernel.begin(table, "merge"), "p=1").commit()
        version = kernel.open(table).version
        assert vacuum(
            kernel, table, retention=datetime.timedelta(0), dry_run=False, allow_short_retention=True
        )
        assert kernel.open(table).version == version


def test_vacuum_leaves_what_a_transaction_claims_before_the_fence(
    world: World, kernel: Kernel, table: TableName
) -> None:
    silent = stage(kernel, kernel.begin(table, "append"), "p=3")
    world.timeline.pass_by(3600)

    def wake_up(step: str) -> None:
        if step == "staged" and silent.state == "open":
            silent.commit()

    vacuum(
        Kernel(world.process(), step=wake_up),
        table,
        retention=datetime.timedelta(0),
        dry_run=False,
        allow_short_retention=True,
    )
    assert silent.state == "committed"
    entry = kernel.settled(table)[1].partitions["p=3"]
    assert kernel.files.fingerprint(silent.layout.absolute(entry.location)).files == 1


def test_a_vacuum_that_fails_at_its_fence_leaves_no_heartbeat(
    world: World, kernel: Kernel, table: TableName
) -> None:
    silent = stage(kernel, kernel.begin(table, "append"), "p=3")
    world.timeline.pass_by(3600)

    def fail(step: str) -> None:
        if step == "staged":
            raise StorageError(expected="a disk that works", found="one that does not", action="Mend it.")

    process = world.process()
    with pytest.raises(StorageError):
        vacuum(
            Kernel(process, step=fail),
            table,
            retention=datetime.timedelta(0),
            dry_run=False,
            allow_short_retention=True,
        )
    assert process.host.open_here == set()
    assert kernel.files.exists(silent.layout.data_of(silent.txn)), "nothing is deleted that is not fenced off"


def test_what_a_block_does_not_commit_is_given_up(world: World, table: TableName) -> None:
    process = world.process()
    kernel = Kernel(process)
    txn = kernel.begin(table, "merge")

    def lose_a_race() -> None:
        with txn:
            txn.read(["p=1"])
            stage(kernel, txn, "p=1")
            stage(kernel, kernel.begin(table, "merge"), "p=1").commit()
            txn.commit()

    with pytest.raises(CommitConflict):
        lose_a_race()
    assert txn.state == "aborted"
    assert process.host.open_here == set()
    assert not kernel.files.exists(txn.layout.data_of(txn.txn))


# -- commits that can do without a part --------------------------------------------------------


def compaction(kernel: Kernel, table: TableName, *groups: tuple[str, ...]) -> Transaction:
    """A transaction that moves the rows of each group's partitions to the last of them."""
    txn = kernel.begin(table, "compact", data_change=False)
    assert txn.base is not None
    found = [group_of(txn.base, names) for names in groups]
    txn.read(name for names in groups for name in names)
    txn.move_in_units(group.unit for group in found)
    stage(kernel, txn, *(names[-1] for names in groups))
    txn.remove(name for names in groups for name in names[:-1])
    return txn


def test_a_compaction_does_without_what_others_were_first_to_change(kernel: Kernel, table: TableName) -> None:
    stage(kernel, kernel.begin(table, "append"), "p=3", "p=4").commit()
    txn = compaction(kernel, table, ("p=1",), ("p=2", "p=3"), ("p=4",))
    overwrite = stage(kernel, kernel.begin(table, "insert_overwrite"), "p=2")
    overwrite.commit()
    assert txn.commit() == 4
    made = kernel.settled(table)[1]
    assert made.written == made.rewritten == ("p=1", "p=4")
    assert made.partitions["p=2"].location.endswith(f"{overwrite.txn}/p=2")
    assert "p=3" in made.partitions, "a unit is left out as a whole"
    assert made.metrics["compacted"] == 2
    assert [sorted(unit.partitions) for unit in txn.left_out] == [["p=2", "p=3"]]


def test_a_compaction_of_which_nothing_is_left_is_a_conflict(kernel: Kernel, table: TableName) -> None:
    txn = compaction(kernel, table, ("p=1",), ("p=2",))
    for name in ("p=2", "p=1"):
        stage(kernel, kernel.begin(table, "insert_overwrite"), name).commit()
    with pytest.raises(CommitConflict, match="first to change every partition that it was to move"):
        txn.commit()
    assert kernel.settled(table)[1].version == 3


def test_a_compaction_does_without_what_another_program_wrote_into(kernel: Kernel, table: TableName) -> None:
    txn = compaction(kernel, table, ("p=1",), ("p=2",))
    place = kernel.settled(table)[1].partitions["p=1"].location
    kernel.files.write_text(f"{txn.layout.absolute(place)}/late.orc", "theirs")
    txn.commit()
    made = kernel.settled(table)[1]
    assert made.written == ("p=2",)
    assert made.partitions["p=1"].location == place


def test_only_a_commit_that_moves_rows_can_do_without_some(kernel: Kernel, table: TableName) -> None:
    with pytest.raises(InvalidTransactionState, match="only moves rows"):
        kernel.begin(table, "merge").move_in_units([])


def test_vacuum_keeps_the_last_versions_however_old_they_are(kernel: Kernel, table: TableName) -> None:
    for number in range(5):
        support.merge(kernel, table, {"p=1": [f"row {number}"]})
    newest = kernel.settled(table)[1].version
    vacuum(
        kernel,
        table,
        retention=support.NO_RETENTION,
        retain_last=3,
        dry_run=False,
        allow_short_retention=True,
    )
    assert [one.version for one in history(kernel, table)] == [newest, newest - 1, newest - 2]
    vacuum(
        kernel,
        table,
        retention=support.NO_RETENTION,
        retain_last=0,
        dry_run=False,
        allow_short_retention=True,
    )
    assert [one.version for one in history(kernel, table)] == [newest], "the newest one stays in any case"
    assert support.rows_of(kernel, table)["p=1"] == ["row 4"]


def test_vacuums_that_free_a_part_each_free_all_in_the_end(kernel: Kernel, table: TableName) -> None:
    for number in range(5):
        support.merge(kernel, table, {"p=1": [f"row {number}"]})
    wanted = vacuum(kernel, table, retention=support.NO_RETENTION, allow_short_retention=True)
    part = vacuum(
        kernel, table, retention=support.NO_RETENTION, max_bytes=1, dry_run=False, allow_short_retention=True
    )
    assert len(part) == 1
    assert part[0].size >= 1
    for _ in wanted:
        vacuum(
            kernel,
            table,
            retention=support.NO_RETENTION,
            max_bytes=1,
            dry_run=False,
            allow_short_retention=True,
        )
        assert support.rows_of(kernel, table)["p=1"] == ["row 4"]
    assert vacuum(kernel, table, retention=support.NO_RETENTION, allow_short_retention=True) == []
    support.assert_nothing_orphaned(kernel, table)
