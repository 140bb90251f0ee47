"""What a process finds at its second look, because others have gone on between the two."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any

import pytest

from kernel.meanwhile import Meanwhile, beside, die_at
from kernel.support import (
    COLUMNS,
    COMMIT,
    COMMIT_KEYS,
    KEYS,
    add_overlay,
    append,
    create,
    create_appendable,
    ingest,
    locations,
    make_plain,
    merge,
    rejected,
    rows_of,
    stage,
)
from lakemerge.errors import CommitConflict, CommitUnfinished, MetastoreError, UnsupportedTable
from lakemerge.kernel import (
    HiveColumn,
    Kernel,
    TableDefinition,
    TableName,
    drop,
    last_change,
    remove_overlay,
)
from lakemerge.kernel.maintenance.compaction_log import CompactionLog
from lakemerge.kernel.ports import HivePartition
from lakemerge.kernel.ports.names import DEFAULT_PARTITION
from lakemerge.kernel.protocol import swaps
from lakemerge.kernel.protocol.drops import Leftovers
from lakemerge.testing import LateCalls, World

NAME = TableName("s", "t")
HOUR = datetime.timedelta(hours=1)


# -- drops -------------------------------------------------------------------------------------


def left_of(kernel: Kernel, **others: Any) -> Leftovers:
    left = kernel.drops.prepare(kernel.table(NAME))
    assert left is not None
    return dataclasses.replace(left, aside="t__old_0", **others)


def test_a_row_that_stands_by_now_is_not_withdrawn(kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    kernel.drops.withdraw(NAME, left_of(kernel), lambda: None)
    assert rows_of(kernel, NAME) == {"p=1": ["old"]}
    assert not kernel.files.exists(kernel.open(NAME).layout.dropping)


def test_the_list_of_another_tables_drop_is_not_taken_for_this_ones(kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    layout = kernel.open(NAME).layout
    left_of(kernel)  # a drop that died
    other = Leftovers("another", layout.root, whole=False, aside="t__old_1")
    assert not kernel.drops.remove_row(NAME, other, lambda: False)
    assert not kernel.files.exists(layout.dropping)


def test_a_list_that_another_process_has_written_since_stays(kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    layout = kernel.open(NAME).layout

    def drop_dies() -> bool:
        left_of(kernel)
        return False

    late = Leftovers("another", layout.root, whole=False, aside="t__old_1")
    assert not kernel.drops.remove_row(NAME, late, drop_dies)
    assert kernel.files.exists(layout.dropping)


def test_the_drop_of_an_external_table_leaves_what_is_not_lakemerges(kernel: Kernel) -> None:
    definition = TableDefinition(NAME, COLUMNS, KEYS, external=True)
    with kernel.create(definition) as transaction:
        stage(kernel, transaction, {"p=1": ["old"]})
        transaction.commit()
    root = kernel.open(NAME).layout.root
    kernel.files.write_text(f"{root}/p=9/part-0.orc", "somebody's")
    drop(kernel, NAME)
    assert kernel.files.exists(f"{root}/p=9/part-0.orc")
    assert kernel.files.list(f"{root}/_lakemerge") == []


# -- views -------------------------------------------------------------------------------------


def test_a_view_is_not_made_again_for_an_earlier_version(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    add_overlay(kernel, NAME)
    before = kernel.settled(NAME)[1]
    merge(kernel, NAME, {"p=1": ["new"]})
    view = world.metastore.get_table(NAME)
    world.metastore.drop_table(NAME)
    kernel.roll_forward.overlays.show(NAME, before)
    assert world.metastore.get_table(NAME) is None
    assert view is not None


def test_the_view_of_a_later_version_stays(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    add_overlay(kernel, NAME)
    before = kernel.settled(NAME)[1]
    with kernel.begin(NAME, "write_mode") as transaction:
        remove_overlay(transaction)
        transaction.commit()
    add_overlay(kernel, NAME)
    view = world.metastore.get_table(NAME)
    kernel.roll_forward.overlays.show(NAME, before)
    assert world.metastore.get_table(NAME) == view


def test_a_first_version_whose_name_is_another_tables_is_reported(kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    first = kernel.settled(NAME)[1]
    add_overlay(kernel, NAME)
    with pytest.raises(MetastoreError):
        kernel.roll_forward.overlays.require_free(NAME, first)


def test_what_a_claim_shows_is_left_to_the_claim(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    ingest(kernel, NAME, {"p=2": ["new"]}, "rejected")
    die_at(world, "side data published", lambda other: ingest(other, NAME, {"p=3": ["new"]}, "more"))
    state = kernel.current_state(NAME)
    assert state is not None
    assert state.claim is not None
    shown = rejected(kernel, NAME)
    assert not kernel.roll_forward.show_side_data(state)
    assert rejected(kernel, NAME) == shown


# -- late files --------------------------------------------------------------------------------


def add_late(world: World, kernel: Kernel) -> None:
    before = locations(kernel, NAME)["p=1"]
    merge(kernel, NAME, {"p=1": ["new"]})
    world.timeline.pass_by(1)
    kernel.files.write_text(f"{before}/foreign.orc", "foreign")


def test_files_that_came_late_into_a_dropped_table_are_none_of_the_next_one(
    world: World, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    add_late(world, kernel)
    find = kernel.late._find

    def make_next(*args: Any) -> Any:
        found = find(*args)
        monkeypatch.setattr(kernel.late, "_find", find)
        assert found
        drop(kernel, NAME, keep_files=True)
        create(Kernel(world.process()), NAME, {"p=1": ["next"]})
        return found

    monkeypatch.setattr(kernel.late, "_find", make_next)
    kernel.recover(NAME)
    assert rows_of(kernel, NAME) == {"p=1": ["next"]}


def test_late_files_whose_partition_is_dropped_at_once_are_reported(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"], "p=2": ["old"]})
    before = locations(kernel, NAME)["p=1"]
    with kernel.begin(NAME, "merge") as transaction:
        transaction.read(["p=1"])
        transaction.remove(["p=1"])
        transaction.commit()
    world.timeline.pass_by(1)
    kernel.files.write_text(f"{before}/foreign.orc", "foreign")
    other = beside(
        world, "metastore", "add_partitions", lambda: world.metastore.drop_partition(NAME, ["1"]), after=True
    )
    with pytest.raises(MetastoreError, match="at the same moment"):
        other.recover(NAME)
    assert kernel.files.exists(f"{before}/foreign.orc")
    kernel.recover(NAME)
    assert rows_of(kernel, NAME) == {"p=1": ["foreign"], "p=2": ["old"]}


# -- others ------------------------------------------------------------------------------------


def test_a_version_without_its_manifest_cannot_be_finished(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    first = kernel.open(NAME)

    def lose() -> None:
        kernel.files.delete(first.layout.manifest_of(first.txn))

    def reached(step: str) -> None:
        if step == "claimed":
            lose()

    with pytest.raises(CommitUnfinished, match="no such file"):
        merge(Kernel(world.process(), step=reached), NAME, {"p=1": ["new"]})


def test_the_columns_of_a_data_source_of_spark_are_not_in_the_metastore(kernel: Kernel) -> None:
    make_plain(kernel, NAME, {"": ["plain"]})
    row = kernel.table(NAME)
    storage = dataclasses.replace(row.storage, columns=(HiveColumn("col", "array<string>"),))
    kernel.metastore.drop_table(NAME)
    kernel.metastore.create_table(dataclasses.replace(row, storage=storage))
    with pytest.raises(UnsupportedTable, match="whose types Hive cannot hold"):
        kernel.open(NAME)


@pytest.mark.parametrize("part", ["", "p=1"], ids=["whole", "partitioned"])
def test_the_adoption_of_a_table_is_no_change(world: World, kernel: Kernel, part: str) -> None:
    make_plain(kernel, NAME, {part: ["plain"]})
    world.timeline.pass_by(7200)
    place = kernel.default_root(NAME)
    kernel.files.write_text(f"{place}/{part}/part-1.orc" if part else f"{place}/part-1.orc", "more")
    before = last_change(kernel, NAME)
    world.timeline.pass_by(7200)
    kernel.open(NAME)
    assert last_change(kernel, NAME) == before


def test_a_compaction_that_ends_between_two_looks_has_ended(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    log = CompactionLog(kernel, NAME)
    record = log.begin(log.request("bin_pack", "small files"))
    kernel.heartbeats.stop(kernel.open(NAME).layout, record.id)
    looking = beside(
        world,
        "files",
        "read_text",
        lambda: log.end(record),
        after=True,
        when=lambda path: "/compactions/" in path,
    )
    assert [one.state for one in CompactionLog(looking, NAME).records()] == ["done"]


def test_column_statistics_of_what_an_unpartitioned_table_no_longer_has_go(
    world: World, kernel: Kernel
) -> None:
    create(kernel, NAME, {"": ["old"]})
    add_overlay(kernel, NAME)
    base = kernel.table(NAME).name
    told: list[TableName] = []
    delete = world.metastore.delete_table_column_statistics
    world.metastore.delete_table_column_statistics = lambda name: (told.append(name), delete(name))[1]  # type: ignore[method-assign]
    merge(kernel, NAME, {"": ["new"]})
    assert base in told


def test_a_decided_group_without_its_record_cannot_be_finished(world: World, kernel: Kernel) -> None:
    names = [TableName("s", "a"), TableName("s", "b")]
    for name in names:
        create(kernel, name, {"p=1": ["old"]})

    def reached(step: str) -> None:
        if step == "claimed":
            kernel.files.delete(opened[0].layout.group_of(opened[0].txn))

    writer = Kernel(world.process(), step=reached)
    opened = [writer.begin(name, "merge") for name in names]
    for one in opened:
        stage(writer, one, {"p=1": ["new"]})
    with pytest.raises(CommitUnfinished, match="no such file"):
        writer.commit_together(opened)


def test_a_table_that_was_made_and_is_to_be_dropped_is_not_sent_again(world: World, kernel: Kernel) -> None:
    """The first call comes just before its maker looks whether it may send it again."""
    ports = world.process()
    late = LateCalls(ports.metastore)
    late.lose("create_table")

    def come() -> None:
        late.arrive()
        kernel.creations.close_of(transaction.layout, kernel.table(NAME).parameters["lakemerge.id"])

    files: Any = Meanwhile(
        ports.files, "exists", come, when=lambda path: "/creations/" in path and bool(late.on_their_way)
    )
    maker = Kernel(dataclasses.replace(ports, metastore=late.metastore, files=files))
    transaction = maker.create(TableDefinition(NAME, COLUMNS, KEYS))
    stage(maker, transaction, {"p=1": ["mine"]})
    with pytest.raises(CommitConflict, match="taken for dead"), transaction:
        transaction.commit()
    assert not kernel.exists(NAME)


def test_a_table_of_the_append_kind_loses_what_a_commit_removes_beside_what_it_adds(kernel: Kernel) -> None:
    create_appendable(kernel, NAME, {"p=1": ["old"]})
    with kernel.begin(NAME, "replace") as transaction:
        transaction.read()
        assert transaction.base is not None
        transaction.remove(list(transaction.base.partitions))
        stage(kernel, transaction, {f"p=2/c={DEFAULT_PARTITION}": ["new"]})
        transaction.commit()
    assert list(rows_of(kernel, NAME).values()) == [["new"]]


def test_a_table_becomes_one_of_the_append_kind(kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    assert not kernel.open(NAME).commit_column
    with kernel.begin(NAME, "replace") as transaction:
        transaction.replace_all()
        transaction.set_schema(COLUMNS, COMMIT_KEYS, commit_column=COMMIT)
        transaction.commit()
    assert kernel.open(NAME).commit_column == COMMIT


def test_a_table_whose_name_looks_like_that_of_a_new_row_is_somebody_elses(kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    other = TableName("s", "t__new_0123456789ab")
    make_plain(kernel, other, {"": ["somebody's"]})
    kernel.recover(NAME)
    assert kernel.exists(other)


def test_new_partitions_begin_at_a_directory_that_is_there(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    ports = world.process()
    there: list[bool] = []

    class Watching:
        def __getattr__(self, name: str) -> Any:
            return getattr(ports.metastore, name)

        def add_partitions(self, name: TableName, rows: list[HivePartition]) -> int:
            for row in rows:
                above, _, folder = row.location.rpartition("/")
                there.append(folder in [entry.name for entry in kernel.files.list(above)])
            return ports.metastore.add_partitions(name, rows)

    merge(Kernel(dataclasses.replace(ports, metastore=Watching())), NAME, {"p=2": ["new"]})  # type: ignore[arg-type]
    assert there == [True]


def test_an_append_that_does_not_fit_into_one_call_is_sent_in_several(
    world: World, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_appendable(kernel, NAME, {"p=1": ["old"]})
    monkeypatch.setattr(swaps, "_MOST_BYTES", 1)
    sent: list[int] = []
    add = world.metastore.add_partitions
    monkeypatch.setattr(
        world.metastore, "add_partitions", lambda name, rows: (sent.append(len(rows)), add(name, rows))[1]
    )
    append(kernel, NAME, {"p=2": ["new"], "p=3": ["new"]})
    assert sent == [1, 1]
    assert sorted(rows_of(kernel, NAME).values()) == [["new"], ["new"], ["old"]]


def test_an_append_whose_claim_others_have_finished_registers_nothing(world: World, kernel: Kernel) -> None:
    """It slept after its claim; its partition is gone by now, with its rows."""
    create_appendable(kernel, NAME, {"p=1": ["old"]})

    def others(step: str) -> None:
        if step == "claimed":
            world.timeline.pass_by(3600)
            kernel.recover(NAME)
            with kernel.begin(NAME, "delete") as transaction:
                transaction.read()
                assert transaction.base is not None
                transaction.remove(transaction.base.partitions)
                transaction.commit()
            sent.clear()

    sent: list[str] = []
    ports = world.process()

    class Watching:
        def __getattr__(self, name: str) -> Any:
            sent.append(name)
            return getattr(ports.metastore, name)

    append(Kernel(dataclasses.replace(ports, metastore=Watching()), step=others), NAME, {"p=2": ["new"]})
    assert "add_partitions" not in sent
    assert rows_of(kernel, NAME) == {}


def test_who_wakes_up_when_its_view_has_come_and_gone_has_committed(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})

    def others(step: str) -> None:
        if step == "table renamed":
            world.timeline.pass_by(3600)
            kernel.recover(NAME)
            with kernel.begin(NAME, "write_mode") as transaction:
                remove_overlay(transaction)
                transaction.commit()

    assert add_overlay(Kernel(world.process(), step=others), NAME) == 2
    assert kernel.table(NAME).kind == "MANAGED_TABLE"
    assert rows_of(kernel, NAME) == {"p=1": ["old"]}
