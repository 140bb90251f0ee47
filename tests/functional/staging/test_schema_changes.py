"""Columns that change in a build that publishes after its tests, and tests that may fail a little."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Shop

pytestmark = pytest.mark.slow

ORDERS = """
{{ config(materialized='incremental', unique_key='id', on_schema_change=var('policy', 'fail'),
          write_mode='%s') }}
select id, region, amount {% if var('notes', false) %}, nullif(concat('note ', id), 'note 2') as note {% endif %}
from {{ target.schema }}.raw_orders
"""
COPIED = "{{ config(materialized='table') }} select * from {{ ref('orders') }}"
SHOWN = "{{ config(materialized='view') }} select * from {{ ref('orders') }}"
NOTED = """
select id from {{ ref('orders') }} {% if var('notes', false) %} where note is null {% else %} limit 0 {% endif %}
"""
PROPERTIES = """
data_tests:
  - name: noted
    config: {warn_if: "> {{ var('tolerated', 0) }}", error_if: "> {{ var('tolerated', 0) + 1 }}"}
"""


@pytest.fixture(scope="class")
def tests() -> dict[str, str]:
    return {"noted.sql": NOTED, "properties.yml": PROPERTIES}


@pytest.fixture(scope="class")
def project_config_update() -> dict[str, Any]:
    return {"models": {"+publish": "after_tests"}}


def given(**variables: Any) -> tuple[str, str]:
    return "--vars", str(variables)


class TestColumnsThatChange:
    """One project through its life: each test goes on where the one before ended."""

    @pytest.fixture(scope="class")
    def write_mode(self) -> str:
        return "copy_on_write"

    @pytest.fixture(scope="class")
    def models(self, write_mode: str) -> dict[str, str]:
        return {"orders.sql": ORDERS.replace("%s", write_mode), "copied.sql": COPIED, "shown.sql": SHOWN}

    def test_1_a_column_that_the_policy_refuses_is_an_error_and_nothing_is_published(
        self, shop: Shop
    ) -> None:
        shop.land((1, "n", 10))
        shop.dbt("build")
        before = shop.versions("orders", "copied")
        shop.land((2, "s", 20), (3, "n", 30))
        results = shop.dbt("build", *given(notes=True), passes=False)
        assert "note" in results["orders"].message
        assert {str(results[name].status) for name in ("copied", "shown", "noted")} == {"skipped"}
        assert shop.versions("orders", "copied") == before
        assert shop.left_views() == []

    def test_2_a_test_of_the_new_column_keeps_it_from_readers(self, shop: Shop) -> None:
        """Of the three rows two have no note: the first was there before, and the second gets none."""
        wide = given(notes=True, policy="append_new_columns")
        results = shop.dbt("build", *wide, passes=False)
        assert str(results["noted"].status) == "fail"
        assert shop.rows("orders") == shop.rows("copied") == shop.rows("shown") == [(1, "n", 10)]

    def test_3_a_warning_publishes_it_to_all_at_once(self, shop: Shop, before_the_end: Any) -> None:
        seen = before_the_end(lambda: [shop.rows(name) for name in ("orders", "copied", "shown")])
        wide = given(notes=True, policy="append_new_columns", tolerated=1)
        results = shop.dbt("build", *wide)
        assert str(results["noted"].status) == "warn"
        assert seen == [[[(1, "n", 10)]] * 3]
        rows = [(1, "n", 10, None), (2, "s", 20, None), (3, "n", 30, "note 3")]
        assert shop.rows("orders") == shop.rows("copied") == shop.rows("shown") == rows

    def test_4_a_column_that_goes_goes_for_all_at_once(self, shop: Shop, before_the_end: Any) -> None:
        seen = before_the_end(lambda: len(shop.rows("shown", "note")))
        shop.land((3, "n", 31))
        shop.dbt("build", *given(policy="sync_all_columns"))
        assert seen == [3]
        rows = [(1, "n", 10), (2, "s", 20), (3, "n", 31)]
        assert shop.rows("orders") == shop.rows("copied") == shop.rows("shown") == rows


class TestMergeOnRead(TestColumnsThatChange):
    @pytest.fixture(scope="class")
    def write_mode(self) -> str:
        return "merge_on_read"
