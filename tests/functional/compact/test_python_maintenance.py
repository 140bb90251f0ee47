"""Compaction and vacuum by a Python program, and by a Python model in a dbt run."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from dbt.tests.util import run_dbt

import lakemerge
from lakemerge.errors import InvalidConfig
from lakemerge.kernel import CompactionLog, Kernel, TableName, history

pytestmark = pytest.mark.slow

MAINTENANCE = """
import lakemerge


def model(dbt, session):
    dbt.config(materialized="incremental", incremental_strategy="append", append_layout="commit_partitioned")
    tables, own = f"{dbt.this.schema}.*", f"{dbt.this.schema}.{dbt.this.identifier}"
    rows = lakemerge.compact(tables, spark=session, exclude=[own], dry_run=True)
    rows += lakemerge.compact(tables, spark=session, exclude=[own])
    return session.createDataFrame(rows, lakemerge.COMPACT_SCHEMA)
"""

EVENTS = """
{{ config(materialized='incremental', incremental_strategy='append', append_layout='commit_partitioned',
          compaction='off') }}
select {{ var('round', 0) }} as id
"""
ON_READ = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', partition_by='part',
          write_mode='merge_on_read', compaction='off') }}
select id, concat('n', id, ' of ', '{{ var("round", 0) }}') as name, cast(id % 2 as string) as part
from range({{ [40, 3, 5][var('round', 0)] }})
"""
HISTORY = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', sequence_by='at',
          stored_as_scd_type=2, compaction='off') }}
