"""dbt's suite "simple_copy"."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dbt.tests.adapter.simple_copy import fixtures
from dbt.tests.adapter.simple_copy.test_simple_copy import SimpleCopySetup
from dbt.tests.util import check_relations_equal, rm_file, run_dbt, write_file

MODELS = ("view_model", "incremental", "materialized", "get_and_ref")


class TestSimpleCopy(SimpleCopySetup):
    def test_simple_copy(self, project: Any) -> None:
        assert len(run_dbt(["seed"])) == 1
        assert len(run_dbt()) == 7
        check_relations_equal(project.adapter, ["seed", *MODELS])

        seed = Path(project.project_root, "seeds", "seed.csv")
        rm_file(seed)
        write_file(fixtures._SEEDS__SEED_UPDATE, seed)
        assert len(run_dbt(["seed"])) == 1
        assert len(run_dbt()) == 7
        check_relations_equal(project.adapter, ["seed", *MODELS])

        with project.adapter.connection_named("__test"):
            relations = project.adapter.list_relations(None, project.test_schema)
        names = {relation.identifier for relation in relations}
        assert not names & {"empty", "disabled"}


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
