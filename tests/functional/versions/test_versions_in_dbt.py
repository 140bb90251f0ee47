"""Versions in models, tests and operations of dbt."""

from __future__ import annotations

import time
from typing import Any

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture

MASTER = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', sequence_by='ts',
          partition_by=['region'], on_schema_change='append_new_columns') }}
select 1 as id, {{ var('ts', 1) }} as ts, 'south' as region
union all select 2 + {{ var('ts', 1) }}, {{ var('ts', 1) }}, 'north'
"""
BEFORE = """
{{ config(materialized=var('kind', 'table')) }}
select * from {{ version_of(ref('master'), version=1) }} where region = 'north'
"""
SINCE = """
select * from {{ version_of(ref('master'), tag='first') }} where ts <> 1
"""


class TestVersionsInDbt:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"master.sql": MASTER, "before.sql": BEFORE}

    @pytest.fixture(scope="class")
    def tests(self) -> dict[str, str]:
        return {"since.sql": SINCE}

    def run(self, *arguments: str, ok: bool = True) -> Any:
        return run_dbt(list(arguments), expect_pass=ok)

    def rows(self, project: Any, table: str) -> list[tuple[Any, ...]]:
        return sorted(
            map(tuple, project.run_sql(f"select * from {project.test_schema}.{table}", fetch="all"))
        )

    def test_versions_are_read_and_named(self, project: Any) -> None:
        self.run("run", "--select", "master")
        self.run("run-operation", "lakemerge_tag", "--args", "{table: master, tag: first, as_table: true}")
        self.run("run", "--select", "master", "--vars", "{ts: 2}")
        self.run("run", "--select", "before")
        assert self.rows(project, "before") == [(3, 1, "north")]
        assert self.rows(project, "master__first") == [(1, 1, "south"), (3, 1, "north")]
        self.run("test")
        self.run("compile")
        shown = self.run(
            "show", "--inline", "select count(*) as n from {{ version_of(ref('master'), version=1) }}"
        )
        assert shown.results[0].agate_table.rows[0]["n"] == 2
        nowhere = "select * from {{ version_of(ref('master'), group='another') }}"
        with pytest.raises(Exception, match="committed by the group another"):
            self.run("show", "--inline", nowhere)
        # limits are those of the relation
        self.run("run", "--select", "before", "--empty")
        assert self.rows(project, "before") == []
        result = self.run("run", "--select", "before", "--vars", "{kind: materialized_view}", ok=False)
        assert "read when it runs" in result.results[0].message
        _, log = run_dbt_and_capture(["run-operation", "lakemerge_history", "--args", "{table: master}"])
        assert "tagged first" in log
        shown = self.run(
            "show",
            "--inline",
            "select version, metrics['inserted'] as inserted, tags[0] as tag, node, "
            "year(committed_at) > 2020 as is_dated from {{ history_of(ref('master')) }} "
            "where operation = 'merge' order by version",
        )
        assert [tuple(row.values())[1:] for row in shown.results[0].agate_table.rows] == [
            (2, "first", "model.test.master", True),
            (1, None, "model.test.master", True),
        ]
        self.run("run-operation", "lakemerge_untag", "--args", "{table: master, tag: first}")
        result = self.run("test", ok=False)
        assert "no named version" in result.results[0].message


CHANGED = """
{{ config(materialized='table') }}
select id, ts, _change_type as what, _commit_version as version
from {{ changes(ref('master'), from_version=1, preimages=false) }}
"""


class TestOperations:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"master.sql": MASTER, "changed.sql": CHANGED}

    def operation(self, name: str, **arguments: Any) -> str:
        _, log = run_dbt_and_capture(["run-operation", name, "--args", str({"table": "master", **arguments})])
        return str(log)

    def test_changes_differences_and_restores(self, project: Any) -> None:
        run_dbt(["run", "--select", "master"])
        run_dbt(["run", "--select", "master", "--vars", "{ts: 2}"])
        run_dbt(["run", "--select", "changed"])
        found = sorted(
            map(tuple, project.run_sql(f"select * from {project.test_schema}.changed", fetch="all"))
        )
        assert found == [(1, 2, "update_postimage", 2), (4, 2, "insert", 2)]
        log = self.operation("lakemerge_diff", from_version=1, samples=9)
        assert "versions 1 to 2: 1 inserted, 1 updated, 0 deleted, in 2 partitions that differ" in log
        assert "ts: updated in 1 rows" in log
        assert "'_change_type': 'update_preimage'" in log
        rows = f"select id, ts from {project.test_schema}.master"
        before = sorted(map(tuple, project.run_sql(rows, fetch="all")))
        assert "would be restored: 0 inserted, 1 updated, 1 deleted" in self.operation(
            "lakemerge_restore", version=1
        )
        assert sorted(map(tuple, project.run_sql(rows, fetch="all"))) == before
        assert "is restored by version 3" in self.operation("lakemerge_restore", version=1, dry_run=False)
        assert sorted(map(tuple, project.run_sql(rows, fetch="all"))) == [(1, 1), (3, 1)]
        assert "it is as it was at version 1" in self.operation("lakemerge_restore", version=1, dry_run=False)
        run_dbt(["run", "--select", "changed", "--empty"])
        assert project.run_sql(f"select * from {project.test_schema}.changed", fetch="all") == []


FEED = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', sequence_by='ts',
          apply_as_deletes="op = 'D'", except_column_list=['op']) }}
select * from values {{ var('rows') }} as f(id, price, ts, op)
"""
MART = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id',
          sequence_by='_commit_version', apply_as_deletes="_change_type = 'delete'",
          except_column_list=['_change_type']) }}
{%- set last = none -%}
{%- if is_incremental() -%}
    {%- set last = run_query('select max(_commit_version) from ' ~ this).columns[0].values()[0] -%}
{%- endif %}
select id, price * 2 as price, _change_type, _commit_version
from {{ changes(ref('feed'), from_version=last, net=true, preimages=false) }}
"""


@pytest.mark.slow
class TestFollowing:
    """A mart that is merged from the changes of its master, as the guide shows it."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"feed.sql": FEED, "mart.sql": MART}

    def test_a_mart_has_what_its_master_has(self, project: Any) -> None:
        rows = f"select id, price from {project.test_schema}.mart"
        for feed, expected in {
            "(1, 10, 1, 'I'), (2, 20, 1, 'I')": [(1, 20), (2, 40)],
            "(1, 11, 2, 'U'), (2, 0, 2, 'D')": [(1, 22)],
            "(2, 5, 3, 'I'), (3, 6, 3, 'I')": [(1, 22), (2, 10), (3, 12)],
            "(3, 6, 4, 'D')": [(1, 22), (2, 10)],
        }.items():
            run_dbt(["run", "--vars", str({"rows": feed})])
            assert sorted(map(tuple, project.run_sql(rows, fetch="all"))) == expected
        # changes that come again change nothing
        run_dbt(["run", "--select", "mart", "--vars", str({"rows": "(9, 9, 9, 'I')"})])
        assert sorted(map(tuple, project.run_sql(rows, fetch="all"))) == [(1, 22), (2, 10)]


