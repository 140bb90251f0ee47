"""A project that dbt-spark has built goes on with lakemerge when only the type in the profile changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from dbt.tests.util import run_dbt

from lakemerge.kernel import Kernel, TableName
from lakemerge.kernel.maintenance.history import history

DAY = "select {{ var('day', 1) }} as day, id, concat('day ', {{ var('day', 1) }}) as v from {{ ref('ids') }}"
NEW = "{% if is_incremental() %} where {{ var('day', 1) }} > (select max(day) from {{ this }}){% endif %}"
MODELS = {
    "whole.sql": "{{ config(materialized='table', file_format='orc') }} " + DAY,
    "hive.sql": "{{ config(materialized='table', file_format='hive', options={'fileFormat': 'orc'}) }} "
    + DAY,
    "shown.sql": "select * from {{ ref('whole') }}",
    "added.sql": "{{ config(materialized='incremental', file_format='parquet') }} " + DAY + NEW,
    "replaced.sql": (
        "{{ config(materialized='incremental', incremental_strategy='insert_overwrite', partition_by='day', "
        "file_format='orc') }} select id, v, day from (" + DAY + ")"
    ),
    "keyed.sql": "{{ config(materialized='incremental', unique_key='id', file_format='orc') }} " + DAY,
}
DAYS = [(day, number, f"day {day}") for day in (1, 2) for number in (1, 2)]


class TestMoving:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return MODELS

    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return {"ids.csv": "id\n1\n2\n"}

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        # on Spark 3.5, dbt-spark's seeds are tables of text without it
        return {"seeds": {"+file_format": "parquet"}}

    def rows(self, project: Any, name: str) -> list[tuple[Any, ...]]:
        found = project.run_sql(f"select day, id, v from {project.test_schema}.{name}", fetch="all")
        return sorted(tuple(row) for row in found)

    def test_tables_are_taken_over_as_they_are(self, project: Any, tmp_path: Path) -> None:
        target = {
            "type": "spark",
            "method": "session",
            "host": "NA",
            "schema": project.test_schema,
            "threads": 1,
        }
        spark = {"test": {"target": "default", "outputs": {"default": target}}}
        (tmp_path / "profiles.yml").write_text(yaml.safe_dump(spark))
        run_dbt(["build", "--profiles-dir", str(tmp_path)])
        run_dbt(["build", "--vars", "day: 2", "--profiles-dir", project.profiles_dir])
        for name in ("added", "replaced"):
            assert self.rows(project, name) == DAYS, name
        for name in ("whole", "hive", "shown", "keyed"):
            # keyed: a key without a strategy appended, and merges now
            assert self.rows(project, name) == DAYS[2:], name
        with project.adapter.connection_named("look"):
            kernel = Kernel(project.adapter.handle.application.ports)
        for name in ("added", "replaced", "keyed"):
            commits = history(kernel, TableName(project.test_schema, name))
            assert [commit.version for commit in commits] == [1, 0], name
        assert kernel.settled(TableName(project.test_schema, "added"))[1].file_format == "parquet"
