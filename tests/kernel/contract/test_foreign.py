"""Other programs write into a table without a claim: what they did is taken in or a conflict, never lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kernel.sites import Site
from kernel.support import (
    WIDER_COLUMNS,
    add_plain_partition,
    assert_nothing_orphaned,
    assert_whole,
    create,
    locations,
    make_plain,
    merge,
    rows_of,
    settled,
    stage,
)
from lakemerge.errors import CommitConflict, ForeignWrite, UnsupportedTable
from lakemerge.kernel import Kernel, Settings, TableName
from lakemerge.kernel.maintenance.history import history
from lakemerge.kernel.table.definition import moved, stored_as, with_parameters

ROWS = {"p=1": ["a1"], "p=2": ["a2"]}


def insert(kernel: Kernel, name: TableName) -> None:
    """A file more where partition 1 (or the whole table) is now."""
    where = locations(kernel, name)
    kernel.files.write_text(f"{where.get('p=1') or where['']}/foreign.orc", "foreign")


def overwrite(kernel: Kernel, name: TableName) -> None:
    """The same file with other content."""
    where = locations(kernel, name)
    kernel.files.write_text(f"{where.get('p=1') or where['']}/part-0.orc", "foreign, longer")


def delete(kernel: Kernel, name: TableName) -> None:
    """The file of partition 1 (or of the whole table) is gone."""
    where = locations(kernel, name)
    kernel.files.delete(f"{where.get('p=1') or where['']}/part-0.orc")


def add(kernel: Kernel, name: TableName) -> None:
    """A new partition, with its files where Hive puts them."""
    location = f"{kernel.default_root(name)}/p=3"
    kernel.files.write_text(f"{location}/foreign.orc", "foreign")
    add_plain_partition(kernel, name, "p=3", location)


def drop(kernel: Kernel, name: TableName) -> None:
    """Partition 1 is dropped, and its files stay as in an external table."""
    kernel.metastore.drop_partition(name, ["1"])


def relocate(kernel: Kernel, name: TableName) -> None:
    """Partition 1 (or the whole table) points elsewhere."""
    location = f"{kernel.default_root(name)}_elsewhere"
    kernel.files.write_text(f"{location}/foreign.orc", "foreign")
    table = kernel.table(name)
    if table.partitioned:
        (partition,) = kernel.metastore.partitions(name, ["p=1"])
        kernel.metastore.alter_partitions(name, [moved(partition, location)])
    else:
        kernel.metastore.alter_table(name, moved(table, location))


Write = Callable[[Kernel, TableName], None]
PARTITIONED: dict[str, tuple[Write, dict[str, list[str]]]] = {
    "insert": (insert, {"p=1": ["a1", "foreign"], "p=2": ["a2"]}),
    "overwrite": (overwrite, {"p=1": ["foreign, longer"], "p=2": ["a2"]}),
    "delete": (delete, {"p=2": ["a2"]}),
    "add": (add, {**ROWS, "p=3": ["foreign"]}),
    "drop": (drop, {"p=2": ["a2"]}),
    "relocate": (relocate, {"p=1": ["foreign"], "p=2": ["a2"]}),
}
WHOLE: dict[str, tuple[Write, dict[str, list[str]]]] = {
    "insert": (insert, {"": ["a", "foreign"]}),
    "overwrite": (overwrite, {"": ["foreign, longer"]}),
    "delete": (delete, {}),
    "relocate": (relocate, {"": ["foreign"]}),
}
EVERY = [("partitioned", kind) for kind in PARTITIONED] + [("whole", kind) for kind in WHOLE]


def prepare(kernel: Kernel, name: TableName, shape: str, kind: str) -> tuple[Write, dict[str, list[str]]]:
    create(kernel, name, ROWS if shape == "partitioned" else {"": ["a"]})
    return PARTITIONED[kind] if shape == "partitioned" else WHOLE[kind]


@pytest.mark.parametrize(("shape", "kind"), EVERY)
def test_a_foreign_write_before_reading_becomes_a_version(
    shape: str, kind: str, kernel: Kernel, name: TableName, caplog: pytest.LogCaptureFixture
) -> None:
    write, rows = prepare(kernel, name, shape, kind)
    write(kernel, name)
    txn = kernel.begin(name, "merge")
    txn.read()
    txn.abort()
    assert rows_of(kernel, name) == rows
    manifest = assert_whole(kernel, name)
    assert (manifest.version, manifest.operation) == (2, "foreign")
    assert "changed by another program" in caplog.text
    assert [commit.version for commit in history(kernel, name)] == [2, 1]


@pytest.mark.parametrize(("shape", "kind"), EVERY)
def test_a_foreign_write_after_reading_is_a_conflict(
    shape: str, kind: str, kernel: Kernel, name: TableName
) -> None:
    write, rows = prepare(kernel, name, shape, kind)
    txn = kernel.begin(name, "merge")
    txn.read()
    write(kernel, name)
    stage(kernel, txn, {"p=1": ["mine"], "p=3": ["mine"]} if shape == "partitioned" else {"": ["mine"]})
    with pytest.raises(CommitConflict, match="another program"):
        txn.commit()
    txn.abort()
    assert rows_of(kernel, name) == rows
    # done again, it builds on what the other program wrote
    kernel.recover(name)
    assert rows_of(kernel, name) == rows
    assert_whole(kernel, name)


@pytest.mark.parametrize("shape", ["partitioned", "whole"])
def test_files_that_come_after_the_last_look_are_taken_in(
    shape: str, kernel: Kernel, site: Site, name: TableName, caplog: pytest.LogCaptureFixture
) -> None:
    write, _ = prepare(kernel, name, shape, "insert")

    def step(done: str) -> None:
        if done == "manifest written" and settled(kernel, name).version == 1:
            write(kernel, name)

    part = "p=1" if shape == "partitioned" else ""
    assert merge(Kernel(site.ports(), step=step), name, {part: ["mine"]}) == 2
    assert rows_of(kernel, name)[part] == ["foreign", "mine"]
    assert [commit.operation for commit in history(kernel, name)] == ["foreign", "merge", "create"]
    assert "after a commit had superseded it; they are taken in" in caplog.text
    assert_nothing_orphaned(kernel, name)


def test_a_partition_made_by_hand_after_it_was_read_as_absent(kernel: Kernel, name: TableName) -> None:
    create(kernel, name, ROWS)
    txn = kernel.begin(name, "merge")
    txn.read(["p=3"])
    add(kernel, name)
    stage(kernel, txn, {"p=3": ["mine"]})
    with pytest.raises(CommitConflict, match="p=3"):
        txn.commit()
    txn.abort()
    assert rows_of(kernel, name)["p=3"] == ["foreign"]


def test_a_foreign_write_elsewhere_is_no_conflict(kernel: Kernel, name: TableName) -> None:
    create(kernel, name, ROWS)
    txn = kernel.begin(name, "merge")
    txn.read(["p=2"])
    insert(kernel, name)
    stage(kernel, txn, {"p=2": ["mine"]})
    assert txn.commit() == 2
    assert rows_of(kernel, name) == {"p=1": ["a1", "foreign"], "p=2": ["mine"]}
    assert kernel.recover(name) == ["took in 1 partitions changed by another program (adopt)"]
    assert_whole(kernel, name)


@pytest.mark.parametrize(
    ("shape", "kind"), [("partitioned", "insert"), ("partitioned", "drop"), ("whole", "relocate")]
)
def test_the_policy_fail_refuses_and_changes_nothing(
    shape: str, kind: str, kernel: Kernel, site: Site, name: TableName
) -> None:
    write, rows = prepare(kernel, name, shape, kind)
    write(kernel, name)
    txn = Kernel(site.ports(), Settings(on_foreign_write="fail")).begin(name, "merge")
    with pytest.raises(ForeignWrite, match="on_foreign_write: adopt"):
        txn.read()
    txn.abort()
    assert settled(kernel, name).version == 1
    assert rows_of(kernel, name) == rows


def test_columns_added_by_another_program_are_taken_in(kernel: Kernel, name: TableName) -> None:
    create(kernel, name, ROWS)
    kernel.metastore.alter_table(name, stored_as(kernel.table(name), WIDER_COLUMNS, "orc"))
    txn = kernel.begin(name, "merge")
    txn.read(["p=1"])
    assert txn.base is not None
    assert txn.base.columns == WIDER_COLUMNS
    stage(kernel, txn, {"p=1": ["wider"]})
    assert txn.commit() == 3
    assert kernel.table(name).columns == WIDER_COLUMNS


@pytest.mark.parametrize("rows", [ROWS, {"": ["a"]}], ids=["partitioned", "whole"])
def test_a_plain_table_is_adopted_as_it_is(
    rows: dict[str, list[str]], kernel: Kernel, name: TableName, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="lakemerge")
    make_plain(kernel, name, rows)
    before = locations(kernel, name)
    assert kernel.open(name).version == 0
    assert locations(kernel, name) == before
    assert rows_of(kernel, name) == rows
    assert "adopted as version 0" in caplog.text
    first = next(iter(rows))
    assert merge(kernel, name, {first: ["new"]}) == 1
    assert rows_of(kernel, name) == {**rows, first: ["new"]}
    assert_nothing_orphaned(kernel, name)


def test_two_adopt_at_once(kernel: Kernel, site: Site, name: TableName) -> None:
    make_plain(kernel, name, ROWS)
    table = kernel.table(name)
    assert kernel.external.adopt(table)
    assert not Kernel(site.ports()).external.adopt(table)
    assert kernel.open(name).version == 0
    assert_whole(kernel, name)


def test_what_is_no_plain_table_is_left_alone(kernel: Kernel, name: TableName) -> None:
    make_plain(kernel, name, ROWS)
    kernel.metastore.alter_table(name, with_parameters(kernel.table(name), {"table_type": "ICEBERG"}))
    before = kernel.table(name)
    with pytest.raises(UnsupportedTable, match="iceberg"):
        kernel.begin(name, "merge")
    assert kernel.table(name) == before
    assert not kernel.files.exists(f"{before.location}/_lakemerge")
