"""What a Python model does when another commit overtakes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from dbt.tests.util import run_dbt

from functional import overtaking

pytestmark = pytest.mark.slow

# What the table holds is read while the model runs, and one is added to it.
COUNTER = """
from functional.overtaking import come_in

def model(dbt, session):
    dbt.config(materialized="incremental", incremental_strategy="merge", unique_key="id")
    if not dbt.is_incremental:
        return session.createDataFrame([(1, 10)], "id int, price int")
    price = session.table(f"{dbt.this}").first().price
    come_in()
    return session.createDataFrame([(1, price + 1)], "id int, price int")
"""

OWN_STRATEGY = """
def model(dbt, session):
    dbt.config(materialized="incremental", incremental_strategy="add")
    return session.range(2)
"""
ADD = """
{% macro get_incremental_add_sql(arguments) %}
    insert into {{ arguments.target_relation }} select * from {{ arguments.temp_relation }}
{% endmacro %}
"""


class TestPythonRedo:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"counter.py": COUNTER, "added.py": OWN_STRATEGY}

    @pytest.fixture(scope="class")
    def macros(self) -> dict[str, str]:
        return {"add.sql": ADD}

    @pytest.mark.parametrize(
        "moment",
        [overtaking.overtake, overtaking.come_in_next],
        ids=["commit", "computing"],
    )
    def test_the_model_is_computed_again_on_what_the_other_commit_left(
        self, project: Any, merger: Any, monkeypatch: pytest.MonkeyPatch, moment: Callable[..., None]
    ) -> None:
        table = merger({"unique_key": "id"}, "id int, price int")
        table.relation = project.adapter.Relation.create(
            schema=project.test_schema, identifier="counter", type="table"
        )
        before = table.history()[0]["version"]
        moment(monkeypatch, lambda: table.merge([{"id": 1, "price": 100}]))
        run_dbt(["run", "--select", "counter"])
        assert table.rows() == [{"id": 1, "price": 101}]
        assert table.history()[0]["version"] == before + 2

    def test_a_strategy_of_the_project_has_the_rows_too(self, project: Any, merger: Any) -> None:
        run_dbt(["run", "--select", "added", "--full-refresh"])
        run_dbt(["run", "--select", "added"])
        assert project.run_sql(f"select count(*) from {project.test_schema}.added", fetch="one")[0] == 4
