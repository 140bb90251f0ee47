"""Partitions that another program has named otherwise than Spark names them, such as `month=01` of an int column."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

from lakemerge.kernel import TableName, partition_name, partition_values

#: Type of the partition column, how another program spells a value, how Spark does, and another value.
SPELLINGS = [
    pytest.param("int", "01", "1", "2", id="int"),
    pytest.param("date", "2024-1-1", "2024-01-01", "2024-01-02", id="date", marks=pytest.mark.slow),
    pytest.param("decimal(4,2)", "1.5", "1.50", "2.50", id="decimal", marks=pytest.mark.slow),
    pytest.param("double", "1", "1.0", "2.0", id="double", marks=pytest.mark.slow),
    pytest.param("boolean", "TRUE", "true", "false", id="boolean", marks=pytest.mark.slow),
    pytest.param(
        "timestamp",
        "2024-01-01 00:00:00.0",
        "2024-01-01 00:00:00",
        "2024-01-02 00:00:00",
        id="timestamp",
        marks=pytest.mark.slow,
    ),
]


class Adopted:
    """A table of another program with the columns `id`, `price` and `part`, which models then write.

    Args:
        kind: the type of `part`, the partition column.
    """

    def __init__(self, table: Any, kind: str) -> None:
        self.table = table
        self.kind = kind
        self.name = TableName(table.relation.schema, table.relation.identifier)
        table.sql(f"create table {{table}} (id int, price int) partitioned by (part {kind}) stored as orc")

    def add(self, spelling: str, text: str, *rows: tuple[int, int]) -> None:
        """Add a partition with rows, which the metastore spells otherwise than Spark."""
        values = ", ".join(map(str, rows))
        # the directory's name is none of the metastore's business
        where = f"{self._location}/{spelling}"
        self.table.sql(f"alter table {{table}} add partition (part = '{text}') location '{where}'")
        self.table.sql(f"insert into {{table}} partition (part = '{text}') values {values}")
        with self.table.adapter.connection_named(self.table.name):
            metastore = self.table.adapter.handle.application.metastore
            (row,) = metastore.partitions(self.name, [partition_name(["part"], [text])])
            metastore.drop_partition(self.name, row.values)
            metastore.add_partitions(self.name, [dataclasses.replace(row, values=(spelling,))])

    @property
    def _location(self) -> str:
        with self.table.adapter.connection_named(self.table.name):
            location: str = self.table.adapter.handle.application.metastore.get_table(self.name).location
            return location

    def write(self, strategy: str, *rows: tuple[int, int, str], **config: Any) -> None:
        """Let a model of an incremental strategy write rows."""
        table = self.table
        table.model["config"].update({"incremental_strategy": strategy, **config})
        selected = (
            f"select {i} as id, {p} as price, cast('{part}' as {self.kind}) as part" for i, p, part in rows
        )
        with table.adapter.connection_named(table.name):
            feed = f"create or replace temporary view lakemerge_feed as {' union all '.join(selected)}"
            table.adapter.handle.spark.sql(feed)
            request = table.adapter.nodes.request(table.relation, table.model, strategy)
            table.adapter.nodes.publish(table.context, request)

    def partitions(self) -> list[str]:
        """The values of the partitions, as the metastore spells them."""
        with self.table.adapter.connection_named(self.table.name):
            names = self.table.adapter.handle.application.metastore.partition_names(self.name)
            return sorted(partition_values(name)[0] for name in names)

    def rows(self) -> list[tuple[int, int, str]]:
        found = self.table.sql("select id, price, cast(part as string) from {table} order by 1, 2")
        return [tuple(row) for row in found]


@pytest.fixture
def adopted(merger: Any) -> Any:
    """Makes an :class:`Adopted`: ``adopted(kind)``."""

    def make(kind: str) -> Adopted:
        return Adopted(merger({"partition_by": "part", "unique_key": "id"}, ""), kind)

    return make


class TestOneSpelling:
    @pytest.mark.slow
    @pytest.mark.parametrize(("kind", "spelling", "text", "other"), SPELLINGS)
    def test_a_merge_writes_into_the_partition_that_is_there(
        self, adopted: Any, kind: str, spelling: str, text: str, other: str
    ) -> None:
        table = adopted(kind)
        table.add(spelling, text, (1, 1), (2, 2))
        table.add(other, other, (3, 3))
        table.write("merge", (1, 10, text), (4, 4, text))
        assert table.rows() == [(1, 10, text), (2, 2, text), (3, 3, other), (4, 4, text)]
        assert table.partitions() == sorted([spelling, other])
        table.write("merge", (1, 11, other))
        assert table.rows() == [(1, 11, other), (2, 2, text), (3, 3, other), (4, 4, text)]
        assert table.partitions() == sorted([spelling, other])

    @pytest.mark.parametrize(
        ("strategy", "kept"),
        [
            ("append", [(1, 1, "1"), (1, 10, "1"), (2, 2, "1")]),
            pytest.param("delete+insert", [(1, 10, "1"), (2, 2, "1")], marks=pytest.mark.slow),
            pytest.param("insert_overwrite", [(1, 10, "1")], marks=pytest.mark.slow),
        ],
    )
    def test_so_do_the_other_strategies(
        self, adopted: Any, strategy: str, kept: list[tuple[int, int, str]]
    ) -> None:
        table = adopted("int")
        table.add("01", "1", (1, 1), (2, 2))
        table.add("02", "2", (3, 3))
        table.write(strategy, (1, 10, "1"))
        assert table.rows() == [*kept, (3, 3, "2")]
        assert table.partitions() == ["01", "02"]

    @pytest.mark.slow
    def test_a_change_of_types_keeps_the_names(self, adopted: Any) -> None:
        table = adopted("int")
        table.add("01", "1", (1, 1), (2, 2))
        table.add("02", "2", (3, 3))
        table.write("merge", (1, 3_000_000_000, "1"), on_schema_change="sync_all_columns")
        assert table.rows() == [(1, 3_000_000_000, "1"), (2, 2, "1"), (3, 3, "2")]
        assert table.partitions() == ["01", "02"]

    def test_a_deleted_partition_goes_by_its_name(self, adopted: Any) -> None:
        table = adopted("int")
        table.add("01", "1", (1, 1))
        table.write("merge", (1, 1, "2"))
        assert table.rows() == [(1, 1, "2")]
        assert table.partitions() == ["2"]


@pytest.mark.slow
class TestSeveralSpellings:
    @pytest.mark.parametrize(
        ("strategy", "kept"),
        [
            ("merge", [(1, 10, "1"), (2, 2, "1"), (3, 3, "1")]),
            pytest.param(
                "append", [(1, 1, "1"), (1, 10, "1"), (2, 2, "1"), (3, 3, "1")], marks=pytest.mark.slow
            ),
            pytest.param("delete+insert", [(1, 10, "1"), (2, 2, "1"), (3, 3, "1")], marks=pytest.mark.slow),
            ("insert_overwrite", [(1, 10, "1")]),
        ],
    )
    def test_a_write_makes_one_partition_of_them(
        self, adopted: Any, strategy: str, kept: list[tuple[int, int, str]]
    ) -> None:
        table = adopted("int")
        table.add("01", "1", (1, 1), (2, 2))
        table.add("1", "1", (3, 3))
        table.add("2", "2", (4, 4))
        table.write(strategy, (1, 10, "1"))
        assert table.rows() == [*kept, (4, 4, "2")]
        assert table.partitions() == ["01", "2"]

    def test_a_compaction_refuses_them(self, adopted: Any) -> None:
        table = adopted("int")
        table.write("merge", (3, 3, "2"))
        for spelling in ("01", "1"):
            table.add(spelling, "1", (1, 1))
        with (
            table.table.adapter.connection_named(table.table.name),
            pytest.raises(DbtRuntimeError, match=r"UnsupportedTable.*beside others of the same values"),
        ):
            table.table.adapter.compaction.compact(table.table.context, table.table.relation, sort_by="id")
        assert table.rows() == [(1, 1, "1"), (1, 1, "1"), (3, 3, "2")]


@pytest.mark.slow
class TestTextsOfALength:
    """Spark writes a `char(4)` with blanks up to its length, and Hive without."""

    @pytest.mark.parametrize("spelling", ["ab", "ab  "])
    def test_short_ones_are_refused_before_anything_is_claimed(self, adopted: Any, spelling: str) -> None:
        table = adopted("char(4)")
        table.add(spelling, "ab  ", (1, 1))
        with pytest.raises(DbtRuntimeError, match=r"(?s)UnsupportedTable.*char\(4\).*string or varchar"):
            table.write("merge", (2, 2, "full"))
        assert table.rows() == [(1, 1, "ab  ")]

    def test_full_ones_are_merged_and_a_short_one_beside_them_is_refused(self, adopted: Any) -> None:
        table = adopted("char(4)")
        table.add("full", "full", (1, 1), (2, 2))
        table.write("merge", (1, 10, "full"), (3, 3, "more"))
        assert table.rows() == [(1, 10, "full"), (2, 2, "full"), (3, 3, "more")]
        for short in ("ab", "ab  "):
            with pytest.raises(DbtRuntimeError, match="UnsupportedTable"):
                table.write("append", (4, 4, short))
        table.write("merge", (2, 20, "full"))
        assert table.rows() == [(1, 10, "full"), (2, 20, "full"), (3, 3, "more")]


@pytest.mark.slow
def test_texts_that_differ_in_blanks_at_the_end_are_refused_before_anything_is_claimed(adopted: Any) -> None:
    table = adopted("string")
    both = r"UnsupportedTable.*'part=ab' beside 'part=ab '.*rtrim"
    with pytest.raises(DbtRuntimeError, match=both):
        table.write("merge", (1, 1, "ab"), (2, 2, "ab "))
    table.write("merge", (1, 1, "ab"))
    for strategy, row in (("append", (2, 2, "ab ")), ("merge", (1, 3, "ab "))):
        with pytest.raises(DbtRuntimeError, match=both):
            table.write(strategy, row)
    assert table.rows() == [(1, 1, "ab")]
    table.write("merge", (1, 4, "cd "))
    assert table.rows() == [(1, 4, "cd ")]
