"""The operation, on what a dbt project has built: rows of an ingest, its quarantine, and a snapshot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture

from functional.erasure.test_erasure import MARK, holding

ALERTS = """
{{ config(materialized='ingest', landing=var('landing'), settle_seconds=0, tblproperties={'orc.compress': 'NONE'},
          contract={'enforced': true}) }}
"""
YML = """
models:
  - name: alerts
    columns: [{name: id, data_type: int}, {name: name, data_type: string}]
"""
SNAPSHOT = """
{% snapshot names %}
{{ config(unique_key='id', strategy='check', check_cols='all', tblproperties={'orc.compress': 'NONE'}) }}
select id, name from {{ ref('alerts') }}
{% endsnapshot %}
"""
LANDED = f"1,one\n2,{MARK}\nx,{MARK}bad\ny,other\n"


class TestErasureInDbt:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"alerts.sql": ALERTS, "alerts.yml": YML}

    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        return {"names.sql": SNAPSHOT}

    @pytest.fixture(scope="class")
    def landing(self, tmp_path_factory: pytest.TempPathFactory) -> Path:
        folder = tmp_path_factory.mktemp("landing")
        (folder / "a.csv").write_text(LANDED)
        return folder

    @pytest.fixture(scope="class")
    def project_config_update(self, landing: Path) -> dict[str, Any]:
        return {"vars": {"landing": str(landing)}}

    def rows(self, project: Any, table: str, columns: str) -> list[tuple[Any, ...]]:
        found = project.run_sql(f"select {columns} from {project.test_schema}.{table}", fetch="all")
        return sorted(map(tuple, found))

    def test_all_that_a_project_has_of_a_person(self, project: Any) -> None:
        run_dbt(["build"])
        assert len(self.rows(project, "alerts__quarantine", "record")) == 2
        conditions = (
            f"{{alerts: \"name = '{MARK}'\", names: \"name like '{MARK}%'\", "
            f"alerts__quarantine: \"record like '%{MARK}%'\"}}"
        )
        args = f"{{conditions: {conditions}}}"
        _, told = run_dbt_and_capture(["run-operation", "lakemerge_erase", "--args", args])
        assert "would erase 1 rows" in told
        assert "this is a dry run" in told
        assert len(self.rows(project, "alerts__quarantine", "record")) == 2
        run_dbt(["run-operation", "lakemerge_erase", "--args", args[:-1] + ", dry_run: false}"])
        assert self.rows(project, "alerts", "id, name") == [(1, "one")]
        assert self.rows(project, "names", "id, name") == [(1, "one")]
        assert self.rows(project, "alerts__quarantine", "record") == [("y,other",)]
        for table in ("alerts", "names"):
            root = self.root(project, table)
            assert holding(root) == []
        # what was read once is not read again
        run_dbt(["build"])
        assert self.rows(project, "alerts", "id, name") == [(1, "one")]

    @pytest.mark.slow
    def test_what_a_snapshot_makes_of_statements(self, project: Any) -> None:
        """It has no ledger: the current rows are compared with the source."""
        names = f"{project.test_schema}.names"
        project.run_sql(f"update {names} set name = 'corrected' where id = 1")
        run_dbt(["snapshot"])
        found = self.rows(project, "names", "name, dbt_valid_to is null")
        assert found == [("corrected", False), ("one", True)]
        project.run_sql(f"update {names} set name = null where dbt_valid_to is not null")
        run_dbt(["snapshot"])
        assert self.rows(project, "names", "coalesce(name, '-'), dbt_valid_to is null") == [
            ("-", False),
            ("one", True),
        ]
        project.run_sql(f"delete from {names} where id = 1")
        run_dbt(["snapshot"])
        assert self.rows(project, "names", "name, dbt_valid_to is null") == [("one", True)]

    def root(self, project: Any, table: str) -> Path:
        rows = project.run_sql(f"describe formatted {project.test_schema}.{table}", fetch="all")
        found = next(str(row[1]) for row in rows if row[0] == "Location")
        return Path(found.removeprefix("file:").partition("/_lakemerge")[0].replace("//", "/"))
