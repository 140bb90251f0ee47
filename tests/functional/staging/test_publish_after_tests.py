"""`publish: after_tests`: what a build stages is read by its tests and models, and published whole or not at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture

from lakemerge.kernel import TableName

from .conftest import Shop

ORDERS = """
{{ config(materialized='incremental', unique_key='id', partition_by='region', persist_docs={'relation': true}) }}
select id, amount, region from {{ target.schema }}.raw_orders
"""
STOCK = """
{{ config(materialized='incremental', unique_key='id', write_mode='merge_on_read') }}
select id, amount from {{ ref('orders') }}
"""
JOURNAL = """
{{ config(materialized='incremental', append_layout='commit_partitioned') }}
select id, amount from {{ ref('large') }}
"""
LARGE = "{{ config(materialized='ephemeral') }} select * from {{ ref('orders') }} where amount >= 10"
TOTALS = """
{{ config(materialized='table') }}
select region, sum(amount) as total from {{ ref('orders') }} group by region
"""
BY_REGION = "{{ config(materialized='view') }} select region, total from {{ ref('totals') }}"
DEARER = "{{ config(materialized='table') }} select * from {{ ref('by_region') }} where total > 15"
BALANCED = """
select * from (select sum(total) as total from {{ ref('by_region') }}) t
join (select sum(amount) as amount from {{ ref('orders') }}) o on t.total <> o.amount
"""
PROPERTIES = """
version: 2
models:
  - name: orders
    description: all orders
    columns:
      - name: amount
        data_tests:
          - not_null:
              name: amount_is_known
              config: {severity: "{{ var('severity', 'error') }}"}
  - name: stock
    columns:
      - name: id
        data_tests: [unique]
