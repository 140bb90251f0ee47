"""Calls that the metastore carries out after their clients have given up, and others have gone on.

No writer pauses here: the one that sent the call has ended, or has sent it again, and looks no more.
"""

from __future__ import annotations

import dataclasses
from datetime import timedelta

import pytest

from kernel.support import (
    WIDER_COLUMNS,
    append,
    assert_nothing_orphaned,
    assert_whole,
    compact,
    create,
    create_appendable,
    ingest,
    locations,
    make_plain,
    merge,
    rows_of,
    stage,
)
from lakemerge.errors import CommitUnfinished
from lakemerge.kernel import HiveTable, Kernel, TableName, history
from lakemerge.kernel.maintenance.vacuum import vacuum
from lakemerge.kernel.ports import Refused
from lakemerge.kernel.ports.names import partition_values
from lakemerge.kernel.protocol.unanswered import LONGEST_CALL, UNSURE
from lakemerge.kernel.table.definition import moved
from lakemerge.kernel.table.side_tables import SIDE_TABLES
from lakemerge.testing import LateCalls, World

NAME = TableName("s", "t")
DAY = LONGEST_CALL / 1000


class Writer:
    """A process some of whose calls are late."""

    def __init__(self, world: World) -> None:
        ports = world.process()
        self.late = LateCalls(ports.metastore)
        self.kernel = Kernel(dataclasses.replace(ports, metastore=self.late.metastore))
        self._running, self._pid = world.running, ports.host.owner().pid

    def die(self) -> None:
        self._running.discard(self._pid)


@pytest.fixture
def writer(world: World) -> Writer:
    return Writer(world)


def remove(kernel: Kernel, name: TableName, partition: str) -> int:
    with kernel.begin(name, "merge") as transaction:
        transaction.read([partition])
        transaction.remove([partition])
        return transaction.commit()


def overwrite(kernel: Kernel, name: TableName, partition: str, text: str) -> int:
    """Replace a partition without having read it, so that nobody looks at others for it."""
    with kernel.begin(name, "insert_overwrite") as transaction:
        stage(kernel, transaction, {partition: [text]})
        return transaction.commit()


def test_a_late_swap_is_put_right_by_the_next_commit_of_any_partition(
    world: World, kernel: Kernel, writer: Writer
) -> None:
    create(kernel, NAME, {"p=1": ["old"], "p=2": ["old"]})
    writer.late.lose("alter_partitions")
    assert merge(writer.kernel, NAME, {"p=1": ["late"]}) == 2
    merge(kernel, NAME, {"p=1": ["newest"]})
    writer.late.arrive()
    assert rows_of(kernel, NAME)["p=1"] == ["late"]  # no call of ours can prevent that
    overwrite(kernel, NAME, "p=2", "other")
    assert rows_of(kernel, NAME) == {"p=1": ["newest"], "p=2": ["other"]}
    assert_whole(kernel, NAME)


def test_vacuum_puts_a_late_swap_right_before_it_deletes(
    world: World, kernel: Kernel, writer: Writer
) -> None:
    create(kernel, NAME, {"p=1": ["old"], "p=2": ["old"]})
    writer.late.lose("alter_partitions")
    merge(writer.kernel, NAME, {"p=1": ["late"]})
    merge(kernel, NAME, {"p=1": ["newest"]})
    world.timeline.pass_by(10 * DAY)
    writer.late.arrive()  # ten times later than anybody expects it
    vacuum(kernel, NAME, dry_run=False)
    assert rows_of(kernel, NAME) == {"p=1": ["newest"], "p=2": ["old"]}
    assert_nothing_orphaned(kernel, NAME)


def test_a_late_swap_of_a_process_that_died_is_put_right(
    world: World, kernel: Kernel, writer: Writer
) -> None:
    """Whoever finishes its commit knows nothing of what it has sent."""
    create(kernel, NAME, {"p=1": ["old"], "p=2": ["old"]})
    writer.late.lose("alter_partitions", times=100)
    with pytest.raises(CommitUnfinished):
        merge(writer.kernel, NAME, {"p=1": ["late"]})
    writer.die()
    merge(kernel, NAME, {"p=1": ["newest"]})
    writer.late.arrive()
    assert rows_of(kernel, NAME)["p=1"] == ["late"]
    overwrite(kernel, NAME, "p=2", "other")
    assert rows_of(kernel, NAME) == {"p=1": ["newest"], "p=2": ["other"]}
    assert_whole(kernel, NAME)


