"""What the kernel builds on: the real ports and those in memory give the same answers to the same calls."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from lakemerge.errors import StorageError
from lakemerge.kernel import HiveColumn, Ports, TableDefinition, TableName, ports_of
from lakemerge.kernel.jvm import metastore
from lakemerge.kernel.ports.metastore import DDL_TIME, HiveTable, Refused, Storage, ValueChanged
from lakemerge.kernel.table.definition import (
    VERSION,
    moved,
    new_partition,
    new_table,
    stored_as,
    with_parameters,
    with_statistics,
)
from lakemerge.testing import memory_ports

COLUMNS = (HiveColumn("a", "string", 'the first, it\'s "quoted" \\ and naïve'), HiveColumn("b", "int"))
KEYS = (HiveColumn("p", "string"),)
_NUMBERS = itertools.count(1)


@pytest.fixture(params=["memory", "jvm", pytest.param("postgres_jvm", marks=pytest.mark.slow)])
def ports(request: pytest.FixtureRequest) -> Ports:
    """In memory, and on metastores over Derby and over PostgreSQL."""
    return memory_ports() if request.param == "memory" else ports_of(request.getfixturevalue(request.param))


@pytest.fixture
def root(ports: Ports) -> Iterator[str]:
    """A folder of a test's own."""
    base = ports.metastore.database_location("default")
    folder = ports.files.qualify(f"{base.rstrip('/')}/ports{next(_NUMBERS)}")
    yield folder
    ports.files.delete(folder)


@pytest.fixture
def table(ports: Ports, root: str) -> HiveTable:
    """A partitioned table with version 7, as the metastore gives it back."""
    name = TableName("default", root.rpartition("/")[2])
    row = new_table(TableDefinition(name, COLUMNS, KEYS, owner="me"), root, root)
    ports.files.make_directory(root)
    ports.metastore.create_table(with_parameters(row, {VERSION: "7", "text": "line\nline\ttab \x01 é 😀"}))
    found = ports.metastore.get_table(name)
    assert found is not None
    return found


