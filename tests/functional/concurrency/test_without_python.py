"""Executors without Python: what lakemerge itself makes needs none there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

RAW = """
{{ config(materialized='incremental', incremental_strategy='append', append_layout='commit_partitioned',
          partition_by='country') }}
select id, 'p' as country from range(3)
"""
CONSUMED = """
{{ config(materialized='incremental', unique_key='id', partition_by='country') }}
select id, country from {{ consume(ref('raw'), where="country is not null") }}
"""
LANDED = """
{{ config(materialized='ingest', landing=var('landing'), settle_seconds=0, partition_by='part') }}
"""
COLUMNS = """
models:
  - name: landed
    columns: [{name: id, data_type: int}, {name: part, data_type: string}]
"""


@pytest.mark.slow
def test_consumers_and_ingests_need_none(
    dbt_project: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/nowhere/python3")
    project = dbt_project("without_python")
    project.write("models/raw.sql", RAW)
    project.write("models/consumed.sql", CONSUMED)
    project.write("models/landed.sql", LANDED)
    project.write("models/columns.yml", COLUMNS)
    project.write("landing/1.csv", "1,a\n2,b\n")
    with project.commands() as dbt:
        arguments = "--vars", f"{{landing: {project.root / 'landing'}}}"
        for _ in range(2):
            dbt.succeed("run", *arguments)
        # nothing is new: frames without rows
        dbt.succeed("run", "--exclude", "raw", *arguments)
        assert dbt.rows("select count(*) from {{ ref('consumed') }}", *arguments) == [[3]]
        assert dbt.rows("select id, part from {{ ref('landed') }} order by id", *arguments) == [
            [1, "a"],
            [2, "b"],
        ]