EXACT = "{{ config(materialized='view') }} select * from {{ version_of(ref('master')) }}"
FIRST = "{{ config(materialized='view') }} select id from {{ version_of(ref('master'), version=1) }}"
NOWHERE = "{{ config(materialized='view') }} select * from {{ version_of(ref('master'), version=99) }}"


class TestViewsOfVersions:
    """Views that show a version: what they show changes when they are built, and then at once."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        master = MASTER.replace(
            "'append_new_columns'", "'append_new_columns', publish=var('publish', 'at_once')"
        )
        return {"master.sql": master, "exact.sql": EXACT, "first.sql": FIRST, "nowhere.sql": NOWHERE}

    def test_views_show_what_they_were_built_on(self, project: Any) -> None:
        def rows(table: str) -> list[tuple[Any, ...]]:
            found = project.run_sql(f"select * from {project.test_schema}.{table}", fetch="all")
            return sorted(map(tuple, found))

        def made(view: str) -> str:
            found = project.run_sql(f"describe formatted {project.test_schema}.{view}", fetch="all")
            return next(str(row[1]) for row in found if row[0] == "Created Time")

        def commits() -> int:
            counted = "select count(*) as n from {{ history_of(ref('master')) }}"
            return int(run_dbt(["show", "--inline", counted]).results[0].agate_table.rows[0]["n"])

        run_dbt(["run", "--select", "master", "exact", "first"])
        assert rows("exact") == [(1, 1, "south"), (3, 1, "north")]
        first = made("exact")
        time.sleep(1)
        run_dbt(["run", "--select", "master", "--vars", "{ts: 2}"])
        assert rows("exact") == [(1, 1, "south"), (3, 1, "north")]
        waits = run_dbt(
            ["run", "--select", "master", "exact", "--vars", "{ts: 3, publish: after_tests}"],
            expect_pass=False,
        )
        messages = {result.node.name: str(result.message) for result in waits.results}
        assert "a run of its own" in messages["exact"]
        run_dbt(["run", "--select", "exact", "first"])
        assert rows("exact") == rows("master")
        assert rows("first") == [(1,), (3,)]
        assert made("exact") == first, "it has been altered, and not been dropped and made again"
        before = commits()
        run_dbt(["run", "--select", "exact", "first"])
        run_dbt(["compile"])
        run_dbt(["run", "--select", "exact", "--empty"])
        assert rows("exact") == []
        run_dbt(["run", "--select", "exact"])
        assert rows("exact") == rows("master")
        assert commits() == before
        failed = run_dbt(["run", "--select", "nowhere"], expect_pass=False)
        assert "version 99" in failed.results[0].message
        run_dbt(["run-operation", "lakemerge_drop", "--args", "{table: master, dry_run: false}"])
        shown = project.run_sql(f"show tables in {project.test_schema}", fetch="all")
        assert not [row for row in shown if "master" in row[1]]
