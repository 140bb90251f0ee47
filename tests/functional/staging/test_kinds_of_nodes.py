"""`publish: after_tests` with seeds, snapshots, Python models and views; and what cannot wait for tests."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.util import run_dbt

from .conftest import Shop

pytestmark = pytest.mark.slow

PYTHON = """
def model(dbt, session):
    dbt.config(materialized='table')
    return dbt.ref('countries').filter('population > 5')
"""
SNAPSHOT = """
snapshots:
  - name: countries_history
    relation: ref('countries')
    config: {unique_key: code, strategy: check, check_cols: all}
"""
PROPERTIES = """
models:
  - name: populous
    columns:
      - name: code
        data_tests: [unique, not_null]
  - name: codes
    columns:
      - name: code
        data_tests:
          - accepted_values:
              name: known_codes
              values: "{{ var('codes', ['at', 'de']) }}"
"""
CODES = "select code from {{ ref('countries') }}"


class TestKindsOfNodes:
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        after = {"+publish": "after_tests"}
        return {"models": after, "seeds": after, "snapshots": after}

    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return {"countries.csv": "code,population\nat,9\nde,83\n"}

    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        return {"countries_history.yml": SNAPSHOT}

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"populous.py": PYTHON, "codes.sql": CODES, "properties.yml": PROPERTIES}

    def test_1_none_of_them_is_published_before_all_tests_have_passed(self, shop: Shop) -> None:
        names = ("countries", "countries_history", "populous", "codes")
        results = shop.dbt("build", "--vars", "codes: [at]", passes=False)
        assert str(results["known_codes"].status) == "fail"
        assert shop.exists(*names) == []
        shop.dbt("build")
        assert shop.exists(*names) == list(names)
        assert len(shop.groups("countries", "countries_history", "populous")) == 1
        assert shop.rows("countries_history", "code, dbt_valid_to") == [("at", None), ("de", None)]
        assert shop.rows("codes") == [("at",), ("de",)]

    def test_2_seeds_and_snapshots_alone_publish_at_their_end(self, shop: Shop) -> None:
        before = shop.versions("countries")
        shop.dbt("seed")
        assert shop.versions("countries") == [before[0] + 1]
        shop.dbt("snapshot")
        assert len(shop.rows("countries_history")) == 2

    def test_3_a_project_is_compiled_and_documented_as_always(self, shop: Shop) -> None:
        before = shop.versions("countries")
        assert "populous" in shop.dbt("compile")
        run_dbt(["docs", "generate"])
        assert shop.versions("countries") == before


AT_ONCE = "{{ config(materialized='table', publish='at_once') }} select * from {{ ref('staged') }}"
BY_EPHEMERAL = "{{ config(materialized='table', publish='at_once') }} select * from {{ ref('between') }}"
STAGED = "{{ config(materialized='table') }} select 1 as id"
BATCHES = """
{{ config(materialized='incremental', incremental_strategy='microbatch', event_time='at', begin='2026-01-01',
          batch_size='year') }}
select timestamp '2026-01-02 00:00:00' as at
"""
VIEW_AT_ONCE = "{{ config(materialized='view', publish='at_once') }} select * from {{ ref('staged') }}"
EMPTIED = """
{{ config(materialized='table', publish=var('publish', 'at_once'),
          post_hook="{% if var('empties', false) %}{% do adapter.truncate_relation(this) %}{% endif %}") }}
select 1 as id
"""
REFUSED = """
models:
  - name: staged
    columns:
      - name: id
        data_tests:
          - not_null: {name: kept_as_view, config: {store_failures: true, store_failures_as: view}}
          - not_null: {name: kept_as_table, config: {store_failures: true}}
"""


class TestWhatCannotWait:
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"models": {"+publish": "after_tests"}}

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "staged.sql": STAGED,
            "at_once.sql": AT_ONCE,
            "between.sql": "{{ config(materialized='ephemeral') }} select * from {{ ref('staged') }}",
            "by_ephemeral.sql": BY_EPHEMERAL,
            "batches.sql": BATCHES,
            "view_at_once.sql": VIEW_AT_ONCE,
            "emptied.sql": EMPTIED,
            "of_mistake.sql": "{{ config(materialized='table', publish='afterwards') }} select 1 as id",
            "refused.yml": REFUSED,
        }

    def test_each_is_refused_with_what_to_do(self, shop: Shop) -> None:
        results = shop.dbt("build", "--exclude", "kept_as_view", passes=False)

        def told(name: str) -> str:
            assert str(results[name].status) == "error", results[name]
            return " ".join(results[name].message.split())

        assert "publish: after_tests on it too" in told("at_once")
        assert "publish: after_tests on it too" in told("by_ephemeral")
        assert str(results["batches"].status) == "error"  # dbt keeps the text with the batch
        assert "publish must be one of at_once, after_tests" in told("of_mistake")
        # a view is made with what it reads, whatever it says of itself; but here nothing is published
        assert str(results["view_at_once"].status) == "skipped"
        assert shop.exists("staged", "at_once", "by_ephemeral", "batches", "view_at_once") == []

    def test_failures_of_staged_rows_are_not_kept_as_a_view(self, shop: Shop) -> None:
        results = shop.dbt("build", "--select", "staged", passes=False)
        assert "store_failures_as: table" in results["kept_as_view"].message
        assert shop.exists("staged") == []

    def test_a_view_at_once_over_staged_tables_is_made_with_them(self, shop: Shop) -> None:
        results = shop.dbt("build", "--select", "staged view_at_once", "--exclude", "kept_as_view")
        assert str(results["kept_as_table"].status) == "pass"
        assert shop.rows("view_at_once") == [(1,)]

    def test_published_inputs_are_read_by_models_of_any_kind(self, shop: Shop) -> None:
        shop.dbt("run", "--select", "at_once by_ephemeral")
        assert shop.rows("by_ephemeral") == [(1,)]

    def test_a_post_hook_does_not_change_what_readers_see_before_the_tests(self, shop: Shop) -> None:
        shop.dbt("run", "--select", "emptied")
        results = shop.dbt(
            "build", "--select", "emptied", "--vars", "{publish: after_tests, empties: true}", passes=False
        )
        assert "not to be staged by this run, to empty it" in " ".join(results["emptied"].message.split())
        assert shop.rows("emptied") == [(1,)]
        shop.dbt("run", "--select", "emptied", "--vars", "empties: true")
        assert shop.rows("emptied") == []

    def test_a_table_does_not_become_a_view_after_tests(self, shop: Shop) -> None:
        shop.project.run_sql(f"drop view {shop.schema}.view_at_once")
        shop.project.run_sql(f"create table {shop.schema}.view_at_once (id int) stored as orc")
        results = shop.dbt("run", "--select", "staged view_at_once", passes=False)
        assert "to be a view, or not there" in results["view_at_once"].message


class TestWithoutStaging:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"plain.sql": "{{ config(materialized='table') }} select 1 as id"}

    def test_a_project_that_publishes_at_once_has_no_hook(self, shop: Shop) -> None:
        assert list(shop.dbt("build")) == ["plain"]
        assert list(shop.dbt("run")) == ["plain"]
        assert "plain" in shop.dbt("compile")
        run_dbt(["docs", "generate"])