def test_a_late_swap_of_columns_is_put_right_in_all_partitions(
    world: World, kernel: Kernel, writer: Writer
) -> None:
    """It sends partitions that it has not changed as they were then, even where the table was before it was adopted."""
    make_plain(kernel, NAME, {"p=1": ["old"], "p=2": ["old"], "p=3": ["old"]})
    writer.late.lose("alter_partitions")
    with writer.kernel.begin(NAME, "merge") as transaction:
        transaction.read(["p=1"])
        transaction.set_schema(WIDER_COLUMNS)
        stage(writer.kernel, transaction, {"p=1": ["late"]})
        transaction.commit()
    merge(kernel, NAME, {"p=2": ["newest"]})
    writer.late.arrive()
    assert rows_of(kernel, NAME)["p=2"] == ["old"]
    overwrite(kernel, NAME, "p=3", "other")
    assert rows_of(kernel, NAME) == {"p=1": ["late"], "p=2": ["newest"], "p=3": ["other"]}
    assert_whole(kernel, NAME)


@pytest.mark.parametrize("reads", [True, False])
def test_a_partition_that_a_late_call_has_dropped_is_there_again(
    world: World, kernel: Kernel, writer: Writer, reads: bool
) -> None:
    """It is not taken for one that another program has dropped."""
    create(kernel, NAME, {"p=1": ["old"], "p=2": ["old"]})
    writer.late.lose("drop_partition")
    remove(writer.kernel, NAME, "p=1")
    merge(kernel, NAME, {"p=1": ["newest"]})
    writer.late.arrive()
    assert rows_of(kernel, NAME) == {"p=2": ["old"]}
    if reads:
        with kernel.begin(NAME, "merge") as transaction:
            transaction.read()
    else:
        overwrite(kernel, NAME, "p=2", "old")
    assert rows_of(kernel, NAME) == {"p=1": ["newest"], "p=2": ["old"]}
    assert_whole(kernel, NAME)


def test_a_partition_whose_files_are_gone_was_dropped_by_another_program(
    world: World, kernel: Kernel, writer: Writer
) -> None:
    create(kernel, NAME, {"p=1": ["old"], "p=2": ["old"]})
    writer.late.lose("drop_partition")
    remove(writer.kernel, NAME, "p=1")
    merge(kernel, NAME, {"p=1": ["newest"]})
    place = locations(kernel, NAME)["p=1"]
    kernel.metastore.drop_partition(NAME, ["1"])
    kernel.files.delete(place)
    kernel.recover(NAME)
    assert rows_of(kernel, NAME) == {"p=2": ["old"]}
    assert_whole(kernel, NAME)


def test_rows_that_a_late_call_adds_after_a_compaction_go_with_the_next_commit(
    world: World, kernel: Kernel, writer: Writer
) -> None:
    create_appendable(kernel, NAME, {"p=1": ["one"]})
    writer.late.lose("add_partitions")
    append(writer.kernel, NAME, {"p=1": ["late"]})
    append(kernel, NAME, {"p=1": ["three"]})
    compact(kernel, NAME)
    expected = [["late", "one", "three"]]
    assert list(rows_of(kernel, NAME).values()) == expected
    writer.late.arrive()
    assert list(rows_of(kernel, NAME).values()) != expected
    append(kernel, NAME, {"p=2": ["other"]})
    assert sorted(text for rows in rows_of(kernel, NAME).values() for text in rows) == [
        "late",
        "one",
        "other",
        "three",
    ]
    assert_whole(kernel, NAME)


def test_what_puts_a_late_swap_right_may_be_late_itself(world: World, kernel: Kernel, writer: Writer) -> None:
    create(kernel, NAME, {"p=1": ["old"], "p=2": ["old"]})
    writer.late.lose("alter_partitions")
    merge(writer.kernel, NAME, {"p=1": ["late"]})
    merge(kernel, NAME, {"p=1": ["newer"]})
    writer.late.arrive()
    mender = Writer(world)
    mender.late.lose("alter_partitions", times=100)
    with pytest.raises(Exception, match="answer"):
        mender.kernel.recover(NAME)
    mender.die()
    world.timeline.pass_by(0.9 * DAY)
    merge(kernel, NAME, {"p=1": ["newest"]})
    mender.late.arrive()
    assert rows_of(kernel, NAME)["p=1"] == ["newer"]
    overwrite(kernel, NAME, "p=2", "other")
    assert rows_of(kernel, NAME) == {"p=1": ["newest"], "p=2": ["other"]}
    assert_whole(kernel, NAME)


