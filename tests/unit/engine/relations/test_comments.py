from __future__ import annotations

import dataclasses

import pytest

from lakemerge.engine.relations import comments
from lakemerge.errors import TableNotFound
from lakemerge.kernel import Kernel
from lakemerge.kernel.ports.metastore import HiveColumn, HiveTable, Metastore, Storage
from lakemerge.kernel.ports.names import TableName
from lakemerge.kernel.table.definition import with_parameters
from lakemerge.testing import MemoryMetastore, Timeline, memory_ports

NAME = TableName("s", "t")
LONG = "x" * 300


class CommentedMetastore(MemoryMetastore):
    """One table; the first ``conflicts`` changes find another version."""

    def __init__(self, conflicts: int = 0, **parameters: str) -> None:
        super().__init__(Timeline())
        columns = (HiveColumn("id", "int", "old"), HiveColumn("name", "string"))
        self.create_table(
            HiveTable(NAME, "MANAGED_TABLE", Storage(columns), (HiveColumn("day", "int"),), parameters)
        )
        self.conflicts = conflicts
        self.writes: list[tuple[str, str] | None] = []

    def alter_table(
        self, name: TableName, table: HiveTable, *, expected: tuple[str, str] | None = None
    ) -> None:
        if self.conflicts:
            self.conflicts -= 1
            version = str(int(self.table.parameters["lakemerge.version"]) + 1)
            super().alter_table(name, with_parameters(self.table, {"lakemerge.version": version}))
        super().alter_table(name, table, expected=expected)
        self.writes.append(expected)

    @property
    def table(self) -> HiveTable:
        found = self.get_table(NAME)
        assert found is not None
        return found

    @property
    def parameters(self) -> dict[str, str]:
        return {key: value for key, value in self.table.parameters.items() if key != "transient_lastDdlTime"}


def kernel_of(metastore: Metastore) -> Kernel:
    return Kernel(dataclasses.replace(memory_ports(), metastore=metastore))


def set_comments(metastore: Metastore, table: str | None, columns: dict[str, str]) -> bool:
    return comments.set_comments(kernel_of(metastore), NAME, table, columns)


def test_comments_of_the_table_its_columns_and_its_partition_columns() -> None:
    metastore = CommentedMetastore(**{"spark.sql.sources.schema": "{}", "other": "kept"})  # type: ignore[arg-type]
    assert set_comments(metastore, "about", {"ID": "key", "day": "the day"})
    assert [column.comment for column in metastore.table.columns] == ["key", ""]
    assert metastore.table.partition_columns[0].comment == "the day"
    # without Spark's copy of the schema, which has the old comments
    assert metastore.parameters == {"comment": "about", "other": "kept"}
    assert [expected[0] for expected in metastore.writes if expected] == ["transient_lastDdlTime"]


def test_the_same_comments_write_nothing() -> None:
    metastore = CommentedMetastore(comment="about")
    assert not set_comments(metastore, "about", {"id": "old"})
    assert not set_comments(metastore, None, {})
    assert metastore.writes == []


def test_long_comments_are_cut_and_kept_whole_in_a_property() -> None:
    metastore = CommentedMetastore()
    set_comments(metastore, None, {"id": LONG})
    assert len(metastore.table.columns[0].comment) == comments.MAX_COLUMN_COMMENT
    assert metastore.parameters["lakemerge.comment.id"] == LONG
    set_comments(metastore, None, {"id": "short"})
    assert "lakemerge.comment.id" not in metastore.parameters
    assert metastore.table.columns[0].comment == "short"


def test_a_commit_in_between_is_kept() -> None:
    metastore = CommentedMetastore(conflicts=2, **{"lakemerge.version": "5"})
    assert set_comments(metastore, "about", {})
    assert metastore.parameters["lakemerge.version"] == "7"
    assert metastore.writes == [("lakemerge.version", "7")]


def test_a_missing_table_is_an_error() -> None:
    with pytest.raises(TableNotFound, match=r"the table s\.other"):
        comments.set_comments(kernel_of(CommentedMetastore()), TableName("s", "other"), "about", {})
