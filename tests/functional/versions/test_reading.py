"""Versions read as they were, whatever has happened to the table since."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

import lakemerge
from functional.transactions.conftest import Program
from functional.versions.conftest import EACH_KIND, Recorded, free, texts
from lakemerge.errors import (
    InvalidConfig,
    TableNotFound,
    TimeBeforeHistory,
    TimeInFuture,
    UnknownReference,
    UnsupportedTable,
    VersionChanged,
    VersionNotFound,
    VersionVacuumed,
)
from lakemerge.kernel import drop
from rings import of_rings

Make = Callable[..., Recorded]


class TestReading:
    @pytest.mark.parametrize("kind", EACH_KIND)
    def test_each_version_reads_as_it_did_when_it_was_the_newest(self, recorded: Make, kind: str) -> None:
        one = recorded(kind)
        one.bring()
        one.bring()
        if kind not in ("history", "commits"):
            lakemerge.sql(f"delete from {one.table.name} where id = 3", spark=one.spark)
            one.note()
        if one.method == "merge":
            one.bring(extra="ts * 2 as doubled")
        if kind != "history":
            one.table.compact(deltas="major" if kind == "on read" else None)
            one.note()
        one.bring(0)  # nothing comes
        one.bring()
        for version, rows in one.rows.items():
            then = one.table.at(version=version)
            assert texts(then.frame()) == rows, version
            assert then.version == version
        newest = one.table.at(version=max(one.rows)).frame()
        table = one.table.to_df()
        assert [(f.name, f.dataType) for f in newest.schema] == [(f.name, f.dataType) for f in table.schema]

    def test_what_a_query_does_not_need_is_not_read(self, recorded: Make) -> None:
        one = recorded("partitioned")
        one.bring(12)
        version = one.bring(12)
        frame = one.table.at(version=version).frame().where("region = 'south'").select("id")
        plan = str(frame._jdf.queryExecution().executedPlan())
        assert "PartitionFilters: [isnotnull(region" in plan
        assert "ReadSchema: struct<id:bigint>" in plan
        assert "name" not in plan

    def test_what_another_program_adds_to_a_version_is_no_part_of_it(
        self, recorded: Make, program: Program
    ) -> None:
        one = recorded("appended")
        first = one.bring()
        one.spark.sql(f"insert into {one.table.name} select 99, 'foreign', 1, 'U', 'south'")
        assert texts(one.table.at(version=first).frame()) == one.rows[first]
        second = one.bring()
        assert any("foreign" in str(row) for row in one.rows[second])
        assert texts(one.table.at(version=first).frame()) == one.rows[first]
        state = program.kernel.open(one.table._name)
        for path in Path(state.layout.data.removeprefix("file:")).rglob("part-*"):
            path.unlink()
        with pytest.raises(VersionVacuumed, match="none in"):
            one.table.at(version=first).frame()

    def test_files_that_another_program_has_replaced_are_no_version(
        self, recorded: Make, program: Program
    ) -> None:
        one = recorded("whole parquet")
        first = one.bring()
        state = program.kernel.open(one.table._name)
        (path,) = Path(state.layout.data.removeprefix("file:")).rglob("part-*.parquet")
        path.rename(path.with_name("other.parquet"))
        with pytest.raises(VersionChanged, match="removed or replaced"):
            one.table.at(version=first).frame()

    def test_an_adopted_table_is_read_as_it_was_adopted(self, program: Program, project: Any) -> None:
        name, spark = f"{project.test_schema}.adopted_by_versions", program.spark
        spark.sql(f"create table {name} (id bigint, Name string) partitioned by (day date) stored as parquet")
        spark.sql(f"insert into {name} partition (day) select 1, 'a', date'2026-01-01'")
        spark.sql(f"insert into {name} partition (day) select 2, 'b', null")
        table = lakemerge.table(name, spark=spark)
        with pytest.raises(UnsupportedTable, match="to have versions"):
            table.at(version=0)
        before = texts(table.to_df())
        lakemerge.sql(f"update {name} set name = 'z'", spark=spark)
        assert texts(table.at(version=0).frame()) == before
        assert table.at(version=0).frame().columns == table.to_df().columns

    @pytest.mark.parametrize("kind", of_rings(["partitioned", "whole parquet", "commits"], ["partitioned"]))
    def test_other_engines_get_files(self, recorded: Make, kind: str) -> None:
        one = recorded(kind)
        first = one.bring()
        one.bring()
        version = one.table.at(version=first)
        dataset = version.dataset()
        for found in (dataset.to_table(), duckdb.from_arrow(dataset).to_arrow_table()):
            rows = [
                tuple(sorted((key, None if value is None else str(value)) for key, value in row.items()))
                for row in found.to_pylist()
            ]
            assert sorted(rows, key=str) == one.rows[first]
        files = version.files()
        assert all(Path(file.path.removeprefix("file://")).stat().st_size == file.bytes for file in files)
        if kind == "partitioned":
            regions = {file.partition["region"] for file in files}
            assert regions == {dict(row)["region"] for row in one.rows[first]}

    def test_files_alone_do_not_show_deltas(self, recorded: Make) -> None:
        one = recorded("on read")
        one.bring()
        version = one.bring()
        with pytest.raises(UnsupportedTable, match="deltas beside its base"):
            one.table.at(version=version).files()


class TestChoosing:
    def test_by_time(self, recorded: Make, monkeypatch: pytest.MonkeyPatch) -> None:
        one = recorded("whole parquet")
        first = one.bring()
        made = one.table.at(version=first).committed_at
        zone = datetime.timezone(datetime.timedelta(hours=5))
        time = datetime.datetime.fromisoformat(made)
        for given in (made, made.replace("+00:00", "Z"), made[:-6], time, time.astimezone(zone)):
            assert one.table.at(timestamp=given).version == first
        with pytest.raises(TimeBeforeHistory, match="the table was made then"):
            one.table.at(timestamp=time - datetime.timedelta(seconds=1))
        with pytest.raises(TimeBeforeHistory):
            one.table.at(timestamp=datetime.date(2020, 1, 1))
        with pytest.raises(TimeInFuture, match="a time that is over"):
            one.table.at(timestamp=time + datetime.timedelta(days=1))

    def test_what_is_not_there_is_said(self, recorded: Make, program: Program) -> None:
        one = recorded("partitioned")
        for _ in range(3):
            last = one.bring()
        with pytest.raises(VersionNotFound, match=f"a version {last + 1}; found versions 1 to {last}"):
            one.table.at(version=last + 1)
        with pytest.raises(UnknownReference, match="no named version"):
            one.table.at(tag="month_end")
        for wrong in (
            {},
            {"version": 1, "tag": "x"},
            {"version": "1"},
            {"version": True},
            {"timestamp": "soon"},
        ):
            with pytest.raises(InvalidConfig):
                one.table.at(**wrong)
        free(program, one)
        newest = int(one.table.history(1)[0]["version"])
        with pytest.raises(VersionVacuumed, match=rf"version 1 of .* to be kept; found version {newest}\."):
            one.table.at(version=1)
        with pytest.raises(TimeBeforeHistory, match="older ones are vacuumed"):
            one.table.at(timestamp="2026-01-01")

    def test_a_dropped_table_and_one_that_was_made_again(self, recorded: Make, program: Program) -> None:
        one = recorded("partitioned")
        for _ in range(3):
            last = one.bring()
        held = one.table.at(version=last)
        drop(program.kernel, one.table._name)
        with pytest.raises(TableNotFound):
            one.table.at(version=last)
        with pytest.raises(VersionVacuumed, match="vacuumed or dropped"):
            held.frame()
        one.bring()
        with pytest.raises(VersionNotFound, match="counts from 1 again"):
            one.table.at(version=last)
