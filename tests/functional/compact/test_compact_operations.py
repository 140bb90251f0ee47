"""Compaction by hand and by threshold: fewer or better ordered files, the same rows, and a log of what was done."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture

from lakemerge import compaction_thresholds
from lakemerge.kernel import CompactionLog, Kernel, Manifest, TableName, history

COLUMNS = """
    cast(id as bigint) as id, cast(id % 97 as int) as x, concat('n', id % 53) as y,
    cast(if(id % 5 = 0, null, id / 7) as decimal(20, 6)) as amount,
    cast(concat('c', id % 3) as char(5)) as code, cast('v' as varchar(3)) as short,
    timestamp_seconds(id * 1000 - 5000000000) as at, array(id, null) as several,
    map('k', cast(id as string)) as pairs, named_struct('a', id) as nested, id % 2 = 0 as even,
    cast(null as string) as nothing, date_add(date'1970-01-01', cast(id - 200000 as int)) as day_of
"""
MASTER = f"""
{{{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', partition_by='part',
          file_format=var('format', 'orc'), compaction='off') }}}}
select {COLUMNS}, cast(id % 2 as string) as part from range({{{{ var('first', 0) }}}}, {{{{ var('last', 40) }}}})
"""
WHOLE = f"""
{{{{ config(materialized='table') }}}}
select {COLUMNS} from range(0, 3000)
"""
EVENTS = """
{{ config(materialized='incremental', incremental_strategy='append', append_layout='commit_partitioned',
          compaction='off') }}
select id from range({{ var('first', 0) }}, {{ var('last', 40) }})
"""
SCATTERED = """
{{ config(materialized='incremental', incremental_strategy='insert_overwrite', partition_by='part',
          compaction=var('compaction', 'auto')) }}
select id, cast(id % 2 as string) as part from range(400)
"""
ON_READ = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', partition_by='part',
          write_mode='merge_on_read', compaction=var('compaction', 'off')) }}
select id, concat('n', id, ' of ', '{{ var("round", 0) }}') as name, cast(id % 2 as string) as part
from range({{ var('first', 0) }}, {{ var('last', 40) }})
"""
#: Commits that leave many small files, as those of records and of other programs do.
SCATTERING = """
{% macro lakemerge_new_rows_sql(txn, kept=none, feed='lakemerge_typed_feed') %}
select /*+ {{ 'repartition(8)' if 'scattered' in txn.table or 'master' in txn.table else 'rebalance' }} */
    {%- for column in txn.plan.columns %}
    {{ column.quoted if column.in_feed else column.from_feed ~ ' as ' ~ column.quoted }}{{ ',' if not loop.last }}
    {%- endfor %}
from {{ feed }}
{% endmacro %}
"""
LOG = "select * from ({{ lakemerge_compactions_sql(['master', 'scattered']) }})"


@pytest.fixture(scope="class")
def models() -> dict[str, str]:
    return {
        "master.sql": MASTER,
        "whole.sql": WHOLE,
        "events.sql": EVENTS,
        "scattered.sql": SCATTERED,
        "on_read.sql": ON_READ,
        "compaction_log.sql": LOG,
    }


@pytest.fixture(scope="class")
def macros() -> dict[str, str]:
    return {"scattering.sql": SCATTERING}


def run(model: str, **variables: Any) -> Any:
    (result,) = run_dbt(["run", "--select", model, "--vars", json.dumps(variables)]).results
    return result


