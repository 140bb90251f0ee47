"""Statements where dbt runs SQL: hooks, run_query, statement blocks, operations."""

from __future__ import annotations

import json
from typing import Any

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture

from rings import of_rings

MODEL = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', sequence_by='ts',
          write_mode=var('mode', 'copy_on_write'),
          post_hook=["delete from {{ this }} where name is null",
                     "update {{ this }} set name = upper(name) where name = lower(name); "
                     "-- and delete from\\ninsert into {{ target.schema }}.log select count(*) from {{ this }}"]) }}
select * from (values (1, 'a', 1), (2, 'b', 1), (3, null, 1)) as v(id, name, ts)
"""
LOG = "{{ config(materialized='table') }} select 0L as seen"
MACROS = """
{% macro correct(text) %}
  {% set found = run_query(text.replace('@', target.schema)) %}
  {% do log('counts ' ~ tojson(dict(zip(found.column_names, found.rows[0] | map('int') | list))), info=true) %}
{% endmacro %}

{% macro merged() %}
  {% call statement('merged', fetch_result=false) %}
    /* a comment; with a semicolon */
    merge into {{ target.schema }}.customers as t
    using (select 2 as id, 'x' as name union all select 9, 'y') as s
    on t.id = s.id
    when matched then update set t.name = s.name
    when not matched then insert (id, name, ts) values (s.id, s.name, 7)
  {% endcall %}
  {% do log('response ' ~ tojson(load_result('merged')['response'].to_dict(omit_none=true)), info=true) %}
{% endmacro %}
"""


class TestStatementsInDbt:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "customers.sql": "-- depends_on: {{ ref('log') }}\n" + MODEL,
            "log.sql": LOG,
        }

    @pytest.fixture(scope="class")
    def macros(self) -> dict[str, str]:
        return {"corrections.sql": MACROS}

    def rows(self, project: Any, table: str = "customers") -> list[tuple[Any, ...]]:
        found = project.run_sql(f"select * from {project.test_schema}.{table}", fetch="all")
        return sorted(map(tuple, found))

    def operation(self, name: str, **arguments: str) -> dict[str, Any]:
        _, log = run_dbt_and_capture(["run-operation", name, "--args", json.dumps(arguments)])
        line = next(line for line in log.splitlines() if "counts {" in line or "response {" in line)
        found: dict[str, Any] = json.loads(line[line.index("{") :])
        return found

    @pytest.mark.parametrize("mode", of_rings(["copy_on_write", "merge_on_read"], ["merge_on_read"]))
    def test_hooks_and_operations(self, project: Any, mode: str) -> None:
        run_dbt(["run", "-s", "log", "customers", "--full-refresh", "--vars", json.dumps({"mode": mode})])
        assert self.rows(project) == [(1, "A", 1), (2, "B", 1)]
        assert self.rows(project, "log") == [(0,), (2,)]
        # the batch is delivered again: what was deleted and corrected stays so
        run_dbt(["run", "-s", "customers", "--vars", json.dumps({"mode": mode})])
        assert self.rows(project) == [(1, "A", 1), (2, "B", 1)]
        counts = self.operation("correct", text="delete from @.customers where id = 1")
        assert counts["num_affected_rows"] == counts["num_deleted_rows"] == 1
        response = self.operation("merged")
        assert (response["rows_affected"], response["inserted"], response["updated"]) == (2, 1, 1)
        assert self.rows(project) == [(2, "x", 1), (9, "y", 7)]

    def test_other_statements_go_to_spark(self, project: Any) -> None:
        project.run_sql(f"create table {project.test_schema}.plain (id int) stored as textfile")
        project.run_sql(f"insert into {project.test_schema}.plain values (1)")
        assert self.rows(project, "plain") == [(1,)]
        _, log = run_dbt_and_capture(
            ["run-operation", "correct", "--args", "{text: 'delete from @.plain where id = 1'}"],
            expect_pass=False,
        )
        assert "ORC or Parquet" in log, log
