"""When a table changed last: by its commits, and by the times of the files that others wrote."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping
from dataclasses import replace

import pytest

from kernel.support import (
    append,
    compact,
    create,
    create_appendable,
    locations,
    make_plain,
    merge,
    settled,
    stage,
)
from lakemerge.errors import TableNotFound, UnsupportedTable
from lakemerge.kernel import Kernel, TableName
from lakemerge.kernel.maintenance.freshness import last_change
from lakemerge.kernel.table.manifest import ALTERATION

PARTS = {"p=1": ["a"], "p=2": ["b"]}
DAY = 86_400


def at(seconds: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(seconds, tz=datetime.timezone.utc)


def committed(kernel: Kernel, name: TableName) -> datetime.datetime:
    return datetime.datetime.fromisoformat(kernel.manifest(settled(kernel, name)).committed_at)


def touch(kernel: Kernel, name: TableName, partition: str, seconds: int, file: str = "part-0.orc") -> None:
    """Write a file as another program does, at that time."""
    path = f"{locations(kernel, name)[partition]}/{file}"
    kernel.files.write_text(path, f"written at {seconds}")
    os.utime(path.removeprefix("file:"), (seconds, seconds))


@pytest.mark.parametrize("rows", [{"": ["a"]}, PARTS])
@pytest.mark.usefixtures("local_files")
def test_of_a_plain_table_the_newest_file_tells(
    kernel: Kernel, name: TableName, rows: Mapping[str, list[str]]
) -> None:
    make_plain(kernel, name, rows)
    for number, partition in enumerate(rows, 10):
        touch(kernel, name, partition, number * DAY)
        touch(kernel, name, partition, 90 * DAY, "_SUCCESS")
    assert last_change(kernel, name) == at((9 + len(rows)) * DAY)
    assert "lakemerge.version" not in kernel.table(name).parameters
    # adopted as it is, which changes no row
    kernel.open(name)
    assert last_change(kernel, name) == at((9 + len(rows)) * DAY)
    # the same rows in newer files: that they were there at the adoption is all that is known then
    adopted = committed(kernel, name)
    txn = kernel.begin(name, ALTERATION)
    txn.read()
    stage(kernel, txn, rows)
    txn.commit()
    touch(kernel, name, next(iter(rows)), int(adopted.timestamp()) - DAY)
    assert last_change(kernel, name) == adopted


@pytest.mark.usefixtures("local_files")
def test_of_a_table_with_versions_the_commit_tells_and_what_others_wrote_since(
    kernel: Kernel, name: TableName
) -> None:
    create(kernel, name, PARTS)
    merge(kernel, name, {"p=1": ["c"]})
    assert last_change(kernel, name) == committed(kernel, name)
    touch(kernel, name, "p=2", 10 * DAY, "late.orc")
    assert last_change(kernel, name) == committed(kernel, name)
    written = int(committed(kernel, name).timestamp()) + DAY
    touch(kernel, name, "p=2", written, "foreign.orc")
    assert last_change(kernel, name) == at(written)
    # taken in as a version, some time after it was written
    kernel.commit_external_changes(name, None)
    assert last_change(kernel, name) == at(written)
    merge(kernel, name, {"p=2": ["d"]})
    assert last_change(kernel, name) == committed(kernel, name)


def test_commits_that_change_no_row_do_not_count(
    kernel: Kernel, name: TableName, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_appendable(kernel, name, PARTS)
    append(kernel, name, {"p=1": ["c"]})
    before = committed(kernel, name)
    later = before + datetime.timedelta(days=1)

    class Clock(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:  # type: ignore[override]
            return later

    monkeypatch.setattr(datetime, "datetime", Clock)
    compact(kernel, name)
    txn = kernel.begin(name, ALTERATION)
    txn.set_schema([*txn.base.columns] if txn.base else [])
    txn.commit()
    assert committed(kernel, name) == later
    assert last_change(kernel, name) == before


def test_of_a_table_without_files_there_is_only_the_time_of_its_ddl(kernel: Kernel, name: TableName) -> None:
    make_plain(kernel, name, {"": []})
    assert last_change(kernel, name) == at(int(kernel.table(name).parameters["transient_lastDdlTime"]))


def test_views_and_what_is_not_there_are_refused(kernel: Kernel, name: TableName) -> None:
    with pytest.raises(TableNotFound):
        last_change(kernel, name)
    make_plain(kernel, name, {"": ["a"]})
    table = kernel.table(name)
    kernel.metastore.drop_table(name)
    kernel.metastore.create_table(
        replace(table, kind="VIRTUAL_VIEW", storage=replace(table.storage, location=""))
    )
    with pytest.raises(UnsupportedTable, match="loaded_at_field"):
        last_change(kernel, name)
