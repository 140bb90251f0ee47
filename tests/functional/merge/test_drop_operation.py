"""`lakemerge_drop`: a table goes with all that it keeps, and nothing else does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture

CHANGES = """
select * from values (1, 'north', 5, 'U'), (2, 'south', 5, 'U'), (3, 'south', 5, 'D') as (id, region, ts, op)
"""
MASTER = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', sequence_by='ts',
          apply_as_deletes="op = 'D'", except_column_list=['op'], partition_by='region',
          write_mode=var('mode')) }}
select * from {{ ref('changes') }}
"""
SHOWN = "{{ config(materialized='view') }} select id from {{ ref('master') }}"


def drop(expect_pass: bool = True, **arguments: Any) -> str:
    command = ["run-operation", "lakemerge_drop", "--args", json.dumps(arguments)]
    _, output = run_dbt_and_capture(command, expect_pass=expect_pass)
    return str(output)


class TestDrop:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"changes.sql": CHANGES, "master.sql": MASTER, "shown.sql": SHOWN}

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"vars": {"mode": "copy_on_write"}}

    def tables(self, project: Any) -> set[str]:
        with project.adapter.connection_named("tables"):
            metastore = project.adapter.handle.application.metastore
            return {row.name for row in metastore.table_summaries(project.test_schema)}

    @pytest.mark.parametrize("mode", [pytest.param("copy_on_write", marks=pytest.mark.slow), "merge_on_read"])
    def test_a_table_goes_with_all_that_it_keeps(self, project: Any, warehouse: Path, mode: str) -> None:
        build = ["run", "--vars", f"mode: {mode}"]
        run_dbt(build)
        before = self.tables(project)
        assert "would be dropped" in drop(table="master")
        assert self.tables(project) == before
        assert ": dropped" in drop(table=f"{project.test_schema}.master", dry_run=False)
        assert self.tables(project) == {"changes", "shown"}
        assert not [path for path in warehouse.rglob("master*") if project.test_schema in str(path)]
        run_dbt(build)
        rows = project.run_sql(f"select id from {project.test_schema}.master order by id", fetch="all")
        assert [row[0] for row in rows] == [1, 2]

    def test_what_is_no_table_is_refused(self, project: Any) -> None:
        run_dbt(["run"])
        before = self.tables(project)
        deeper = f"{project.test_schema}.other.master"
        assert "as table or schema.table; found" in drop(expect_pass=False, table=deeper, dry_run=False)
        assert "dry_run must be true or false" in drop(expect_pass=False, table="master", dry_run=None)
        vacuum = ["run-operation", "lakemerge_vacuum", "--args"]
        for wrong in ({"table": deeper}, {"select": deeper}, {"table": "master", "retention_hours": -1}):
            _, output = run_dbt_and_capture([*vacuum, json.dumps(wrong)], expect_pass=False)
            assert "as table or schema.table; found" in output or "a number of hours above 0" in output
        assert "TableNotFound" in drop(expect_pass=False, table="mastre", dry_run=False)
        refused = drop(expect_pass=False, table="shown", dry_run=False)
        assert "UnsupportedTable" in refused
        assert "Drop it in SQL" in refused
        assert self.tables(project) == before
