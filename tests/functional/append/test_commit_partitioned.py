"""Tables of the append kind: each commit adds partitions of its own, and small ones are merged later."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.util import run_dbt

from lakemerge import compaction_thresholds
from lakemerge.kernel import Kernel, TableName
from lakemerge.kernel.maintenance.history import history

EVENTS = """
{{ config(materialized='incremental', incremental_strategy='append', append_layout='commit_partitioned',
          partition_by='country') }}
select {{ var('day', 1) }} as day, id, case when id % 2 = 0 then 'FI' else 'S/E' end as country
from range({{ var('rows', 4) }})
"""
PLAIN = """
{{ config(materialized='incremental', append_layout='commit_partitioned', on_schema_change='sync_all_columns') }}
select {{ var('day', 1) }} as day{% if var('wide', false) %}, 'x' as extra{% endif %}
"""
REWRITTEN = """
{{ config(materialized='incremental', append_layout=var('layout', 'rewrite')) }}
select {{ var('day', 1) }} as day
"""
TAKES_THE_COLUMN = """
{{ config(materialized='incremental', append_layout='commit_partitioned') }}
select 1 as id, 2 as _commit
"""


def run(model: str, expect_pass: bool = True, **variables: Any) -> Any:
    (result,) = run_dbt(["run", "--select", model, "--vars", str(variables)], expect_pass=expect_pass).results
    return result


@pytest.fixture(scope="class")
def models() -> dict[str, str]:
    return {
        "events.sql": EVENTS,
        "plain.sql": PLAIN,
        "rewritten.sql": REWRITTEN,
        "takes_the_column.sql": TAKES_THE_COLUMN,
    }


class TestCommitPartitioned:
    def sql(self, project: Any, text: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in project.run_sql(text, fetch="all")]

    def spark(self, project: Any) -> Any:
        """Another program's session: dbt's connection would take its statements for ours."""
        with project.adapter.connection_named("other"):
            return project.adapter.handle.spark.newSession()

    def kernel(self, project: Any) -> Kernel:
        with project.adapter.connection_named("kernel"):
            application = project.adapter.handle.application
        return Kernel(application.ports)

    def test_appends_add_partitions_and_small_ones_are_merged(
        self, project: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(compaction_thresholds, "PARTITIONS", 4)
        name = TableName(project.test_schema, "events")
        table = f"{project.test_schema}.events"
        for day in (1, 2, 3):
            run("events", day=day)
        kernel = self.kernel(project)
        newest = history(kernel, name)[0]
        assert newest.written == ("country=FI/_commit=3", "country=S%2FE/_commit=3")
        assert len(newest.partitions) == 6
        assert self.sql(project, f"select distinct day, _commit from {table} order by day") == [
            (1, 1),
            (2, 2),
            (3, 3),
        ]
        before = self.sql(project, f"select day, id, country from {table} order by 1, 2")
        run("events", day=4)
        compaction, append, *_ = history(kernel, name)
        assert (append.version, append.operation) == (4, "append")
        assert (compaction.version, compaction.operation) == (5, "compact")
        assert set(compaction.partitions) == {"country=FI/_commit=4", "country=S%2FE/_commit=4"}
        assert compaction.total_files == 2
        assert compaction.properties["rows"] == 16
        after = self.sql(project, f"select day, id, country from {table} order by 1, 2")
        assert after[: len(before)] == before
        assert len(after) == 16
        assert run("events", day=6).adapter_response["version"] == 6
        assert self.sql(project, f"select max(_commit), count(*) from {table}") == [(6, 20)]

    def test_a_run_without_rows_commits_nothing(self, project: Any) -> None:
        run("events", day=1)
        assert run("events", rows=0).adapter_response["version"] == 0

    @pytest.mark.slow
    def test_a_column_that_goes_is_dropped_from_every_commit(self, project: Any) -> None:
        table = f"{project.test_schema}.plain"
        run("plain", day=1)
        run("plain", day=2, wide=True)
        rows = self.sql(project, f"select day, extra, _commit from {table} order by day")
        assert rows == [(1, None, 1), (2, "x", 2)]
        result = run("plain", day=3)
        assert result.adapter_response["inserted"] == 1
        rows = self.sql(project, f"select * from {table} order by day")
        assert rows == [(1, 1), (2, 2), (3, 3)]
        # after another program's write, nobody knows how many rows there are
        run("plain", day=4, wide=True)
        self.spark(project).sql(f"insert into {table} values (9, 'y', 2)")
        result = run("plain", day=5)
        assert result.adapter_response["inserted"] == 1
        rows = self.sql(project, f"select * from {table} order by day")
        assert rows == [(1, 1), (2, 2), (3, 3), (4, 4), (5, 6), (9, 2)]

    @pytest.mark.slow
    def test_the_layout_changes_by_a_full_refresh_only(self, project: Any) -> None:
        table = f"{project.test_schema}.rewritten"
        run("rewritten", day=1)
        refused = run("rewritten", expect_pass=False, day=2, layout="commit_partitioned")
        assert "--full-refresh" in refused.message
        arguments = ["run", "--select", "rewritten", "--full-refresh", "--vars"]
        run_dbt([*arguments, "{day: 3, layout: commit_partitioned}"])
        run("rewritten", day=4)
        assert self.sql(project, f"select day, _commit from {table} order by day") == [(3, 2), (4, 3)]
        run_dbt([*arguments, "{day: 5}"])
        run("rewritten", day=6)
        assert self.sql(project, f"select * from {table} order by day") == [(5,), (6,)]

    def test_the_commit_column_is_lakemerge_s_own(self, project: Any) -> None:
        result = run("takes_the_column", expect_pass=False)
        assert "except_column_list" in result.message
