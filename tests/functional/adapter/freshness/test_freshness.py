"""`dbt source freshness` without a column that tells, and what of dbt's has no place here."""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt
from dbt_common.exceptions import DbtConfigError

SOURCES = """
sources:
  - name: landing
    schema: "{{ target.schema }}"
    freshness: {error_after: {count: 1, period: day}}
    tables: [{name: model}, {name: plain}, {name: shown}, {name: absent}]
"""
MODEL = "{{ config(materialized='incremental', unique_key='id') }} select 1 as id"
CATALOGS = """
catalogs:
  - name: lake
    active_write_integration: lake
    write_integrations: [{name: lake, catalog_type: unity, table_format: iceberg}]
"""


class TestFreshness:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"model.sql": MODEL, "sources.yml": SOURCES}

    def freshness(self, *names: str) -> dict[str, Any]:
        selected = " ".join(f"source:landing.{name}" for name in names)
        results = run_dbt(["source", "freshness", "--select", selected], expect_pass=None).results  # type: ignore[arg-type]
        return {result.node.name: result for result in results}

    def test_commits_and_files_tell_when_a_source_changed(self, project: Any, warehouse: Path) -> None:
        run_dbt(["run", "--select", "model"])
        project.run_sql("create table {schema}.plain (id int) stored as orc")
        project.run_sql("insert into {schema}.plain values (1)")
        files = list((warehouse / f"{project.test_schema}.db" / "plain").glob("part*"))
        for file in files:
            os.utime(file, (0, 86400))
        found = self.freshness("model", "plain")
        assert {name: str(result.status) for name, result in found.items()} == {
            "model": "pass",
            "plain": "error",
        }
        assert found["plain"].max_loaded_at == datetime.datetime(1970, 1, 2, tzinfo=datetime.timezone.utc)
        # a merge that finds nothing to change is no news of the source
        before = found["model"].max_loaded_at
        run_dbt(["run", "--select", "model"])
        assert self.freshness("model")["model"].max_loaded_at == before
        # an insert leaves the metastore's own time as it was
        project.run_sql("insert into {schema}.plain values (2)")
        assert str(self.freshness("plain")["plain"].status) == "pass"

    def test_a_view_and_what_is_not_there_tell_nothing(self, project: Any) -> None:
        project.run_sql("create view {schema}.shown as select 1 as id")
        found = self.freshness("shown", "absent")
        assert "set loaded_at_field or loaded_at_query" in " ".join(found["shown"].message.split())
        assert "no such table" in found["absent"].message


class TestWhatHasNoPlaceHere:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"summed.sql": "{{ config(materialized='materialized_view') }} select 1 as id"}

    def test_a_materialized_view_is_refused_with_what_to_use(self, project: Any) -> None:
        (result,) = run_dbt(["run"], expect_pass=False).results
        message = " ".join(result.message.split())
        assert "found materialized_view on" in message
        assert (
            "Use table, which every run computes again, incremental, which adds what is new, or view"
            in message
        )

    def test_a_catalog_is_refused_with_the_tables_that_there_are(self, project: Any) -> None:
        catalogs = Path(project.project_root, "catalogs.yml")
        catalogs.write_text(CATALOGS)
        try:
            with pytest.raises(DbtConfigError, match="found lake, of type unity") as raised:
                run_dbt(["parse"])
        finally:
            catalogs.unlink()
        assert "lakemerge supports no type of catalog" in str(raised.value)