class TestCompaction:
    def kernel(self, project: Any) -> Kernel:
        with project.adapter.connection_named("kernel"):
            return Kernel(project.adapter.handle.application.ports)

    def name(self, project: Any, table: str) -> TableName:
        return TableName(project.test_schema, table)

    def newest(self, project: Any, table: str) -> Manifest:
        return self.kernel(project).settled(self.name(project, table))[1]

    def rows(self, project: Any, table: str) -> list[str]:
        found = project.run_sql(
            f"select to_json(struct(*), map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')) from "
            f"{project.test_schema}.{table}",
            fetch="all",
        )
        return sorted(row[0] for row in found)

    def compact(self, expect_pass: bool = True, **arguments: Any) -> Any:
        command = ["run-operation", "lakemerge_compact", "--args", json.dumps(arguments)]
        return run_dbt(command, expect_pass=expect_pass)

    def log(self, project: Any, table: str) -> Any:
        return CompactionLog(self.kernel(project), self.name(project, table)).records()

    @pytest.mark.parametrize("file_format", ["orc", pytest.param("parquet", marks=pytest.mark.slow)])
    def test_many_small_files_become_one_and_no_row_changes(self, project: Any, file_format: str) -> None:
        project.run_sql(f"drop table if exists {project.test_schema}.master")
        run("master", format=file_format)
        table = f"{project.test_schema}.master"
        with project.adapter.connection_named("another program"):
            spark = project.adapter.handle.spark
            spark.table(table).where("id = 7").drop("part").createOrReplaceTempView("row_seven")
            spark.sql(f"insert into {table} partition (part = '1') table row_seven")
        project.run_sql(f"alter table {table} add columns (later int)")
        before = self.rows(project, "master")
        self.compact(select="master", partitions="part = '1'", dry_run=True)
        self.compact(select="master", partitions="part = '1'")
        made = self.newest(project, "master")
        assert made.operation == "compact"
        assert made.rewritten == made.written == ("part=1",)
        assert made.partitions["part=1"].files == 1
        assert made.partitions["part=0"].files > 1
        assert self.rows(project, "master") == before
        self.compact(select="*")
        assert {state.files for state in self.newest(project, "master").partitions.values()} == {1}
        assert self.rows(project, "master") == before
        version = self.newest(project, "master").version
        self.compact(select="master")
        assert self.newest(project, "master").version == version, "there is nothing to do any more"
        newest, first = self.log(project, "master")
        assert (newest.state, newest.reason, newest.action) == ("done", "operation", "small_files")
        assert first.files_before > first.files_after == 1
        assert newest.versions == (version,)
        shown = history(self.kernel(project), self.name(project, "master"))[0]
        assert shown.metrics["compacted"] == 1

    @pytest.mark.slow
    def test_partitions_of_commits_become_one(self, project: Any) -> None:
        for number in range(3):
            run("events", first=number, last=number + 1)
        self.compact(select="events")
        made = self.newest(project, "events")
        assert list(made.partitions) == ["_commit=3"]
        assert made.total_files == 1
        assert len(self.rows(project, "events")) == 3

    @pytest.mark.slow
    def test_an_unpartitioned_table_is_sorted_and_z_ordered_once(self, project: Any) -> None:
        run("whole")
        before = self.rows(project, "whole")
        self.compact(select="whole", sort_by=["x", "id"])
        stored = project.run_sql(f"select x, id from {project.test_schema}.whole", fetch="all")
        assert [tuple(row) for row in stored] == sorted(tuple(row) for row in stored)
        version = self.newest(project, "whole").version
        self.compact(select="whole", sort_by=["x", "id"])
        assert self.newest(project, "whole").version == version, "it is sorted already"
        self.compact(select="whole", zorder_by=["x", "y", "at"])
        assert self.newest(project, "whole").version == version + 1
        assert self.rows(project, "whole") == before
        stored = project.run_sql(
            f"select x, cast(substr(y, 2) as int) from {project.test_schema}.whole", fetch="all"
        )
        quarter = stored[: len(stored) // 8]
        assert max(row[0] for row in quarter) < 96, "neighbours are close in each column"
        self.compact(select="whole", zorder_by=["x", "several"], expect_pass=False)
        self.compact(select="no_such_model", expect_pass=False)

    @pytest.mark.slow
    def test_a_commit_packs_what_it_wrote_unless_it_has_no_time(
        self, project: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(compaction_thresholds, "FILES", 4)
        run("scattered", lakemerge_compact=False)
        assert self.newest(project, "scattered").operation == "replace"
        run("scattered", compaction="off")
        assert self.newest(project, "scattered").operation == "insert_overwrite"
        before = self.rows(project, "scattered")
        run("scattered")
        made = self.newest(project, "scattered")
        assert made.operation == "compact"
        assert {state.files for state in made.partitions.values()} == {1}
        (record,) = self.log(project, "scattered")
        assert (record.reason, record.state) == ("threshold", "done")
        assert record.requested_by["node"] == "model.test.scattered"
        assert self.rows(project, "scattered") == before
        run("compaction_log")
        found = project.run_sql(
            f"select distinct table_name, state from {project.test_schema}.compaction_log", fetch="all"
        )
        assert {tuple(row) for row in found} >= {(f"{project.test_schema}.scattered", "done")}
        run_dbt(["run-operation", "lakemerge_compactions"])

    @pytest.mark.slow
    def test_deltas_become_one_or_go_into_the_base(self, project: Any) -> None:
        run("on_read")
        for number, (first, last) in enumerate([(0, 5), (3, 8), (38, 45)], 1):
            run("on_read", round=number, first=first, last=last)
        before = self.rows(project, "on_read")
        assert len(before) == 45
        assert len(self.newest(project, "on_read").sidecars["deltas"]) == 3
        self.compact(select="on_read", deltas="minor", dry_run=True)
        self.compact(select="on_read", deltas="minor")
        assert len(self.newest(project, "on_read").sidecars["deltas"]) == 1
        assert self.rows(project, "on_read") == before
        self.compact(select="on_read", partitions="part = '1'", deltas="none", sort_by="name")
        made = self.newest(project, "on_read")
        assert made.rewritten == ("part=1",)
        assert len(made.sidecars["deltas"]) == 1
        assert self.rows(project, "on_read") == before
        run("on_read", round=4, first=4, last=5)
        before = self.rows(project, "on_read")
        self.compact(select="on_read", dry_run=True)
        self.compact(select="on_read")
        assert not self.newest(project, "on_read").sidecars.get("deltas")
        assert self.rows(project, "on_read") == self.rows(project, "on_read__base") == before
        actions = [record.action for record in self.log(project, "on_read")]
        assert [one for one in actions if one != "small_files"] == ["major", "sort", "minor"]
        self.compact(select="on_read", deltas="all", expect_pass=False)

    @pytest.mark.slow
    def test_a_commit_compacts_deltas_by_number_and_by_size(
        self, project: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(compaction_thresholds, "DELTAS", 2)
        monkeypatch.setattr(compaction_thresholds, "DELTAS_PERCENT", 10_000)
        run("on_read")
        project.run_sql(
            f"drop view {project.test_schema}.on_read"
        )  # by somebody who takes it for all there is
        run_dbt(["run", "--select", "on_read", "--full-refresh"])
        assert len(self.rows(project, "on_read")) == 40
        for number in range(2):
            run("on_read", round=number, last=3, compaction="auto")
        assert len(self.newest(project, "on_read").sidecars["deltas"]) == 1, "they are one"
        assert self.log(project, "on_read")[0].action == "minor"
        monkeypatch.setattr(compaction_thresholds, "DELTAS_PERCENT", 1)
        run("on_read", round=4, last=3, compaction="off")
        run("on_read", round=5, last=3, compaction="auto", lakemerge_compact=False)
        assert len(self.newest(project, "on_read").sidecars["deltas"]) == 3, (
            "they were off, and there was no time"
        )
        run("on_read", round=6, last=3, compaction="auto")
        assert not self.newest(project, "on_read").sidecars.get("deltas"), "they were large"
        assert self.log(project, "on_read")[0].reason == "threshold"

    @pytest.mark.slow
    def test_a_vacuum_of_a_schema_frees_what_each_table_needs_no_more(self, project: Any) -> None:
        for number in range(3):
            run("events", first=number, last=number + 1)
            run("whole")
        before = self.rows(project, "whole")

        def vacuum(expect_pass: bool = True, **arguments: Any) -> Any:
            command = ["run-operation", "lakemerge_vacuum", "--args", json.dumps(arguments)]
            return run_dbt(command, expect_pass=expect_pass)

        schema = project.test_schema
        vacuum(
            select=f"{schema}.*",
            retention_hours=0.0001,
            allow_short_retention=True,
            retain_last=2,
            dry_run=False,
        )
        assert len(history(self.kernel(project), self.name(project, "whole"))) == 2
        vacuum(
            select=f"{schema}.w*",
            retention_hours=0.0001,
            allow_short_retention=True,
            max_bytes="1b",
            dry_run=False,
        )
        time.sleep(0.5)  # longer than the retention, since the first vacuum has marked what it found
        vacuum(select="whole", retention_hours=0.0001, allow_short_retention=True, dry_run=False)
        assert len(history(self.kernel(project), self.name(project, "whole"))) == 1
        assert len(history(self.kernel(project), self.name(project, "events"))) == 2
        assert self.rows(project, "whole") == before
        nothing = ["run-operation", "lakemerge_vacuum", "--args", "{select: nothing_*}"]
        assert "nothing_*: no table is selected" in run_dbt_and_capture(nothing)[1]
        vacuum(expect_pass=False)
        vacuum(table="whole", select="*", expect_pass=False)
        vacuum(table="whole", retain_last="some", expect_pass=False)