"""

TABLES = ("orders", "stock", "journal", "totals", "dearer")
FIRST = ((1, "n", 10), (2, "s", 5))
SECOND = ((2, "s", 7), (3, "n", 20))
BROKEN = ((3, "n", None), (4, "w", 1))


@pytest.fixture(scope="class")
def writes_artifacts() -> bool:
    return True


@pytest.fixture(scope="class")
def models() -> dict[str, str]:
    return {
        "orders.sql": ORDERS,
        "stock.sql": STOCK,
        "journal.sql": JOURNAL,
        "large.sql": LARGE,
        "totals.sql": TOTALS,
        "by_region.sql": BY_REGION,
        "dearer.sql": DEARER,
        "properties.yml": PROPERTIES,
    }


@pytest.fixture(scope="class")
def tests() -> dict[str, str]:
    return {"balanced.sql": BALANCED}


@pytest.fixture(scope="class")
def project_config_update() -> dict[str, Any]:
    return {"models": {"+publish": "after_tests"}}


class TestBuilds:
    """One project through its life: each test goes on where the one before ended."""

    def test_1_tables_that_do_not_exist_are_made_together(self, shop: Shop, before_the_end: Any) -> None:
        shop.land(*FIRST)
        seen = before_the_end(lambda: shop.exists(*TABLES, "by_region"))
        results, log = run_dbt_and_capture(["build"])
        assert seen == [[]]
        assert shop.rows("orders") == [(1, 10, "n"), (2, 5, "s")]
        assert shop.rows("stock") == [(1, 10), (2, 5)]
        assert shop.rows("journal", "id, amount, _commit") == [(1, 10, 1)]
        assert shop.rows("totals") == shop.rows("by_region") == [("n", 10), ("s", 5)]
        assert shop.rows("dearer") == []
        # that of the stock is followed by one which lays its view over it
        (group,) = shop.groups("orders", "journal", "totals", "dearer")
        assert group
        assert shop.left_views() == []
        assert "global_temp" not in log
        assert f"{shop.schema}.orders" in log
        by_name = {result.node.name: result for result in results}
        assert by_name["orders"].adapter_response["version"] == 1
        name = TableName(shop.schema, "orders")
        assert shop.kernel().metastore.get_table(name).parameters["comment"] == "all orders"  # type: ignore[union-attr]

    def test_2_readers_see_the_old_rows_until_the_end(self, shop: Shop, before_the_end: Any) -> None:
        shop.land(*SECOND)
        seen = before_the_end(lambda: [shop.rows(name) for name in ("orders", "stock", "by_region")])
        shop.dbt("build")
        assert seen == [[[(1, 10, "n"), (2, 5, "s")], [(1, 10), (2, 5)], [("n", 10), ("s", 5)]]]
        assert shop.rows("orders") == [(1, 10, "n"), (2, 7, "s"), (3, 20, "n")]
        assert shop.rows("stock") == [(1, 10), (2, 7), (3, 20)]
        assert shop.rows("journal", "id, _commit") == [(1, 1), (1, 2), (3, 2)]
        assert shop.rows("by_region") == [("n", 30), ("s", 7)]
        assert shop.rows("dearer") == [("n", 30)]
        assert len(shop.groups("orders", "stock", "journal", "totals", "dearer")) == 1

    def test_3_a_test_that_fails_leaves_all_as_it_was(self, shop: Shop) -> None:
        versions = shop.versions(*TABLES)
        shop.land(*BROKEN)
        results = shop.dbt("build", passes=False)
        assert shop.versions(*TABLES) == versions
        assert shop.rows("orders") == [(1, 10, "n"), (2, 7, "s"), (3, 20, "n")]
        assert str(results["amount_is_known"].status) == "fail"
        assert str(results["orders"].status) == "skipped"
        assert "test amount_is_known failed" in results["orders"].message
        assert {str(results[name].status) for name in TABLES} == {"skipped"}
        assert shop.left_views() == []

    def test_4_what_was_staged_can_be_looked_at(self, shop: Shop) -> None:
        (found,) = self._operation(shop, "lakemerge_staged", {"select": "orders"})
        assert found["table"] == f"{shop.schema}.orders"
        assert "amount_is_known failed" in found["because"]
        query = "select id, amount, region from {{ lakemerge_staged_rows('orders') }} order by id"
        (shown,) = shop.dbt("show", "--inline", query, "--limit", "-1", "--no-write-json").values()
        rows = [tuple(row) for row in shown.agate_table.rows]
        assert rows == [(1, 10, "n"), (2, 7, "s"), (3, None, "n"), (4, 1, "w")]
        found = self._operation(shop, "lakemerge_diff", {"table": "orders", "staged": True, "key": "id"})
        assert (found["inserted"], found["updated"], found["deleted"]) == (1, 1, 0)
        assert found["updated_columns"] == {"amount": 1}

    @staticmethod
    def _operation(shop: Shop, macro: str, arguments: dict[str, Any]) -> Any:
        results = []
        adapter_class = type(shop.project.adapter)
        run = adapter_class.execute_macro

        def kept(*args: Any, **kwargs: Any) -> Any:
            results.append(run(*args, **kwargs))
            return results[-1]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(adapter_class, "execute_macro", kept)
            # else the next retry would repeat this command
            run_dbt(["run-operation", macro, "--args", json.dumps(arguments), "--no-write-json"])
        return results[-1]

    @pytest.mark.slow
    def test_5_a_retry_builds_and_tests_again_what_was_not_published(self, shop: Shop) -> None:
        shop.land((3, "n", 30), (4, "w", 1))
        results = shop.dbt("retry")
        assert {"orders", "amount_is_known", "stock", "totals", "balanced"} <= set(results)
        assert shop.rows("orders") == [(1, 10, "n"), (2, 7, "s"), (3, 30, "n"), (4, 1, "w")]
        assert shop.rows("by_region") == [("n", 40), ("s", 7), ("w", 1)]
        assert self._operation(shop, "lakemerge_staged", {}) == []

    @pytest.mark.slow
    def test_6_a_warning_publishes(self, shop: Shop) -> None:
        shop.land((4, "w", None))
        results = shop.dbt("build", "--vars", "severity: warn", "--exclude", "balanced")
        assert str(results["amount_is_known"].status) == "warn"
        assert (4, None, "w") in shop.rows("orders")

    def test_7_a_full_refresh_is_published_whole(self, shop: Shop, before_the_end: Any) -> None:
        shop.land(*FIRST)
        before, seen = shop.rows("orders"), before_the_end(lambda: shop.rows("orders"))
        shop.dbt("build", "--full-refresh")
        assert seen == [before]
        assert shop.rows("orders") == [(1, 10, "n"), (2, 5, "s")]
        assert shop.rows("stock") == [(1, 10), (2, 5)]
        assert shop.rows("journal", "id") == [(1,)]
        assert len(shop.groups("orders", "journal", "totals", "dearer")) == 1

    def test_8_a_run_without_tests_publishes_at_its_end(self, shop: Shop, before_the_end: Any) -> None:
        shop.land((2, "s", None))
        before = shop.versions("orders", "totals")
        seen = before_the_end(lambda: shop.rows("orders"))
        shop.dbt("run")
        assert seen == [[(1, 10, "n"), (2, 5, "s")]]
        assert shop.rows("orders") == [(1, 10, "n"), (2, None, "s")]
        assert shop.versions("orders", "totals") == [version + 1 for version in before]
        # tests that are run by themselves read what is published
        assert str(shop.dbt("test", passes=False)["amount_is_known"].status) == "fail"

    def test_9_of_two_builds_the_later_one_is_told(self, shop: Shop, before_the_end: Any) -> None:
        shop.land(*SECOND)

        def other_build() -> int:
            """What another process does in this moment: it publishes orders."""
            kernel = shop.kernel()
            name = TableName(shop.schema, "orders")
            txn = kernel.begin(name, "merge")
            txn.read(["region=s"])
            txn.remove(["region=s"])
            return txn.commit()

        versions = shop.versions("stock", "totals", "dearer")
        before_the_end(other_build)
        results = shop.dbt("build", passes=False)
        hook = next(one for one in results.values() if str(one.node.resource_type) == "operation")
        assert "NotPublished" in hook.message
        assert f"{shop.schema}.orders to be as it was read" in hook.message
        assert str(results["totals"].status) == "skipped"
        assert shop.versions("stock", "totals", "dearer") == versions
        assert shop.rows("orders") == [(1, 10, "n")]


class TestFailFast:
    def test_nothing_is_published(self, shop: Shop) -> None:
        shop.land(*BROKEN)
        shop.dbt("build", "--fail-fast", passes=False)
        assert shop.exists(*TABLES) == []
        assert shop.left_views() == []
