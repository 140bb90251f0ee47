"""dbt's suite "simple_copy"."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.simple_copy import fixtures
from dbt.tests.adapter.simple_copy.test_simple_copy import EmptyModelsArentRunBase, SimpleCopyBase
from dbt.tests.util import check_relations_equal, run_dbt


@pytest.mark.slow
class TestSimpleCopy(SimpleCopyBase):
    # Spark makes none
    test_simple_copy_with_materialized_views = None  # type: ignore[assignment]


@pytest.mark.slow
class TestEmptyModelsArentRun(EmptyModelsArentRunBase):
    @pytest.fixture(scope="class")
    def project(self, project: Any) -> Any:
        """The project, which asks dbt for its relations: Spark has no information schema."""

        def tables_in_schema() -> dict[str, str]:
            with project.adapter.connection_named("__test"):
                relations = project.adapter.list_relations(None, project.test_schema)
            return {relation.identifier: str(relation.type) for relation in relations}

        project.get_tables_in_schema = tables_in_schema
        return project


@pytest.mark.slow
class TestSimpleCopyUppercase:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "INCREMENTAL.sql": fixtures._MODELS__INCREMENTAL,
            "MATERIALIZED.sql": fixtures._MODELS__MATERIALIZED,
            "VIEW_MODEL.sql": fixtures._MODELS__VIEW_MODEL,
            "GET_AND_REF.sql": fixtures._MODELS_GET_AND_REF_UPPERCASE,
        }

    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return {"seed.csv": fixtures._SEEDS__SEED_INITIAL}

    def test_simple_copy_uppercase(self, project: Any) -> None:
        run_dbt(["seed"])
        assert len(run_dbt()) == 4
        check_relations_equal(
            project.adapter, ["seed", "VIEW_MODEL", "INCREMENTAL", "MATERIALIZED", "GET_AND_REF"]
        )
