"""What a consumer finds in its source, and in what it keeps of it."""

from __future__ import annotations

import pytest

from kernel.consuming import consume, consumer_of, texts
from kernel.support import (
    COLUMNS,
    add_plain_partition,
    append,
    compact,
    create_appendable,
    make_plain,
)
from lakemerge.consumer.items import Position
from lakemerge.consumer.sources import source_snapshot
from lakemerge.consumer.working_set import WorkingSet
from lakemerge.errors import ConsumerExpired, UnsupportedTable
from lakemerge.kernel import HiveTable, Kernel, TableName, drop, history
from lakemerge.kernel.ports import Storage
from lakemerge.testing import World

SOURCE, OUTPUT = TableName("s", "raw"), TableName("s", "clean")


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def kernel(world: World) -> Kernel:
    return Kernel(world.process())


def test_a_view_is_no_source(kernel: Kernel) -> None:
    kernel.metastore.create_table(
        HiveTable(SOURCE, "VIRTUAL_VIEW", Storage(columns=COLUMNS), view_text="select 1")
    )
    with pytest.raises(UnsupportedTable, match="a view"):
        source_snapshot(kernel, SOURCE, None, None)


def test_the_next_table_of_the_name_is_another_source(kernel: Kernel) -> None:
    create_appendable(kernel, SOURCE, {"p=1": ["a"]})
    consume(kernel, SOURCE, OUTPUT)
    drop(kernel, SOURCE)
    create_appendable(kernel, SOURCE, {"p=1": ["b"]})
    with pytest.raises(ConsumerExpired, match="dropped and recreated"):
        consume(kernel, SOURCE, OUTPUT)
    consumer_of(kernel, SOURCE, OUTPUT).reset()
    consume(kernel, SOURCE, OUTPUT)
    assert sorted(text.rpartition(" ")[2] for text in texts(kernel, OUTPUT)) == ["a", "b"]


@pytest.mark.parametrize("version", [1, 2])
def test_a_version_that_the_source_does_not_have(kernel: Kernel, version: int) -> None:
    create_appendable(kernel, SOURCE, {"p=1": ["a"]})
    append(kernel, SOURCE, {"p=2": ["b"]})
    with pytest.raises(ConsumerExpired, match="no such version"):
        source_snapshot(kernel, SOURCE, Position(version, "another"), None)


@pytest.mark.parametrize("rows", [{"": ["a"]}, {"p=1": ["a"]}], ids=["whole", "partitioned"])
def test_a_plain_table_is_read_without_partitions_that_have_no_files(
    kernel: Kernel, rows: dict[str, list[str]]
) -> None:
    make_plain(kernel, SOURCE, rows)
    if "" not in rows:
        kernel.files.make_directory(f"{kernel.default_root(SOURCE)}/p=2")
        add_plain_partition(kernel, SOURCE, "p=2", f"{kernel.default_root(SOURCE)}/p=2")
    assert [item.partition for item in source_snapshot(kernel, SOURCE, None, None).items] == list(rows)
    kernel.open(SOURCE)  # adopts it
    assert [item.partition for item in source_snapshot(kernel, SOURCE, None, None).items] == list(rows)


def test_a_consumer_of_a_plain_table_takes_what_is_added(kernel: Kernel) -> None:
    make_plain(kernel, SOURCE, {"p=1": ["a"]})
    consume(kernel, SOURCE, OUTPUT)
    assert consume(kernel, SOURCE, OUTPUT) == []
    kernel.files.write_text(f"{kernel.default_root(SOURCE)}/p=2/part-0.orc", "b")
    add_plain_partition(kernel, SOURCE, "p=2", f"{kernel.default_root(SOURCE)}/p=2")
    assert consume(kernel, SOURCE, OUTPUT) == ["p=2"]
    consumer_of(kernel, SOURCE, OUTPUT).drop()  # it has no versions that could be pinned


def test_a_consumer_that_is_dropped_leaves_those_of_the_same_output(kernel: Kernel) -> None:
    other = TableName("s", "other")
    for source in (SOURCE, other):
        create_appendable(kernel, source, {"p=1": [source.name]})
        consume(kernel, source, OUTPUT)
    working_set = WorkingSet(kernel, OUTPUT)
    assert len(working_set.consumers()) == 2
    consumer_of(kernel, SOURCE, OUTPUT).drop()
    assert [source for source, _ in working_set.read().rows] == [str(other)]
    drop(kernel, other)
    consumer_of(kernel, other, OUTPUT).drop()  # and its source may be gone
    assert not kernel.exists(working_set.name)
    assert working_set.read().rows == {}


def test_old_versions_of_a_working_set_are_removed(world: World, kernel: Kernel) -> None:
    create_appendable(kernel, SOURCE, {"p=1": ["a"]})
    for number in range(40):
        append(kernel, SOURCE, {"p=1": [str(number)]})
        consume(kernel, SOURCE, OUTPUT)
        world.timeline.pass_by(3600)
    assert len(history(kernel, WorkingSet(kernel, OUTPUT).name)) <= 50


def test_what_a_compaction_has_moved_goes_with_the_partition_that_holds_it_now(kernel: Kernel) -> None:
    create_appendable(kernel, SOURCE, {"p=1": ["a"]})
    first = kernel.settled(SOURCE)[1]
    append(kernel, SOURCE, {"p=1": ["b"]})
    append(kernel, SOURCE, {"p=1": ["c"]})
    compact(kernel, SOURCE)
    position = Position(first.version, first.txn)
    assert len(source_snapshot(kernel, SOURCE, position, None).items) == 2
    with kernel.begin(SOURCE, "delete") as transaction:
        transaction.read()
        assert transaction.base is not None
        transaction.remove(transaction.base.partitions)
        transaction.commit()
    assert source_snapshot(kernel, SOURCE, position, None).items == ()


def test_a_first_run_that_failed_binds_nobody_to_its_source(kernel: Kernel) -> None:
    create_appendable(kernel, SOURCE, {"p=1": ["a"]})
    consumer_of(kernel, SOURCE, OUTPUT).claim().fail("its rows are wrong")
    drop(kernel, SOURCE)
    create_appendable(kernel, SOURCE, {"p=2": ["b"]})
    consume(kernel, SOURCE, OUTPUT)
    assert [text.rpartition(" ")[2] for text in texts(kernel, OUTPUT)] == ["b"]
