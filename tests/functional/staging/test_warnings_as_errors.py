"""`--warn-error`: a test that would warn stops the publication, unless `warn_error_options` leave it a warning."""

from __future__ import annotations

import json
from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

from lakemerge.engine.publish.publisher import Publisher

from .conftest import Shop

pytestmark = pytest.mark.slow

ORDERS = """
{{ config(materialized='table', publish='after_tests') }}
select id, amount from {{ target.schema }}.raw_orders
"""
SHOWN = "{{ config(materialized='view', publish='after_tests') }} select count(*) as orders from {{ ref('orders') }}"
PROPERTIES = """
models:
  - name: orders
    columns:
      - name: amount
        data_tests: [not_null: {name: amount_is_known, config: {severity: warn}}]
"""
OPTIONS = "--warn-error-options"


@pytest.fixture(scope="class")
def models() -> dict[str, str]:
    return {"orders.sql": ORDERS, "shown.sql": SHOWN, "properties.yml": PROPERTIES}


class TestOfTests:
    def test_1_a_test_that_would_warn_fails_and_nothing_is_published(self, shop: Shop) -> None:
        shop.land((1, "n", None))
        for flags in (["--warn-error"], [OPTIONS, json.dumps({"error": ["LogTestResult"]})]):
            results = shop.dbt(*flags, "build", passes=False)
            assert str(results["amount_is_known"].status) == "fail"
            assert "test amount_is_known failed" in results["orders"].message
            assert shop.exists("orders", "shown") == []

    def test_2_it_warns_and_all_is_published_where_dbt_leaves_it_a_warning(self, shop: Shop) -> None:
        # the other two are lines of the test at the end of the run, which can be errors from dbt-core 1.12 on
        names = ["LogTestResult", "RunResultWarning", "RunResultWarningMessage"]
        allowed = json.dumps({"error": "all", "warn": names})
        for number, flags in enumerate(([OPTIONS, allowed], []), 1):
            results = shop.dbt(*flags, "build")
            assert str(results["amount_is_known"].status) == "warn"
            assert shop.versions("orders") == [number]
            assert shop.rows("shown") == [(1,)]


class TestOfLakemerge:
    """Where dbt raises an error in the place of any warning, it does not in the midst of a publication."""

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"flags": {"require_all_warnings_handled_by_warn_error": True}}

    def test_1_a_build_that_publishes_nothing_ends_with_its_results(self, shop: Shop) -> None:
        shop.land((1, "n", None))
        results = shop.dbt("--warn-error", "build", passes=False)
        assert {name: str(results[name].status) for name in ("orders", "shown", "amount_is_known")} == {
            "orders": "skipped",
            "shown": "skipped",
            "amount_is_known": "fail",
        }
        assert shop.exists("orders", "shown") == []

    def test_2_what_follows_a_publication_is_done_as_far_as_it_can_be(
        self, shop: Shop, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(_: Publisher[Any]) -> None:
            raise DbtRuntimeError("Spark is not told of it")

        monkeypatch.setattr(Publisher, "refresh", fail)
        shop.land((1, "n", 10))
        results = shop.dbt("--warn-error", "build")
        assert results["orders"].adapter_response["version"] == 1
        assert shop.rows("shown") == [(1,)]