select id, {{ var('round', 0) }} as at, concat('n', id + {{ var('round', 0) }}) as name from range(3)
"""


@pytest.fixture(scope="class")
def models() -> dict[str, str]:
    return {
        "events.sql": EVENTS,
        "on_read.sql": ON_READ,
        "history.sql": HISTORY,
        "maintenance.py": MAINTENANCE,
    }


class Tables:
    """The tables of a project, as a program in the same Spark application sees them."""

    def __init__(self, project: Any) -> None:
        with project.adapter.connection_named("program"):
            application = project.adapter.handle.application
        self.spark = application.root
        self.kernel = Kernel(application.ports)
        self.schema = project.test_schema

    def name(self, table: str) -> TableName:
        return TableName(self.schema, table)

    def versions(self, table: str) -> list[str]:
        return [commit.operation for commit in history(self.kernel, self.name(table))]

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        return sorted(
            tuple(row) for row in self.spark.table(f"{self.schema}.{table}").drop("_commit").collect()
        )


def run(number: int, *models: str) -> None:
    run_dbt(["run", "--select", *models, "--vars", json.dumps({"round": number})])


@pytest.fixture
def tables(project: Any) -> Tables:
    """Three commits in each of two tables: partitions that could be one, and two deltas."""
    for table in ("events", "on_read", "on_read__base", "maintenance"):
        project.run_sql(
            f"drop {'view' if table == 'on_read' else 'table'} if exists {project.test_schema}.{table}"
        )
    for number in range(3):
        run(number, "events", "on_read")
    return Tables(project)


class TestProgram:
    def test_it_does_what_it_tells_and_changes_no_row(self, tables: Tables) -> None:
        everything = f"{tables.schema}.*"
        before = tables.rows("events"), tables.rows("on_read")
        versions = tables.versions("events"), tables.versions("on_read")
        tables.spark.sparkContext.setJobDescription("the program's own")
        needed = lakemerge.compact(everything, spark=tables.spark, dry_run=True)
        assert {(row["table_name"], row["action"], row["state"]) for row in needed} == {
            (f"{tables.schema}.events", "small_files", "needed"),
            (f"{tables.schema}.on_read", "major", "needed"),
        }
        assert (tables.versions("events"), tables.versions("on_read")) == versions
        done = lakemerge.compact(everything, spark=tables.spark)
        assert [(row["table_name"], row["action"], row["state"]) for row in done[:2]] == [
            (f"{tables.schema}.events", "small_files", "done"),
            (f"{tables.schema}.on_read", "major", "done"),
        ]
        assert (done[0]["files_before"], done[0]["files_after"], done[0]["rows"]) == (3, 1, 3)
        assert done[0]["seconds"] > 0
        assert (tables.rows("events"), tables.rows("on_read")) == before
        assert tables.spark.sparkContext.getLocalProperty("spark.job.description") == "the program's own"
        (record,) = CompactionLog(tables.kernel, tables.name("events")).records()
        assert record.requested_by["agent"] == "lakemerge.compact"
        assert lakemerge.compact(everything, spark=tables.spark) == []

    def test_a_table_that_fails_stops_no_other(self, tables: Tables) -> None:
        files = tables.kernel.files
        state, manifest = tables.kernel.settled(tables.name("events"))
        place = state.layout.absolute(next(iter(manifest.partitions.values())).location)
        for entry in files.list(place):
            files.write_text(entry.path, "no ORC")
        rows = lakemerge.compact(f"{tables.schema}.*", spark=tables.spark)
        failed, *done = rows
        assert (failed["table_name"], failed["state"]) == (f"{tables.schema}.events", "failed")
        assert failed["error"]
        assert [row["action"] for row in done][:1] == ["major"]
        assert {row["state"] for row in done} == {"done"}
        (missing,) = lakemerge.compact(f"{tables.schema}.no_such", spark=tables.spark)
        assert "no_such" in missing["error"]

    def test_tables_and_arguments_are_checked(self, project: Any) -> None:
        run(0, "events")
        tables = Tables(project)
        spark, events = tables.spark, f"{tables.schema}.events"
        wrong: list[tuple[list[str], dict[str, Any]]] = [
            ([], {}),
            (["events"], {}),
            (["*.events"], {}),
            ([events], {"max_bytes": "much"}),
            ([events], {"deltas": "all"}),
            ([events], {"sort_by": ["id"], "zorder_by": ["id", "other"]}),
        ]
        for names, arguments in wrong:
            with pytest.raises(InvalidConfig):
                lakemerge.compact(*names, spark=spark, **arguments)
        with pytest.raises(InvalidConfig):
            lakemerge.vacuum(events, spark=spark, retain_last=0)
        assert lakemerge.compact(f"{tables.schema}.ev*", spark=spark, exclude=[events]) == []

    def test_a_vacuum_tells_first(self, tables: Tables) -> None:
        lakemerge.compact(f"{tables.schema}.events", spark=tables.spark)
        before = tables.rows("events")
        arguments: dict[str, Any] = {
            "spark": tables.spark,
            "retention_hours": 1e-7,
            "allow_short_retention": True,
        }
        (needed,) = lakemerge.vacuum(f"{tables.schema}.e*", **arguments)
        assert (needed["state"], needed["table_name"]) == ("needed", f"{tables.schema}.events")
        assert len(tables.versions("events")) == 4
        (done,) = lakemerge.vacuum(f"{tables.schema}.e*", dry_run=False, **arguments)
        assert (done["state"], done["bytes"]) == ("done", needed["bytes"])
        assert len(tables.versions("events")) == 1
        assert lakemerge.vacuum(f"{tables.schema}.e*", dry_run=False, **arguments) == []
        assert tables.rows("events") == before
        frame = tables.spark.createDataFrame([needed, done], lakemerge.VACUUM_SCHEMA)
        assert frame.count() == 2


class TestCrossings:
    def test_two_programs_at_once_do_the_work_once_and_lose_nothing(self, tables: Tables) -> None:
        before = tables.rows("events"), tables.rows("on_read")
        with ThreadPoolExecutor(2) as pool:
            programs = [
                pool.submit(lakemerge.compact, f"{tables.schema}.*", spark=tables.spark) for _ in range(2)
            ]
            rows = [row for program in programs for row in program.result()]
        assert {row["state"] for row in rows} == {"done"}
        assert sum(row["rows"] for row in rows if row["table_name"].endswith(".events")) == 3
        assert (tables.rows("events"), tables.rows("on_read")) == before
        assert lakemerge.compact(f"{tables.schema}.*", spark=tables.spark) == []

    def test_the_closed_rows_of_a_history_become_one_partition(self, project: Any) -> None:
        tables = Tables(project)
        for number in range(1, 5):
            run(number, "history")
        before = tables.spark.table(f"{tables.schema}.history").drop("dbt_closed_in").collect()
        assert len(before) == 12
        (done,) = lakemerge.compact(f"{tables.schema}.history", spark=tables.spark)
        assert (done["state"], done["rows"], done["files_after"]) == ("done", 9, 1)
        after = tables.spark.table(f"{tables.schema}.history").drop("dbt_closed_in").collect()
        assert sorted(after) == sorted(before)
        run(5, "history")
        assert tables.spark.table(f"{tables.schema}.history").count() == 15

    def test_deltas_that_are_out_of_bounds_are_left_and_counted(self, tables: Tables) -> None:
        before = tables.rows("on_read")
        (left,) = lakemerge.compact(f"{tables.schema}.on_read", spark=tables.spark, max_bytes=10)
        assert (left["action"], left["left"], left["rows"]) == ("major", 2, 0)
        part = {"spark": tables.spark, "partitions": "part = '1'"}
        (done, *_) = lakemerge.compact(f"{tables.schema}.on_read", **part)
        assert (done["state"], done["left"]) == ("done", 1)
        assert tables.rows("on_read") == before


class TestModel:
    def test_each_run_adds_what_it_has_done(self, project: Any, tables: Tables) -> None:
        run_dbt(["run", "--select", "maintenance"])
        maintained = f"select table_name, action, state, rows from {tables.schema}.maintenance"
        rows = {tuple(row) for row in tables.spark.sql(maintained).collect()}
        assert (f"{tables.schema}.events", "small_files", "done", 3) in rows
        assert (f"{tables.schema}.on_read", "major", "needed", None) in rows
        assert len(tables.rows("events")) == 3
        assert not tables.kernel.settled(tables.name("on_read"))[1].sidecars.get("deltas")
        count = tables.spark.sql(maintained).count()
        run_dbt(["run", "--select", "maintenance"])
        assert tables.spark.sql(maintained).count() == count, "there was nothing to do"
