"""Tables brought back to what they were, with what they remember."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt

import lakemerge
from functional.ingest.conftest import Ingester
from functional.overtaking import overtake
from functional.transactions.conftest import Program
from functional.versions.conftest import MERGED, Recorded, texts
from lakemerge.errors import InvalidConfig, UnsupportedTable
from rings import of_rings

Make = Callable[..., Recorded]
FEED = "id bigint, price int, ts bigint, region string, op string"
GOOD = [(1, 10, 1, "north", "I"), (2, 20, 1, "south", "I"), (3, 30, 1, "south", "I")]
BAD = [(1, -1, 2, "north", "U"), (2, None, 2, "south", "D"), (4, -4, 2, "north", "I")]
RIGHT = [(1, 11, 2, "north", "U"), (2, 22, 2, "south", "U"), (4, 44, 2, "south", "I")]


class TestRestore:
    @pytest.fixture(autouse=True)
    def _session(self, program: Program, project: Any) -> None:
        self.spark, self.schema = program.spark, project.test_schema

    def merged(self, name: str, rows: Any, **options: Any) -> Any:
        table = lakemerge.table(f"{self.schema}.{name}", spark=self.spark)
        return table, table.merge(self.spark.createDataFrame(rows, FEED), **{**MERGED, **options})

    def rows(self, table: Any, *columns: str) -> list[tuple[Any, ...]]:
        return sorted(map(tuple, table.to_df().select(*(columns or ("id", "price"))).collect()))

    @pytest.mark.parametrize(
        "options",
        [
            pytest.param({"partition_by": ["region"]}, marks=pytest.mark.slow),
            pytest.param({"except_column_list": ["op", "ts"]}, marks=pytest.mark.slow),
            {"partition_by": ["region"], "write_mode": "merge_on_read", "compaction": "off"},
        ],
        ids=["partitioned", "hidden sequence", "on read"],
    )
    def test_a_feed_that_was_wrong_is_merged_again(
        self, options: dict[str, Any], request: pytest.FixtureRequest
    ) -> None:
        name = f"again_{len(str(options))}"
        table, _ = self.merged(name, GOOD, **options)
        good = table.history(1)[0]["version"]
        before = self.rows(table)
        self.merged(name, BAD, **options)
        spoilt = self.rows(table)
        assert spoilt != before
        foreseen = table.restore(version=good)
        assert (foreseen.version, foreseen.inserted, foreseen.updated, foreseen.deleted) == (None, 1, 1, 1)
        assert self.rows(table) == spoilt
        done = table.restore(version=good, dry_run=False)
        assert (done.to_version, done.inserted, done.updated, done.deleted) == (good, 1, 1, 1)
        assert self.rows(table) == before
        # nothing is left to do
        assert table.restore(version=good, dry_run=False).version is None
        self.merged(name, RIGHT, **options)
        assert self.rows(table) == [(1, 11), (2, 22), (3, 30), (4, 44)]
        # a restore can be undone
        table.restore(version=done.from_version, dry_run=False)
        assert self.rows(table) == spoilt
        if "write_mode" in options:
            assert table._kernel.settled(table._name)[1].overlay is not None

    def test_some_partitions_are_brought_back_and_others_stay(self) -> None:
        table, first = self.merged("parts", GOOD, partition_by=["region"])
        self.merged("parts", BAD)
        done = table.restore(version=first.version, partitions="region = 'south'", dry_run=False)
        assert (done.partitions, done.inserted, done.updated, done.deleted) == (1, 1, 0, 0)
        assert self.rows(table) == [(1, -1), (2, 20), (3, 30), (4, -4)]
        whole, first = self.merged("no_parts", GOOD)
        self.merged("no_parts", BAD)
        with pytest.raises(UnsupportedTable, match="a table without partitions"):
            whole.restore(version=first.version, partitions="region = 'south'")
        with pytest.raises(InvalidConfig):
            whole.restore(version=first.version, dry_run="no")

    @pytest.mark.slow
    def test_columns_are_those_of_the_version(self, recorded: Make) -> None:
        one = recorded("partitioned")
        first = one.bring()
        one.bring(extra="ts as later")
        assert "later" in one.table.to_df().columns
        one.table.restore(version=first, dry_run=False)
        assert texts(one.table.to_df()) == one.rows[first]
        assert "later" not in one.table.to_df().columns
        one.bring()
        # what files had of it does not come back with another column of the name
        one.bring(0, extra="cast(null as bigint) as later")
        assert one.table.to_df().where("later is not null").count() == 0

    def test_another_layout_is_refused(self, recorded: Make) -> None:
        one = recorded("appended")
        first = one.bring()
        one.table.replace(one.table.to_df(), partition_by=["name"])
        with pytest.raises(UnsupportedTable, match="partitioned by region string, and now"):
            one.table.restore(version=first, dry_run=False)

    @pytest.mark.slow
    def test_a_history_comes_back_whole_or_not_at_all(self, recorded: Make) -> None:
        one = recorded("history")
        first = one.bring()
        one.bring()
        with pytest.raises(UnsupportedTable, match="a history"):
            one.table.restore(version=first, partitions="region = 'south'")
        one.table.restore(version=first, dry_run=False)
        assert texts(one.table.to_df()) == one.rows[first]

    @pytest.mark.parametrize("kind", of_rings(["partitioned", "whole parquet"], ["partitioned"]))
    def test_it_is_redone_when_another_commit_comes_first(
        self, recorded: Make, monkeypatch: pytest.MonkeyPatch, kind: str
    ) -> None:
        one = recorded(kind)
        first = one.bring()
        one.bring()
        overtake(monkeypatch, lambda: one.bring())
        done = one.table.restore(version=first, dry_run=False)
        assert texts(one.table.to_df()) == one.rows[first]
        assert done.version == first + 3

    def test_a_delete_that_comes_first_and_has_no_row_is_forgotten_too(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        table, made = self.merged("raced", GOOD, partition_by=["region"])
        self.merged("raced", [(1, 12, 2, "north", "U")])
        # remembered beside the rows, of which it changes none
        overtake(monkeypatch, lambda: self.merged("raced", [(9, 0, 9, "north", "D")]))
        table.restore(version=made.version, dry_run=False)
        self.merged("raced", [(9, 90, 5, "north", "I")])
        assert self.rows(table) == [(1, 10), (2, 20), (3, 30), (9, 90)]

    def test_what_other_programs_wrote_is_a_version_too(self, recorded: Make) -> None:
        one = recorded("appended")
        first = one.bring()
        one.spark.sql(f"insert into {one.table.name} select 99, 'foreign', 1, 'U', 'south'")
        done = one.table.restore(version=first, dry_run=False)
        assert texts(one.table.to_df()) == one.rows[first]
        assert done.version is not None
        one.table.restore(version=done.version - 1, dry_run=False)
        assert "foreign" in str(texts(one.table.to_df()))


@pytest.mark.slow
class TestWhatWasRead:
    @pytest.mark.parametrize("take_again", of_rings([False, True], [True]))
    def test_files_are_read_again_if_they_are_to_be(
        self, project: Any, program: Program, tmp_path: Path, take_again: bool
    ) -> None:
        landed = Ingester(project, tmp_path, {"delimiter": ","}, {"id": "bigint", "name": "string"})
        landed.land("one.csv", "1,a\n")
        landed.run()
        landed.land("two.csv", "2,b\nx,c\n")
        landed.run()
        table = lakemerge.table(f"{project.test_schema}.{landed.name}", spark=program.spark)
        versions = {one["version"]: one["metrics"] for one in table.history()}
        table.restore(version=1, take_again=take_again, dry_run=False)
        assert len(versions) == 2
        assert [row["id"] for row in landed.sql("select id from {table}")] == [1]
        quarantined = f"select record from {project.test_schema}.{landed.name}__quarantine"
        assert len(landed.sql(quarantined)) == (0 if take_again else 1)
        landed.run()
        found = sorted(row["id"] for row in landed.sql("select id from {table}"))
        assert found == ([1, 2] if take_again else [1])
        assert len(landed.sql(quarantined)) == 1


RAW = """
{{ config(materialized='incremental', append_layout='commit_partitioned') }}
select {{ var('id', 1) }} as id
"""
TAKEN = """
{{ config(materialized='incremental') }}
select id from {{ consume(ref('raw')) }}
"""


@pytest.mark.slow
class TestWhatWasConsumed:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"raw.sql": RAW, "taken.sql": TAKEN}

    def test_partitions_are_consumed_again_if_they_are_to_be(self, project: Any, program: Program) -> None:
        # the first run of both is that of the fixture
        run_dbt(["run", "--vars", "{id: 2}"])
        table = lakemerge.table(f"{project.test_schema}.taken", spark=program.spark)
        rows = f"select id from {project.test_schema}.taken"

        def found() -> list[int]:
            return sorted(row[0] for row in project.run_sql(rows, fetch="all"))

        assert found() == [1, 2]
        table.restore(version=1, dry_run=False)
        run_dbt(["run", "--select", "taken"])
        assert found() == [1]
        table.restore(version=1, take_again=True, dry_run=False)
        run_dbt(["run", "--select", "taken"])
        assert found() == [1, 2]
        run_dbt(["run", "--select", "taken"])
        assert found() == [1, 2]
