"""dbt's suite "dbt_clone": a clone copies the rows of a table, and makes views anew."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.adapter.dbt_clone import fixtures
from dbt.tests.adapter.dbt_clone.test_dbt_clone import (
    BaseClone,
    BaseCloneNotPossible,
    BaseClonePossible,
    BaseCloneSameSourceAndTarget,
    BaseCloneSameTargetAndState,
)
from dbt.tests.util import run_dbt, run_dbt_and_capture

# a tuple, for run_dbt adds to the list that it is given
CLONE = ("clone", "--state", "state", "--target", "otherschema")


@pytest.fixture(scope="class")
def writes_artifacts() -> bool:
    return True


@pytest.mark.slow
class TestClone(BaseClonePossible):
    pass


@pytest.mark.slow
class TestClonedRows(BaseClone):
    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return {"seed.csv": fixtures.seed_csv.replace("name", "FullName", 1)}

    def test_a_version_is_cloned(self, project: Any, unique_schema: str, other_schema: str) -> None:
        def clone(at: str, expect_pass: bool = True) -> Any:
            given = ["--select", "table_model", "--full-refresh", "--vars", f"{{lakemerge_clone_at: {at}}}"]
            return run_dbt([*CLONE, *given], expect_pass=expect_pass).results[0]

        project.create_test_schema(other_schema)
        self.run_and_save_state(project.project_root)
        run_dbt(["run-operation", "lakemerge_tag", "--args", "{table: table_model, tag: before}"])
        project.run_sql(f"update {unique_schema}.table_model set FullName = 'Zoe' where id = 1")
        for at in ("{tag: before}", "{version: 1}"):
            clone(at)
            rows = project.run_sql(f"select * from {other_schema}.table_model order by id", fetch="all")
            assert [tuple(row) for row in rows] == [(1, "Alice"), (2, "Bob")]
        assert "to have a version 9" in clone("{version: 9}", expect_pass=False).message
        for wrong in ("before", "{tags: before}"):
            assert "lakemerge_clone_at to be" in clone(wrong, expect_pass=False).message
        project.run_sql(f"drop table {other_schema}.table_model")

    def test_a_clone_has_the_rows_and_the_layout_of_its_original(
        self, project: Any, unique_schema: str, other_schema: str
    ) -> None:
        project.create_test_schema(other_schema)
        self.run_and_save_state(project.project_root, with_snapshot=True)
        assert len(run_dbt([*CLONE])) == 4
        relations = project.adapter.list_relations(database=project.database, schema=other_schema)
        assert Counter(str(relation.type) for relation in relations) == {"table": 3, "view": 1}
        partitions = project.run_sql(f"show partitions {other_schema}.my_cool_snapshot", fetch="all")
        assert [tuple(row) for row in partitions] == [("dbt_closed_in=0",)]
        for table in ("table_model", "seed"):
            rows = project.run_sql(f"select * from {other_schema}.{table} order by id", fetch="all")
            assert [tuple(row) for row in rows] == [(1, "Alice"), (2, "Bob")]
            described = project.run_sql(f"describe {other_schema}.{table}", fetch="all")
            assert [row[0] for row in described] == ["id", "FullName"]

        again = run_dbt([*CLONE])
        assert all("no-op" in result.message.lower() for result in again)
        assert len(run_dbt([*CLONE, "--full-refresh"])) == 4

        project.run_sql(f"drop table {other_schema}.table_model")
        model = Path(project.project_root, "models", "table_model.sql")
        model.write_text("{{ config(grants={'select': ['someone']}) }}" + model.read_text())
        refused = run_dbt([*CLONE, "--select", "table_model"], expect_pass=False)
        assert "Spark cannot grant rights on Hive tables" in refused.results[0].message
        left = project.adapter.list_relations(database=project.database, schema=other_schema)
        assert "table_model" not in {relation.identifier for relation in left}


@pytest.mark.slow
class TestCloneNotPossible(BaseCloneNotPossible):
    pass


@pytest.mark.slow
class TestCloneSameTargetAndState(BaseCloneSameTargetAndState):
    pass


@pytest.mark.slow
class TestCloneSameSourceAndTarget(BaseCloneSameSourceAndTarget):
    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        # the suite's snapshot reads a model that is left out here
        return {}

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"table_model.sql": fixtures.table_model_sql.replace("ephemeral_model", "seed")}

    @pytest.fixture(scope="class")
    def macros(self) -> dict[str, str]:
        return {"macros.sql": fixtures.macros_sql}

    def test_clone_same_source_and_target(self, project: Any, unique_schema: str) -> None:
        run_dbt(["seed"])
        run_dbt(["run"])
        self.copy_state(project.project_root)
        _, output = run_dbt_and_capture(
            ["clone", "--state", "state", "--full-refresh", "--log-level", "debug"]
        )
        assert "skipping clone for relation" in output