class TestTables:
    @pytest.mark.usefixtures("derby")
    def test_a_row_comes_back_as_it_was_made(self, ports: Ports, table: HiveTable, root: str) -> None:
        assert (table.columns, table.partition_columns, table.owner) == (COLUMNS, KEYS, "me")
        assert table.kind == "MANAGED_TABLE"
        assert table.location == root
        assert table.parameters["text"] == "line\nline\ttab \x01 é 😀"
        assert ports.metastore.tables("default", [table.name.name, "none_such"]) == [table]
        assert table.name.name in [one.name for one in ports.metastore.table_summaries("default")]
        by_pattern = ports.metastore.table_summaries("default", f"{table.name.name[:-1]}*")
        assert table.name.name in [one.name for one in by_pattern]
        assert ports.metastore.table_summaries("default", f"{table.name.name}_*") == []

    def test_what_is_not_there(self, ports: Ports) -> None:
        name = TableName("default", "none_such")
        assert ports.metastore.get_table(name) is None
        ports.metastore.drop_table(name)
        with pytest.raises(Refused):
            ports.metastore.alter_table(name, HiveTable(name, "MANAGED_TABLE", stored_as_orc()))

    def test_a_name_is_taken_once(self, ports: Ports, table: HiveTable) -> None:
        with pytest.raises(Refused) as caught:
            ports.metastore.create_table(table)
        assert caught.value.kind == "AlreadyExistsException"
        assert ports.metastore.get_table(table.name) == table

    @pytest.mark.usefixtures("compares")
    def test_a_row_is_altered_if_a_parameter_is_as_expected(self, ports: Ports, table: HiveTable) -> None:
        after = with_parameters(table, {VERSION: "8"})
        with pytest.raises(ValueChanged):
            ports.metastore.alter_table(table.name, after, expected=(VERSION, "6"))
        assert ports.metastore.get_table(table.name) == table
        ports.metastore.alter_table(table.name, after, expected=(VERSION, "7"))
        found = ports.metastore.get_table(table.name)
        assert found is not None
        assert found.parameters[VERSION] == "8"

    def test_a_row_keeps_the_time_that_it_is_made_with(
        self, ports: Ports, table: HiveTable, root: str
    ) -> None:
        assert int(table.parameters[DDL_TIME]) > 1
        name = TableName("default", f"{table.name.name}_timed")
        ports.metastore.create_table(with_parameters(replace(table, name=name), {DDL_TIME: "1"}))
        made = ports.metastore.get_table(name)
        assert made is not None
        assert made.parameters[DDL_TIME] == "1"
        ports.metastore.alter_table(name, with_parameters(made, {"text": "new"}))
        altered = ports.metastore.get_table(name)
        assert altered is not None
        assert altered.parameters[DDL_TIME] == "1"

    def test_a_parameter_that_is_left_out_is_gone(self, ports: Ports, table: HiveTable) -> None:
        kept = {key: value for key, value in table.parameters.items() if key != "text"}
        ports.metastore.alter_table(table.name, replace(table, parameters=kept))
        found = ports.metastore.get_table(table.name)
        assert found is not None
        assert "text" not in found.parameters

    def test_columns_may_be_added_and_partition_columns_not(self, ports: Ports, table: HiveTable) -> None:
        wider = stored_as(table, (*COLUMNS, HiveColumn("c", "double")), "orc")
        ports.metastore.alter_table(table.name, wider)
        found = ports.metastore.get_table(table.name)
        assert found is not None
        assert found.columns == wider.columns
        with pytest.raises(Refused):
            ports.metastore.alter_table(
                table.name, replace(wider, partition_columns=(*KEYS, HiveColumn("q", "int")))
            )
        with pytest.raises(Refused):
            ports.metastore.alter_table(table.name, stored_as(table, tuple(reversed(COLUMNS)), "orc"))

    @pytest.mark.usefixtures("compares")
    def test_a_table_is_renamed_with_its_partitions_and_without_its_files(
        self, ports: Ports, table: HiveTable, root: str
    ) -> None:
        ports.files.write_text(f"{root}/p=1/file", "x")
        ports.metastore.add_partitions(table.name, [new_partition(table, ["1"], f"{root}/p=1")])
        aside = TableName("default", f"{table.name.name}_aside")
        renamed = moved(replace(with_parameters(table, {VERSION: "8"}), name=aside), f"{root}/elsewhere")
        with pytest.raises(ValueChanged):
            ports.metastore.alter_table(table.name, renamed, expected=(VERSION, "6"))
        assert ports.metastore.get_table(aside) is None
        ports.metastore.alter_table(table.name, renamed, expected=(VERSION, "7"))
        assert ports.metastore.get_table(table.name) is None
        found = ports.metastore.get_table(aside)
        assert found is not None
        assert (found.location, found.parameters[VERSION]) == (f"{root}/elsewhere", "8")
        assert [one.location for one in ports.metastore.partitions(aside, ["p=1"])] == [f"{root}/p=1"]
        assert ports.files.read_text(f"{root}/p=1/file") == "x"
        with pytest.raises(Refused):  # it was renamed already
            ports.metastore.alter_table(table.name, renamed, expected=(VERSION, "7"))
        ports.metastore.create_table(table)
        with pytest.raises(Refused):  # the name is taken
            ports.metastore.alter_table(
                aside, moved(replace(found, name=table.name), root), expected=(VERSION, "8")
            )
        ports.metastore.drop_table(aside)
        assert ports.metastore.get_table(table.name) is not None
        assert ports.files.read_text(f"{root}/p=1/file") == "x"

    @pytest.mark.usefixtures("compares")
    @pytest.mark.parametrize("keys", [(), KEYS], ids=["whole", "partitioned"])
    def test_the_row_of_a_view_becomes_that_of_a_table(
        self, ports: Ports, root: str, keys: tuple[HiveColumn, ...]
    ) -> None:
        name = TableName("default", root.rpartition("/")[2])
        view = HiveTable(name, "VIRTUAL_VIEW", Storage(columns=COLUMNS[1:]), view_text="select 1 as b")
        ports.metastore.create_table(with_parameters(view, {"of": "view"}))
        before = ports.metastore.get_table(name)
        assert before is not None
        time = before.parameters[DDL_TIME]
        row = new_table(TableDefinition(name, COLUMNS, keys), root, root)
        row = with_parameters(row, {VERSION: "1", DDL_TIME: str(int(time) + 1)})
        with pytest.raises(ValueChanged):
            ports.metastore.alter_table(name, row, expected=(DDL_TIME, "1"))
        assert ports.metastore.get_table(name) == before
        ports.metastore.alter_table(name, row, expected=(DDL_TIME, time))
        found = ports.metastore.get_table(name)
        assert found is not None
        assert (found.kind, found.columns, found.partition_columns) == ("MANAGED_TABLE", COLUMNS, keys)
        assert (found.location, found.view_text) == (root, "")
        assert found.parameters[DDL_TIME] == str(int(time) + 1)
        assert "of" not in found.parameters
        if keys:
            ports.metastore.add_partitions(name, [new_partition(found, ["1"], f"{root}/p=1")])
            assert ports.metastore.partition_names(name) == ["p=1"]
        ports.metastore.drop_table(name)

    def test_a_view_is_renamed(self, ports: Ports, root: str) -> None:
        name = TableName("default", root.rpartition("/")[2])
        aside = TableName("default", f"{name.name}_aside")
        ports.metastore.create_table(
            HiveTable(name, "VIRTUAL_VIEW", Storage(columns=COLUMNS), view_text="select 1")
        )
        view = ports.metastore.get_table(name)
        assert view is not None
        ports.metastore.alter_table(
            name, replace(view, name=aside), expected=(DDL_TIME, view.parameters[DDL_TIME])
        )
        assert ports.metastore.get_table(name) is None
        ports.metastore.drop_table(aside)
        assert ports.metastore.get_table(aside) is None


