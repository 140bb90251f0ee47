from __future__ import annotations

from typing import Any

import pytest
from dbt.adapters.lakemerge import comments

from lakemerge.errors import TableNotFound
from lakemerge.kernel.metastore import HiveColumn, HiveTable, ValueChanged
from lakemerge.kernel.names import TableName

NAME = TableName("s", "t")
LONG = "x" * 300


class JavaMap(dict[str, str]):
    def remove(self, key: str) -> None:
        del self[key]


class JavaColumn:
    def __init__(self, name: str, comment: str | None) -> None:
        self.name, self.comment = name, comment

    def getName(self) -> str:  # noqa: N802 - Java's name
        return self.name

    def getComment(self) -> str | None:  # noqa: N802
        return self.comment

    def setComment(self, comment: str) -> None:  # noqa: N802
        self.comment = comment


class JavaTable:
    """As much of the metastore's Table as comments touch."""

    def __init__(self, parameters: dict[str, str], columns: list[JavaColumn], keys: list[JavaColumn]) -> None:
        self.parameters, self.columns, self.keys = JavaMap(parameters), columns, keys

    def deepCopy(self) -> JavaTable:  # noqa: N802
        def copies(columns: list[JavaColumn]) -> list[JavaColumn]:
            return [JavaColumn(column.name, column.comment) for column in columns]

        return JavaTable(dict(self.parameters), copies(self.columns), copies(self.keys))

    def getSd(self) -> JavaTable:  # noqa: N802
        return self

    def getCols(self) -> list[JavaColumn]:  # noqa: N802
        return self.columns

    def getPartitionKeys(self) -> list[JavaColumn]:  # noqa: N802
        return self.keys

    def getParameters(self) -> JavaMap:  # noqa: N802
        return self.parameters

    def putToParameters(self, key: str, value: str) -> None:  # noqa: N802
        self.parameters[key] = value


class FakeMetastore:
    """One table; the first ``conflicts`` changes find another version."""

    def __init__(self, conflicts: int = 0, **parameters: str) -> None:
        columns = [JavaColumn("id", "old"), JavaColumn("name", None)]
        self.raw = JavaTable(parameters, columns, [JavaColumn("day", None)])
        self.conflicts = conflicts
        self.writes: list[tuple[str, str] | None] = []

    def get_table(self, name: TableName) -> HiveTable | None:
        if name != NAME:
            return None
        columns = tuple(HiveColumn(column.name, "int", column.comment or "") for column in self.raw.columns)
        return HiveTable(
            name, "MANAGED_TABLE", columns, (), "file:/t", dict(self.raw.parameters), "me", "", "", self.raw
        )

    def alter_table(
        self, name: TableName, raw: JavaTable, *, expected: tuple[str, str] | None = None
    ) -> None:
        if self.conflicts:
            self.conflicts -= 1
            self.raw.parameters["lakemerge.version"] = str(int(self.raw.parameters["lakemerge.version"]) + 1)
            raise ValueChanged("alter_table", "MetaException", "has been modified")
        self.writes.append(expected)
        self.raw = raw


def set_comments(metastore: FakeMetastore, table: str | None, columns: dict[str, str]) -> bool:
    store: Any = metastore
    return comments.set_comments(store, NAME, table, columns)


def test_literals_keep_every_character() -> None:
    assert comments.string_literal("it's \\ \n") == "'it\\'s \\\\ \n'"


def test_comments_of_the_table_its_columns_and_its_partition_columns() -> None:
    metastore = FakeMetastore(**{"spark.sql.sources.schema": "{}", "other": "kept"})
    assert set_comments(metastore, "about", {"ID": "key", "day": "the day"})
    assert [column.comment for column in metastore.raw.columns] == ["key", None]
    assert metastore.raw.keys[0].comment == "the day"
    # without Spark's copy of the schema, which has the old comments
    assert metastore.raw.parameters == {"comment": "about", "other": "kept"}
    assert metastore.writes == [None]


def test_the_same_comments_write_nothing() -> None:
    metastore = FakeMetastore(comment="about")
    assert not set_comments(metastore, "about", {"id": "old"})
    assert not set_comments(metastore, None, {})
    assert metastore.writes == []


def test_long_comments_are_cut_and_kept_whole_in_a_property() -> None:
    metastore = FakeMetastore()
    set_comments(metastore, None, {"id": LONG})
    assert len(metastore.raw.columns[0].comment or "") == comments.MAX_COLUMN_COMMENT
    assert metastore.raw.parameters["lakemerge.comment.id"] == LONG
    set_comments(metastore, None, {"id": "short"})
    assert "lakemerge.comment.id" not in metastore.raw.parameters
    assert metastore.raw.columns[0].comment == "short"


def test_a_commit_in_between_is_kept() -> None:
    metastore = FakeMetastore(conflicts=2, **{"lakemerge.version": "5"})
    assert set_comments(metastore, "about", {})
    assert metastore.raw.parameters["lakemerge.version"] == "7"
    assert metastore.writes == [("lakemerge.version", "7")]


def test_a_missing_table_is_an_error() -> None:
    store: Any = FakeMetastore()
    with pytest.raises(TableNotFound, match=r"the table s\.other"):
        comments.set_comments(store, TableName("s", "other"), "about", {})
