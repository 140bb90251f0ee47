"""The hook that publishes what a run has staged: first of all hooks at its end, there only where it is needed."""

from __future__ import annotations

import signal
from typing import Any

import pytest
from dbt.cli.main import dbtRunner
from dbt_common.events.base_types import EventMsg

from .conftest import Shop

pytestmark = pytest.mark.slow

ORDERS = """
{{ config(materialized='table', publish='after_tests') }}
select id, region, amount from {{ target.schema }}.raw_orders
"""
PROPERTIES = """
models:
  - name: orders
    columns:
      - name: amount
        data_tests: [not_null: {name: amount_is_known}]
"""


class TestHooksOfTheProject:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"orders.sql": ORDERS, "properties.yml": PROPERTIES}

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {
            "on-run-end": [
                "drop table if exists {{ target.schema }}.evidence",
                "create table {{ target.schema }}.evidence stored as orc as select count(*) as n, "
                "'{{ results | map(attribute='status') | join(' ') }}' as told from {{ ref('orders') }}",
                "{{ 'select no_such_column' if var('fails', false) }}",
            ]
        }

    def test_1_they_run_after_the_publication_and_read_what_is_published(self, shop: Shop) -> None:
        shop.land((1, "n", 10), (2, "s", 5))
        shop.dbt("build")
        assert shop.rows("evidence") == [(2, "success pass")]

    def test_2_they_run_when_nothing_is_published_too(self, shop: Shop) -> None:
        shop.land((3, "s", None))
        shop.dbt("build", passes=False)
        assert shop.rows("evidence") == [(2, "skipped fail")]

    @pytest.mark.parametrize("more", [(), ("--no-populate-cache",)])
    def test_3_one_that_fails_leaves_the_publication_as_it_is(
        self, shop: Shop, more: tuple[str, ...]
    ) -> None:
        shop.land((4, "s", 8))
        (before,) = shop.versions("orders")
        results = shop.dbt("build", "--vars", "fails: true", *more, passes=False)
        assert shop.versions("orders") == [before + 1]
        assert results["orders"].adapter_response["version"] == before + 1
        assert str(results["test-on-run-end-2"].status) == "error"


class TestWithoutStaging:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"plain.sql": "{{ config(materialized='table') }} select 1 as id"}

    @pytest.mark.parametrize("more", [(), ("--no-populate-cache",), ("--cache-selected-only",)])
    def test_a_project_that_publishes_at_once_has_no_hook(self, shop: Shop, more: tuple[str, ...]) -> None:
        assert list(shop.dbt("build", *more)) == ["plain"]


class TestAnInvocationIsCutOff:
    """Another one in the same process has nothing of it: no names of staged views, no staged tables, no settings."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        last = "{{ config(materialized='table', publish='after_tests') }} select count(*) as n from {{ ref('orders') }}"
        return {"orders.sql": ORDERS, "last.sql": last}

    def test_1_ctrl_c_in_the_first(self, shop: Shop) -> None:
        shop.land((1, "n", 10))
        shop.dbt("run")
        shop.land((1, "n", 10), (2, "s", 5))
        started: list[str] = []

        def interrupt(event: EventMsg) -> None:
            if event.info.name == "LogStartLine" and (name := event.data.node_info.node_name):
                started.append(name)
                if name == "last":  # `orders` is staged by now
                    signal.raise_signal(signal.SIGINT)

        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            done = dbtRunner(callbacks=[interrupt]).invoke(["run", "--vars", "set: 1", "--threads", "1"])
        finally:
            signal.signal(signal.SIGINT, before)
        assert not done.success
        assert started == ["orders", "last"]
        assert shop.rows("orders", "id") == [(1,)]

    def test_2_the_next_reads_and_publishes_what_is_its_own(self, shop: Shop) -> None:
        assert shop.dbt("show", "--inline", "select count(*) as n from {{ ref('orders') }}")
        results = shop.dbt("run", "--select", "last")
        assert {str(result.status) for result in results.values()} == {"success"}
        assert shop.rows("last") == [(1,)]
        assert shop.rows("orders", "id") == [(1,)]
        shop.dbt("run")
        assert shop.rows("last") == [(2,)]
        assert shop.left_views() == []
