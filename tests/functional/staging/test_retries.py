"""`dbt retry` of a build that published nothing: all of it is built and tested again, before anything is published."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lakemerge.errors import CommitConflict, CommitUnfinished, MetastoreUnreachable
from lakemerge.kernel import Kernel, Transaction

from .conftest import Shop

pytestmark = pytest.mark.slow

ORDERS = """
{{ config(materialized='incremental', incremental_strategy='append') }}
select id, amount from {{ target.schema }}.raw_orders
"""
# has nothing to write while all orders are small
LARGE = """
{{ config(materialized='incremental', unique_key='id') }}
select * from {{ ref('orders') }} where amount > 99
"""
BETWEEN = "{{ config(materialized='ephemeral') }} select id, amount from {{ ref('orders') }}"
TOTALS = "{{ config(materialized='table') }} select sum(amount) as total from {{ ref('orders') }}"
SHOWN = "{{ config(materialized='view') }} select total from {{ ref('totals') }}"
COUNTED = """
def model(dbt, session):
    dbt.config(materialized="table")
    return dbt.ref("orders").groupBy().count()
"""
# at once, and about nothing that waits
PLAIN = "{{ config(materialized='table', publish='at_once') }} select 1 as id"
PROPERTIES = """
models:
  - name: orders
    columns:
      - name: id
        data_tests: [not_null: {name: id_is_known}]
  - name: between
    columns:
      - name: amount
        data_tests: [not_null: {name: amount_is_known}]
  - name: large
    columns:
      - name: id
        data_tests: [not_null: {name: large_is_known}]
  - name: shown
    columns:
      - name: total
        data_tests: [not_null: {name: total_is_known, config: {severity: warn}}]
  - name: plain
    columns:
      - name: id
        data_tests: [not_null: {name: plain_is_known}]
unit_tests:
  - name: totals_add_up
    model: totals
    given:
      - input: ref('orders')
        rows: [{id: 1, amount: 2}, {id: 2, amount: 3}]
    expect: {rows: [{total: 5}]}