def stored_as_orc() -> Any:
    return new_table(TableDefinition(TableName("x", "x"), COLUMNS), "", "").storage


class TestPartitions:
    def test_they_are_added_once_and_altered_together(
        self, ports: Ports, table: HiveTable, root: str
    ) -> None:
        rows = [new_partition(table, [value], f"{root}/{number}") for number, value in enumerate("ab/")]
        assert ports.metastore.add_partitions(table.name, rows[:2]) == 2
        assert ports.metastore.add_partitions(table.name, rows) == 1
        assert ports.metastore.partition_names(table.name) == ["p=%2F", "p=a", "p=b"]
        found = ports.metastore.partitions(table.name, ["p=b", "p=a", "p=none"])
        assert sorted(one.values for one in found) == [("a",), ("b",)]
        assert {one.location for one in found} == {f"{root}/0", f"{root}/1"}
        assert found[0].storage.columns == COLUMNS
        ports.metastore.alter_partitions(
            table.name, [with_statistics(moved(one, f"{root}/new"), files=2, size=3) for one in found]
        )
        found = ports.metastore.partitions(table.name, ["p=b", "p=a"])
        assert [(one.location, one.parameters["totalSize"]) for one in found] == [(f"{root}/new", "3")] * 2

    def test_many_are_read_in_parts(
        self, ports: Ports, table: HiveTable, root: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(metastore, "_FIRST_PARTITIONS", 5)
        monkeypatch.setattr(metastore, "_BYTES_OF_ANSWER", 20_000)
        names = [f"p={number}" for number in range(60)]
        rows = [new_partition(table, [name[2:]], f"{root}/{name}") for name in names]
        ports.metastore.add_partitions(table.name, rows)
        found = ports.metastore.partitions(table.name, [*names, "p=none"])
        assert sorted(one.location for one in found) == sorted(f"{root}/{name}" for name in names)
        ports.metastore.delete_partition_column_statistics(table.name, names, ["a", "b"])

    def test_one_that_is_missing_keeps_all_from_being_altered(
        self, ports: Ports, table: HiveTable, root: str
    ) -> None:
        present, missing = (new_partition(table, [value], f"{root}/{value}") for value in "ab")
        ports.metastore.add_partitions(table.name, [present])
        with pytest.raises(Refused):
            ports.metastore.alter_partitions(table.name, [moved(present, f"{root}/new"), missing])
        (found,) = ports.metastore.partitions(table.name, ["p=a"])
        assert found.location == f"{root}/a"

    def test_they_are_dropped_without_their_files(self, ports: Ports, table: HiveTable, root: str) -> None:
        ports.files.write_text(f"{root}/a/file", "x")
        ports.metastore.add_partitions(table.name, [new_partition(table, ["a"], f"{root}/a")])
        ports.metastore.drop_partition(table.name, ["a"])
        ports.metastore.drop_partition(table.name, ["a"])
        assert ports.metastore.partition_names(table.name) == []
        assert ports.files.read_text(f"{root}/a/file") == "x"

    def test_nothing_asked_is_nothing_done(self, ports: Ports, table: HiveTable) -> None:
        assert ports.metastore.partitions(table.name, []) == []
        assert ports.metastore.add_partitions(table.name, []) == 0
        ports.metastore.alter_partitions(table.name, [])
        ports.metastore.delete_partition_column_statistics(table.name, [], ["a"])
        ports.metastore.delete_table_column_statistics(table.name)


class TestLocks:
    def test_one_has_it_at_a_time(self, ports: Ports, table: HiveTable) -> None:
        first = ports.metastore.lock(table.name, user="one", host="here")
        second = ports.metastore.lock(table.name, user="two", host="here")
        assert ports.metastore.lock_acquired(first)
        assert not ports.metastore.lock_acquired(second)
        ports.metastore.unlock(first)
        assert ports.metastore.lock_acquired(second)
        ports.metastore.unlock(second)


class TestFiles:
    def test_what_is_written_is_read(self, ports: Ports, root: str) -> None:
        ports.files.write_text(f"{root}/a/b.txt", "naïve\nline")
        assert ports.files.read_text(f"{root}/a/b.txt") == "naïve\nline"
        ports.files.write_text(f"{root}/a/b.txt", "other")
        assert ports.files.read_text(f"{root}/a/b.txt") == "other"
        assert ports.files.exists(f"{root}/a")
        assert ports.files.exists(f"{root}/a/b.txt")
        assert not ports.files.exists(f"{root}/b")

    def test_listings(self, ports: Ports, root: str) -> None:
        ports.files.write_text(f"{root}/b", "four")
        ports.files.write_text(f"{root}/a/c", "")
        ports.files.make_directory(f"{root}/empty")
        found = {entry.name: (entry.size, entry.is_directory) for entry in ports.files.list(root)}
        assert found == {"a": (0, True), "b": (4, False), "empty": (0, True)}
        assert ports.files.list(f"{root}/empty") == []
        assert ports.files.list(f"{root}/none") == []
        assert [entry.path for entry in ports.files.list(f"{root}/b")] == [f"{root}/b"]
        assert sorted(entry.path for entry in ports.files.walk(root)) == [f"{root}/a/c", f"{root}/b"]
        assert [entry.path for entry in ports.files.glob(f"{root}/*/c")] == [f"{root}/a/c"]

    def test_deleting(self, ports: Ports, root: str) -> None:
        ports.files.write_text(f"{root}/a/b/c", "x")
        ports.files.delete(f"{root}/a")
        ports.files.delete(f"{root}/a")
        assert not ports.files.exists(f"{root}/a/b/c")
        assert ports.files.list(root) == []

    def test_deleting_what_is_empty(self, ports: Ports, root: str) -> None:
        ports.files.write_text(f"{root}/a/b", "x")
        assert not ports.files.delete_if_empty(f"{root}/a")
        assert ports.files.read_text(f"{root}/a/b") == "x"
        ports.files.delete(f"{root}/a/b")
        assert ports.files.delete_if_empty(f"{root}/a")
        assert ports.files.delete_if_empty(f"{root}/a")
        assert ports.files.list(root) == []

    def test_a_missing_file(self, ports: Ports, root: str) -> None:
        with pytest.raises(FileNotFoundError):
            ports.files.read_text(f"{root}/none")

    def test_a_file_is_no_folder(self, ports: Ports, root: str) -> None:
        if root.startswith("s3a:"):
            pytest.skip("a store has no folders: names may go on below a file's")
        ports.files.write_text(f"{root}/a", "x")
        with pytest.raises(StorageError):
            ports.files.write_text(f"{root}/a/b", "x")

    def test_copies_and_parts(self, ports: Ports, root: str) -> None:
        ports.files.write_text(f"{root}/a", "first\nsecond\n")
        ports.files.copy(f"{root}/a", f"{root}/b/c")
        assert ports.files.read_text(f"{root}/b/c") == "first\nsecond\n"
        assert ports.files.first_line(f"{root}/a") == b"first"
        assert ports.files.last_bytes(f"{root}/a", 13, 3) == b"nd\n"

    def test_moving(self, ports: Ports, root: str) -> None:
        ports.files.write_text(f"{root}/a", "x")
        (before,) = ports.files.list(root)
        with pytest.raises(StorageError):
            ports.files.move(f"{root}/a", f"{root}/none/b")
        ports.files.make_directory(f"{root}/c")
        ports.files.move(f"{root}/a", f"{root}/c/b")
        (after,) = ports.files.list(f"{root}/c")
        assert (after.name, after.size) == ("b", 1)
        # a store copies it
        assert after.modified == before.modified or root.startswith("s3a:")
        assert not ports.files.exists(f"{root}/a")
        with pytest.raises(StorageError):
            ports.files.move(f"{root}/a", f"{root}/c/d")
        assert [entry.name for entry in ports.files.list(f"{root}/c")] == ["b"]

    def test_which_files_were_added_to_a_directory(self, ports: Ports, root: str) -> None:
        ports.files.write_text(f"{root}/a/old", "old")
        ports.files.write_text(f"{root}/b", "b")
        before = ports.files.fingerprint(root)
        assert ports.files.added_since(root, before) == []
        ports.files.write_text(f"{root}/a/new", "new")
        ports.files.write_text(f"{root}/_temporary/half", "half")
        added = ports.files.added_since(root, before)
        assert added is not None
        assert [entry.path for entry in added] == [f"{root}/a/new"]
        ports.files.delete(f"{root}/b")
        assert ports.files.added_since(root, before) is None
        ports.files.write_text(f"{root}/c", "another")
        assert ports.files.added_since(root, before) is None

    def test_the_clock_of_the_file_system_goes_forward(self, ports: Ports, root: str) -> None:
        ports.files.write_text(f"{root}/a", "x")
        (entry,) = ports.files.list(root)
        assert ports.files.now(root) >= entry.modified
        assert [one.name for one in ports.files.list(root)] == ["a"]


class TestManyDirectories:
    def test_they_are_listed_together_as_each_alone(self, ports: Ports, root: str) -> None:
        files = ports.files
        folders = [f"{root}/p=a%2Fb, {number} é" for number in range(40)]
        for number, folder in enumerate(folders[:-3]):
            for file in range(number % 3 + 1):
                files.write_text(f"{folder}/part-{file}", "x" * number)
            if number % 5 == 0:
                files.write_text(f"{folder}/nested/deeper/part", "y")
        files.make_directory(folders[-2])
        shuffled = [*folders[::-1], folders[4], f"{folders[1]}/part-0"]
        assert files.list_all([]) == []
        alike = [folders[3], f"{folders[3]}/", folders[4], folders[3]]
        with_a_file = [folders[1], f"{folders[1]}/part-0", folders[2]]
        for wanted in (shuffled, folders[:-3], folders[-2:-1], folders[:2], alike, with_a_file):
            found = files.list_all(wanted)
            assert [sorted(entry.path for entry in one) for one in found] == [
                sorted(entry.path for entry in files.list(path)) for path in wanted
            ]
            assert files.fingerprints(wanted) == [files.fingerprint(path) for path in wanted]
