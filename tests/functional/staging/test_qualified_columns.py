"""Columns that a query qualifies by the table's name, without an alias, while the table is staged."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Shop

MODELS = {
    "orders": "select id, amount from {{ target.schema }}.raw_orders",
    "qualified": "select orders.id, Orders.amount from {{ ref('orders') }} where orders.amount > 1",
    "aliased": "select o.id from {{ ref('orders') }} o join {{ ref('qualified') }} as q on o.id = q.id",
    "joined": "select orders.id from {{ ref('orders') }} join {{ ref('aliased') }} on orders.id = aliased.id",
    "shown": "{{ config(materialized='view') }} select joined.id from {{ ref('joined') }}",
    "starred": "select shown.* from {{ ref('shown') }}",
    # the same name in another schema
    "namesake": "{{ config(alias='orders', schema='other') }} select o.id * 2 as id from {{ ref('orders') }} o",
    "of_namesake": "select n.id from {{ ref('namesake') }} n",
}
PYTHON = """
def model(dbt, session):
    dbt.config(materialized='table')
    return dbt.ref('orders').filter('orders.amount > 1')
"""


@pytest.mark.slow
class TestQualifiedColumns:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {**{f"{name}.sql": text for name, text in MODELS.items()}, "in_python.py": PYTHON}

    @pytest.fixture(scope="class")
    def tests(self) -> dict[str, str]:
        return {"no_zero.sql": "select orders.id from {{ ref('orders') }} where orders.id = 0"}

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"models": {"+publish": "after_tests", "+materialized": "table"}}

    def test_they_are_found_as_they_are_in_the_table(self, shop: Shop) -> None:
        shop.application.root.sql(
            "create or replace global temporary view joined as select 'of the user' as id"
        )
        try:
            for amount in (10, 20):  # made, and then replaced
                shop.land((1, "n", amount), (2, "s", 1))
                # a program's own view of that name stays what it is, and the name is then not there to qualify by
                shop.dbt("build", "--exclude", "shown starred")
                for name in ("aliased", "joined"):
                    assert shop.rows(name) == [(1,)]
                assert shop.rows("qualified") == shop.rows("in_python") == [(1, amount)]
                assert shop.rows("of_namesake") == [(2,), (4,)]
                assert shop.left_views() == ["joined"]
            assert (
                shop.application.root.sql("select * from global_temp.joined").collect()[0][0] == "of the user"
            )
        finally:
            shop.application.root.catalog.dropGlobalTempView("joined")
        shop.dbt("build")
        assert shop.rows("shown") == shop.rows("starred") == [(1,)]
        assert shop.left_views() == []