"""
FEW = "select * from {{ ref('totals') }} where total > {{ var('most', 100) }}"
AFTER_TESTS = ("orders", "large", "totals", "shown", "counted")
THEIR_TESTS = (
    "id_is_known",
    "amount_is_known",
    "large_is_known",
    "total_is_known",
    "totals_add_up",
    "few",
)


@pytest.fixture(scope="class")
def writes_artifacts() -> bool:
    return True


@pytest.fixture(scope="class")
def models() -> dict[str, str]:
    return {
        "orders.sql": ORDERS,
        "large.sql": LARGE,
        "between.sql": BETWEEN,
        "totals.sql": TOTALS,
        "shown.sql": SHOWN,
        "counted.py": COUNTED,
        "plain.sql": PLAIN,
        "properties.yml": PROPERTIES,
    }


@pytest.fixture(scope="class")
def tests() -> dict[str, str]:
    return {"few.sql": FEW}


@pytest.fixture(scope="class")
def project_config_update() -> dict[str, Any]:
    return {"models": {"+publish": "after_tests"}}


def edit(shop: Shop, path: str, old: str, new: str) -> None:
    file = Path(shop.project.project_root) / path
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def status(results: dict[str, Any]) -> dict[str, str]:
    return {name: str(result.status) for name, result in results.items()}


class TestATestFails:
    def test_1_all_that_was_staged_is_built_and_tested_again(self, shop: Shop) -> None:
        shop.land((1, "n", 10))
        shop.dbt("build")
        shop.land((2, "n", 200))
        first = status(shop.dbt("build", passes=False))
        assert first["few"] == "fail"
        assert (first["plain"], first["plain_is_known"]) == ("success", "pass")
        # the model is mended, and in a way that another test, which has passed, is there to see
        edit(shop, "models/orders.sql", "select id,", "select nullif(id, 2) as id,")
        edit(shop, "tests/few.sql", "100", "1000")
        again = status(shop.dbt("retry", passes=False))
        assert {*AFTER_TESTS, *THEIR_TESTS} <= set(again)
        assert not {"plain", "plain_is_known"} & set(again)
        assert again["id_is_known"] == "fail"
        assert shop.rows("orders") == [(1, 10)]
        edit(shop, "models/orders.sql", "nullif(id, 2) as id", "id")
        last = status(shop.dbt("retry"))
        assert {*AFTER_TESTS, *THEIR_TESTS} <= set(last)
        assert shop.rows("orders") == [(1, 10), (2, 200)]
        assert shop.rows("large") == [(2, 200)]
        assert shop.rows("shown") == [(210,)]
        assert shop.rows("counted") == [(2,)]

    def test_2_so_it_is_after_fail_fast(self, shop: Shop) -> None:
        shop.land((3, "n", 3000))
        shop.dbt("build", "--fail-fast", passes=False)
        edit(shop, "tests/few.sql", "1000", "10000")
        again = status(shop.dbt("retry"))
        assert {*AFTER_TESTS, *THEIR_TESTS} <= set(again)
        assert shop.rows("shown") == [(3210,)]


def ends_by(error: type[Exception], after: bool = False) -> Any:
    """The commit of a publication, that ends in an error, before or after it has come to stand."""
    together = Kernel.commit_together

    def commit_together(kernel: Kernel, transactions: Sequence[Transaction]) -> Any:
        if after:
            together(kernel, transactions)
        if error is MetastoreUnreachable:
            for transaction in transactions:
                transaction.state = "in doubt"
        raise error(expected="an answer", found="none", action="Wait.")  # type: ignore[call-arg]

    return commit_together


class TestAPublicationFails:
    def test_1_what_had_nothing_to_write_is_built_and_tested_again(
        self, shop: Shop, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shop.land((1, "n", 10))
        shop.dbt("build")
        monkeypatch.setattr(Kernel, "commit_together", ends_by(CommitConflict))
        first = status(shop.dbt("build", passes=False))
        assert {first[name] for name in (*AFTER_TESTS, *THEIR_TESTS)} == {"skipped"}
        monkeypatch.undo()
        shop.land((2, "n", 90), (3, "n", 100))
        edit(shop, "tests/few.sql", "100", "1000")
        again = status(shop.dbt("retry"))
        assert {*AFTER_TESTS, *THEIR_TESTS} <= set(again)
        assert shop.rows("orders") == [(1, 10), (2, 90), (3, 100)]
        assert shop.rows("large") == [(3, 100)]

    def test_2_one_that_is_in_doubt_is_no_success(self, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Kernel, "commit_together", ends_by(MetastoreUnreachable))
        results = shop.dbt("build", passes=False)
        hook = next(one for one in results.values() if str(one.node.resource_type) == "operation")
        assert "CommitInDoubt" in hook.message
        assert {status(results)[name] for name in AFTER_TESTS} == {"error"}
        assert {status(results)[name] for name in THEIR_TESTS} == {"skipped"}
        assert "in doubt" in results["orders"].message

    def test_3_a_retry_adds_no_row_twice_if_it_stands_after_all(
        self, shop: Shop, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shop.land((4, "n", 50))
        before = shop.rows("orders")
        with monkeypatch.context() as patch:
            patch.setattr(Kernel, "commit_together", ends_by(MetastoreUnreachable, after=True))
            results = shop.dbt("build", passes=False)
        assert {status(results)[name] for name in AFTER_TESTS} == {"error"}
        assert len(shop.rows("orders")) == len(before) + 1
        results = shop.dbt("retry")
        assert "the run that is retried has added them" in results["orders"].message
        assert len(shop.rows("orders")) == len(before) + 1

    def test_4_one_that_stands_unfinished_goes_on(self, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
        edit(shop, "models/shown.sql", "select total", "select total, 'new' as mark")
        shop.land((5, "n", 5))
        monkeypatch.setattr(Kernel, "commit_together", ends_by(CommitUnfinished, after=True))
        results = shop.dbt("build", passes=False)
        monkeypatch.undo()
        hook = next(one for one in results.values() if str(one.node.resource_type) == "operation")
        assert "CommitUnfinished" in hook.message
        assert {status(results)[name] for name in AFTER_TESTS} == {"success"}
        assert results["orders"].adapter_response["version"] == shop.versions("orders")[0]
        assert (5, 5) in shop.rows("orders")
        assert [mark for _, mark in shop.rows("shown")] == ["new"]
        assert set(status(shop.dbt("retry"))) <= {hook.node.name}