def test_when_all_goes_well_nothing_is_noted(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    merge(kernel, NAME, {"p=1": ["new"]})
    remove(kernel, NAME, "p=1")
    assert UNSURE not in kernel.table(NAME).parameters


def test_what_is_too_old_is_forgotten_with_the_next_note(
    world: World, kernel: Kernel, writer: Writer
) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    for text in ("one", "two", "three"):
        writer.late.lose("alter_partitions")
        merge(writer.kernel, NAME, {"p=1": [text]})
    assert len(kernel.table(NAME).parameters[UNSURE].split()) == 3
    world.timeline.pass_by(DAY + 1)
    writer.late.lose("alter_partitions")
    merge(writer.kernel, NAME, {"p=1": ["four"]})
    assert len(kernel.table(NAME).parameters[UNSURE].split()) == 1


def test_many_unanswered_calls_take_no_more_room_than_a_parameter_has(
    world: World, kernel: Kernel, writer: Writer
) -> None:
    create(kernel, NAME, {"p=1": ["old"], "p=2": ["old"]})
    for number in range(60):
        writer.late.lose("alter_partitions")
        merge(writer.kernel, NAME, {"p=1": [str(number)]})
    assert len(kernel.table(NAME).parameters[UNSURE]) < 4000
    writer.late.arrive()
    overwrite(kernel, NAME, "p=2", "other")
    assert rows_of(kernel, NAME) == {"p=1": ["59"], "p=2": ["other"]}


def test_side_data_that_the_metastore_refuses_to_show_again_is_an_error(
    world: World, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless the table has moved on: then it is shown by others."""
    create(kernel, NAME, {"p=1": ["one"]})
    ingest(kernel, NAME, {"p=2": ["two"]}, "rejected")
    state = kernel.open(NAME)
    quarantine = SIDE_TABLES["quarantine"].name_of(NAME)
    world.metastore.drop_table(quarantine)

    def refuse(table: HiveTable) -> None:
        raise Refused("create_table", "MetaException", "no privilege")

    with monkeypatch.context() as patch:
        patch.setattr(world.metastore, "create_table", refuse)
        with pytest.raises(Refused, match="no privilege"):
            kernel.roll_forward.show_side_data(state)
    merge(kernel, NAME, {"p=1": ["new"]})
    world.metastore.drop_table(quarantine)
    monkeypatch.setattr(world.metastore, "create_table", refuse)
    kernel.roll_forward.show_side_data(state)


def test_a_dry_run_does_not_count_what_a_late_swap_leads_readers_to(
    world: World, kernel: Kernel, writer: Writer
) -> None:
    create(kernel, NAME, {"p=1": ["old"], "p=2": ["old"]})
    writer.late.lose("alter_partitions")
    merge(writer.kernel, NAME, {"p=1": ["late"]})
    merge(kernel, NAME, {"p=1": ["newest"]})
    vacuum(kernel, NAME, dry_run=False)  # from now on nobody finds the version before
    world.timeline.pass_by(10 * DAY)
    assert any("data" in item.path for item in vacuum(kernel, NAME))
    writer.late.arrive()
    shown = locations(kernel, NAME)["p=1"]
    assert rows_of(kernel, NAME)["p=1"] == ["late"]
    assert not [item for item in vacuum(kernel, NAME) if shown.startswith(item.path)]


def test_a_late_swap_of_a_version_that_is_vacuumed_is_put_right(
    world: World, kernel: Kernel, writer: Writer
) -> None:
    """What its calls could have touched is not known any more, so all partitions are looked at."""
    create(kernel, NAME, {"p=1": ["old"], "p=2": ["old"], "p=3": ["old"]})
    writer.late.lose("alter_partitions")
    merge(writer.kernel, NAME, {"p=1": ["late"]})
    merge(kernel, NAME, {"p=1": ["newest"]})
    for _ in range(3):
        world.timeline.pass_by(DAY / 10)
        vacuum(kernel, NAME, retention=timedelta(hours=1), dry_run=False, allow_short_retention=True)
    assert len(history(kernel, NAME)) == 1
    assert kernel.table(NAME).parameters[UNSURE]
    writer.late.arrive()
    overwrite(kernel, NAME, "p=2", "other")
    assert rows_of(kernel, NAME) == {"p=1": ["newest"], "p=2": ["other"], "p=3": ["old"]}


def test_what_another_program_moves_while_a_call_may_come_stays_where_it_is(
    world: World, kernel: Kernel, writer: Writer
) -> None:
    create(kernel, NAME, {"p=1": ["old"], "p=2": ["old"]})
    writer.late.lose("alter_partitions")
    merge(writer.kernel, NAME, {"p=1": ["late"]})
    place = f"{kernel.default_root(NAME)}/by-hand"
    world.files.write_text(f"{place}/part-0.orc", "by hand")
    (row,) = world.metastore.partitions(NAME, ["p=1"])
    world.metastore.alter_partitions(NAME, [moved(row, place)])
    overwrite(kernel, NAME, "p=2", "other")
    assert locations(kernel, NAME)["p=1"] == place
    assert rows_of(kernel, NAME) == {"p=1": ["by hand"], "p=2": ["other"]}


def test_side_data_that_late_calls_may_have_changed_is_shown_again_by_a_vacuum(
    world: World, kernel: Kernel, writer: Writer
) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    writer.late.lose("add_partitions")
    ingest(writer.kernel, NAME, {"p=2": ["new"]}, "refused")
    quarantine = SIDE_TABLES["quarantine"].name_of(NAME)
    names = world.metastore.partition_names(quarantine)
    for name in names:
        world.metastore.drop_partition(quarantine, partition_values(name))
    vacuum(kernel, NAME, dry_run=False)
    assert names
    assert world.metastore.partition_names(quarantine) == names
