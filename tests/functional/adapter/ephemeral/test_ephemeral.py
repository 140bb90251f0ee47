"""dbt's suite "ephemeral"; the text of the views is ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dbt.tests.adapter.ephemeral.test_ephemeral import (
    BaseEphemeralErrorHandling,
    BaseEphemeralMulti,
    BaseEphemeralNested,
)
from dbt.tests.util import check_relations_equal, run_dbt


def created_view(name: str) -> str:
    """The SQL that made a view, in one line."""
    return " ".join(Path("target", "run", "test", "models", f"{name}.sql").read_text().split())


@pytest.mark.slow
class TestEphemeralMulti(BaseEphemeralMulti):
    def test_ephemeral_multi(self, project: Any) -> None:
        run_dbt(["seed"])
        assert len(run_dbt(["run"])) == 3
        for model in ("dependent", "double_dependent", "super_dependent"):
            check_relations_equal(project.adapter, ["seed", model])
        sql = created_view("double_dependent")
        assert sql.startswith(f"create or replace view {project.test_schema}.double_dependent as with ")
        # both branches of the graph share one CTE
        assert sql.count("__dbt__cte__base as (") == 1


class TestEphemeralNested(BaseEphemeralNested):
    def test_ephemeral_nested(self, project: Any) -> None:
        assert len(run_dbt(["run"])) == 2
        assert created_view("root_view") == (
            f"create or replace view {project.test_schema}.root_view as with "
            "__dbt__cte__ephemeral_level_two as ( "
            f"select * from {project.test_schema}.source_table ), "
            "__dbt__cte__ephemeral as ( select * from __dbt__cte__ephemeral_level_two ) "
            "select * from __dbt__cte__ephemeral"
        )


class TestEphemeralErrorHandling(BaseEphemeralErrorHandling):
    pass
