"""Tables that a program changes without dbt: the same rows as a model's, by the same rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import lakemerge
from functional.merge.conftest import Merger
from functional.transactions.conftest import Program, merger, models, program
from lakemerge.engine.request import Request, run
from lakemerge.errors import (
    AmbiguousChange,
    IncompatibleColumn,
    InvalidConfig,
    SchemaChanged,
    TableNotFound,
    UnsupportedTable,
)

__all__ = ["merger", "models", "program"]

RULES = {
    "unique_key": "id",
    "sequence_by": "ts",
    "apply_as_deletes": "op = 'D'",
    "except_column_list": ["op"],
}
FIRST = (
    "values (1, 'a', 1, 'I'), (2, 'b', 1, 'I'), (2, 'c', 2, 'U'), (3, 'd', 1, 'I') as f (id, name, ts, op)"
)
SECOND = (
    "values (1, 'x', 0, 'U'), (2, null, 3, 'D'), (3, 'e', 2, 'U'), (4, 'f', 1, 'I') as f (id, name, ts, op)"
)


class TestTables:
    @pytest.fixture(autouse=True)
    def _session(self, program: Program, project: Any, request: pytest.FixtureRequest) -> None:
        self.spark = program.spark.newSession()
        self.spark.sql(f"create database if not exists `{project.test_schema}`")
        self.spark.sql(f"use `{project.test_schema}`")
        self.name = f"{project.test_schema}.{request.node.name.partition('[')[0]}".lower()

    def table(self, name: str = "") -> Any:
        return lakemerge.table(name or self.name, spark=self.spark)

    def rows(self, table: Any, columns: str = "*") -> list[tuple[Any, ...]]:
        return sorted(map(tuple, table.to_df().selectExpr(columns).collect()), key=str)

    @pytest.mark.parametrize("write_mode", ["copy_on_write", "merge_on_read"])
    @pytest.mark.parametrize("partition_by", [None, "id"])
    def test_a_feed_is_merged(self, write_mode: str, partition_by: str | None) -> None:
        table = self.table(f"{self.name}_{write_mode}_{partition_by}".lower())
        options = {**RULES, "write_mode": write_mode, "partition_by": partition_by}
        assert not table.exists
        first = table.merge(f"select * from {FIRST}", **options)
        assert (first.inserted, first.version) == (3, 1)
        second = table.merge(self.spark.sql(f"select * from {SECOND}"), **options)
        done = (second.inserted + second.upserted, second.updated, second.deleted)
        assert done in ((1, 1, 1), (2, 0, 1))
        found = self.spark.sql(f"select id, name, ts from {table.name} order by id").collect()
        assert [tuple(row) for row in found] == [(1, "a", 1), (3, "e", 2), (4, "f", 1)]
        assert "merge" in {commit["operation"] for commit in table.history()}

    def test_what_the_table_was_made_with_is_kept_and_another_rule_refused(self) -> None:
        table = self.table()
        table.merge(f"select * from {FIRST}", **RULES)
        table.merge(f"select * from {SECOND}", apply_as_deletes="op = 'D'", except_column_list=["op"])
        with pytest.raises(InvalidConfig, match=r"unique_key: \('id',\), not \('name',\)"):
            table.merge(f"select * from {SECOND}", unique_key="name")
        with pytest.raises(UnsupportedTable, match="written by merge"):
            table.append("select 9 as id, 'z' as name, 1 as ts")
        with pytest.raises(UnsupportedTable, match="written by merge"):
            table.overwrite_partitions("select 9 as id, 'z' as name, 1 as ts")
        assert len(table.history()) == 2

    def test_a_models_table_keeps_its_models_rules(self, merger: Callable[..., Merger]) -> None:
        made = merger({"unique_key": "id", "sequence_by": "ts"}, "id int, name string, ts int")
        made.merge([{"id": 1, "name": "a", "ts": 1}, {"id": 2, "name": "b", "ts": 1}])
        table = self.table(str(made.relation.table_name))
        done = table.merge("values (1, 'late', 0), (2, 'c', 2) as f (id, name, ts)")
        assert (done.updated, done.ignored) == (1, 1)
        assert self.rows(table, "*")[0][:2] == (1, "a")
        with pytest.raises(InvalidConfig, match="sequence_by"):
            table.merge("select 1 as id, 'x' as name, 9 as ts", sequence_by="name")
        made.merge([{"id": 2, "name": "d", "ts": 3}])
        assert {row[1] for row in self.rows(table)} == {"a", "d"}

    def test_rows_are_appended_and_partitions_overwritten(self) -> None:
        table = self.table()
        options = {"append_layout": "commit_partitioned"}
        for _ in range(2):
            assert table.append(pa.table({"id": [1, 2]}), **options).inserted == 2
        assert self.rows(table, "id") == [(1,), (1,), (2,), (2,)]
        days = self.table(f"{self.name}_days")
        days.overwrite_partitions(pd.DataFrame({"id": [1, 2], "day": ["a", "b"]}), partition_by="day")
        days.overwrite_partitions(self.spark.sql("select 3L as id, 'b' as day"))
        assert self.rows(days) == [(1, "a"), (3, "b")]

    def test_history_is_kept(self) -> None:
        table = self.table()
        options = {"unique_key": "id", "sequence_by": "ts", "stored_as_scd_type": 2}
        table.merge("values (1, 'a', 1), (1, 'b', 2) as f (id, name, ts)", **options)
        table.merge("values (1, 'c', 3) as f (id, name, ts)", **options)
        found = self.spark.sql(f"select name, __start_at, __end_at from {table.name} order by ts").collect()
        assert [tuple(row) for row in found] == [("a", 1, 2), ("b", 2, 3), ("c", 3, None)]

    def test_a_table_is_created_once(self) -> None:
        made = lakemerge.create(
            self.name, "select 1 as id, 'a' as day where false", spark=self.spark, partition_by=["day"]
        )
        assert (made.exists, self.rows(made)) == (True, [])
        with pytest.raises(InvalidConfig, match=r"no table .* yet"):
            lakemerge.create(self.name, "select 1 as id", spark=self.spark)
        made.replace("select 2 as id")
        assert self.rows(made) == [(2,)]
        made.merge("select 1 as id", unique_key="id")
        assert self.rows(made) == [(1,), (2,)]
        with pytest.raises(UnsupportedTable, match="written by merge"):
            made.replace("select 3 as id")
        assert self.rows(made) == [(1,), (2,)]

    def test_a_table_of_hive_is_adopted(self) -> None:
        self.spark.sql(f"create table {self.name} (id int, name string) stored as orc")
        self.spark.sql(f"insert into {self.name} values (1, 'a'), (2, 'b')")
        table = self.table()
        done = table.merge("values (2, 'c'), (3, 'd') as f (id, name)", unique_key="id")
        assert (done.inserted, done.updated) == (1, 1)
        assert self.rows(table) == [(1, "a"), (2, "c"), (3, "d")]

    def test_a_query_reads_the_table_anew_at_each_attempt(self) -> None:
        table = self.table()
        table.merge("select 1 as id, 1 as n", unique_key="id")
        for expected in (2, 3):
            table.merge(f"select id, n + 1 as n from {table.name}")
            assert self.rows(table) == [(1, expected)]

    @pytest.mark.parametrize(
        ("strategy", "options", "message"),
        [
            ("merge", {"unique_key": "id", "apply_as_delete": "true"}, "apply_as_delete"),
            ("merge", {"unique_key": "id", "nonsense_by": "ts"}, "nonsense_by is not known"),
            ("merge", {}, "needs a unique_key"),
            ("merge", {"unique_key": "id", "publish": "after_tests"}, "a run of dbt"),
            ("merge", {"unique_key": "id", "file_format": "delta"}, "delta"),
            ("append", {"unique_key": "id", "sequence_by": "ts"}, "sequence_by"),
            ("microbatch", {}, "one of the strategies"),
            ("upsert", {}, "one of the strategies"),
        ],
    )
    def test_options_are_checked(self, strategy: str, options: dict[str, Any], message: str) -> None:
        with pytest.raises(InvalidConfig, match=message):
            run(Request(self.name, strategy, options, "select 1 as id"), self.spark)
        assert not self.table().exists

    def test_errors_leave_the_table_as_it_was(self) -> None:
        from pyspark.errors import AnalysisException, ParseException

        table = self.table()
        table.merge(f"select * from {FIRST}", **RULES, on_schema_change="fail")
        before = self.rows(table), len(table.history())
        with pytest.raises(AmbiguousChange):
            table.merge("values (1, 'x', 9, 'U'), (1, 'y', 9, 'U') as f (id, name, ts, op)", **RULES)
        with pytest.raises(AnalysisException, match="no_such"):
            table.merge("select no_such as id", **RULES)
        with pytest.raises(SchemaChanged):
            table.merge(
                "select 1 as id, 'q' as name, 9 as ts, 'U' as op, 1 as more", **RULES, on_schema_change="fail"
            )
        with pytest.raises((IncompatibleColumn, InvalidConfig)):
            table.merge("select 'x' as id, 'q' as name, 9 as ts, 'U' as op", **RULES)
        with pytest.raises(ParseException):
            table.merge(f"drop table {table.name}", **RULES)
        with pytest.raises(InvalidConfig, match="a frame of Spark"):
            table.merge([{"id": 1}], **RULES)
        with pytest.raises(TableNotFound):
            self.table(f"{self.name}_nowhere").history()
        assert (self.rows(table), len(table.history())) == before

    def test_the_programs_session_stays_as_it_was(self) -> None:
        context = self.spark.sparkContext
        context.setJobGroup("mine", "my job")

        def views() -> list[Any]:
            return self.spark.sql("show tables").where("isTemporary").collect()

        before = views()
        self.table().merge(self.spark.sql("select 1 as id"), unique_key="id")
        assert context.getLocalProperty("spark.jobGroup.id") == "mine"
        assert views() == before
        assert (
            self.spark.sql("show tables in global_temp")
            .where("isTemporary and tableName like 'lakemerge%'")
            .count()
            == 0
        )
        context.setLocalProperty("spark.jobGroup.id", None)

    def test_a_request_is_plain_data(self) -> None:
        import json

        request = Request(self.name, "merge", {"unique_key": "id"}, "select 1 as id", agent="me")
        assert Request.of(json.loads(json.dumps(request.as_dict()))) == request
        with pytest.raises(InvalidConfig, match="a request with table"):
            Request.of({"tabel": "x"})
        assert run(request, self.spark).version == 1

    def test_maintenance_is_that_of_one_table(self) -> None:
        table = self.table()
        for number in range(3):
            table.append(f"select {number} as id, 'a' as day", partition_by="day")
        assert [row["table_name"] for row in table.vacuum()] in ([], [self.name])
        assert all(row["table_name"] == self.name for row in table.compact(dry_run=True))
