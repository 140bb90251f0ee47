"""Post-hooks that change what their node has staged: their effect is published with the build, or not at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from dbt.tests.util import run_dbt_and_capture

from lakemerge.kernel import TableName, staged_versions
from releases import needs_spark_4
from rings import of_rings

from .conftest import Shop

#: The config of a model by the kind of its table; all but one are for the slow ring.
KINDS = {
    "unpartitioned": "materialized='incremental', incremental_strategy='merge', unique_key='id', sequence_by='ts'",
    "partitioned": "materialized='incremental', incremental_strategy='merge', unique_key='id', sequence_by='ts', "
    "partition_by='region'",
    "on_read": "materialized='incremental', incremental_strategy='merge', unique_key='id', sequence_by='ts', "
    "write_mode='merge_on_read', partition_by='region'",
    "rebuilt": "materialized='table', partition_by='region', file_format='parquet'",
    "hidden_sequence": "materialized='incremental', incremental_strategy='merge', unique_key='id', sequence_by='ts', "
    "except_column_list=['ts'], file_format='parquet'",
    "without_sequence": "materialized='incremental', incremental_strategy='merge', unique_key='id', "
    "write_mode='merge_on_read'",
    "history": "materialized='incremental', incremental_strategy='merge', unique_key='id', sequence_by='ts', "
    "stored_as_scd_type=2",
    "appended": "materialized='incremental', incremental_strategy='append'",
    "replaced": "materialized='incremental', incremental_strategy='delete+insert', unique_key='id', "
    "partition_by='region'",
    "overwritten": "materialized='incremental', incremental_strategy='insert_overwrite', partition_by='region'",
}
FAST = ("on_read",)
HOOKS = [
    "delete from {{ this }} where amount is null",
    # the node's own name in the place of {{ this }}; a row that moves, and the rows of the table itself
    "update {{ this.schema }}.{{ this.identifier }} set amount = (select max(amount) + 1 from {{ this }}), "
    "region = 'moved' where id = 5 and amount < 100",
    # a partition that goes as a whole
    "delete from {{ this }} where region = 'gone'",
]
MERGE = (
    "merge into {{ this }} as t using (select 2 as id, 7 as amount union all select 9, 9) as s on t.id = s.id "
    "when matched and t.amount = 66 then delete when matched then update set t.amount = s.amount "
    "when not matched then insert (id, region, amount, ts) values (s.id, 'w', s.amount, 1)"
)
#: Rows of the feed: id, region, amount, ts.
DELIVERIES = [
    "(1, 'n', 10, 1), (2, 's', 5, 1), (3, 'n', null, 1), (4, 'gone', 4, 1), (5, 's', 50, 1)",
    "(1, 'n', 10, 1), (2, 's', 66, 2), (3, 'n', 30, 2), (4, 's', 40, 3), (6, 'gone', 6, 1)",
    # delivered again: there is nothing to merge
    "(1, 'n', 10, 1), (2, 's', 66, 2), (3, 'n', 30, 2), (4, 's', 40, 3), (6, 'gone', 6, 1)",
]


def model(kind: str, publish: str) -> str:
    config, hooks = KINDS[kind], HOOKS if kind == "history" else [*HOOKS, MERGE]
    if kind == "hidden_sequence":
        hooks = [hook.replace(", ts)", ")").replace(", 1)", ")") for hook in hooks]
    return (
        f"{{{{ config({config}, publish='{publish}', post_hook={hooks!r}) }}}}\n"
        "select id, region, amount, ts from {{ target.schema }}.feed"
    )


class Twins:
    """Models whose hooks change them, each published at once and after tests."""

    kinds: tuple[str, ...] = FAST

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        found = {
            f"{kind}_{publish}.sql": model(kind, publish)
            for kind in self.kinds
            for publish in ("at_once", "after_tests")
        }
        reads = "{{ config(materialized='table', publish='after_tests') }} select * from {{ ref('%s_after_tests') }}"
        return {**found, "reads.sql": reads % self.kinds[0]}

    @pytest.fixture(scope="class")
    def tests(self) -> dict[str, str]:
        wrong = "select * from {{ ref('%s_after_tests') }} where amount = {{ var('wrong', -1) }}"
        return {"amount_is_right.sql": wrong % self.kinds[0]}

    def land(self, shop: Shop, rows: str) -> None:
        shop.project.run_sql(
            f"create or replace view {shop.schema}.feed as select * from values {rows} as v(id, region, amount, ts)"
        )

    def test_1_what_is_published_is_what_the_same_hooks_make_of_a_table_that_is_published_at_once(
        self, shop: Shop
    ) -> None:
        names = [f"{kind}_after_tests" for kind in self.kinds]
        for delivery in DELIVERIES:
            self.land(shop, delivery)
            before = [shop.versions(name)[0] if shop.exists(name) else 0 for name in names]
            shop.dbt("build")
            for kind in self.kinds:
                # the versions by which rows were closed have other numbers
                columns = "* except (dbt_closed_in)" if kind == "history" else "*"
                assert shop.rows(f"{kind}_after_tests", columns) == shop.rows(f"{kind}_at_once", columns), (
                    kind,
                    delivery,
                )
            assert shop.rows("reads") == shop.rows(names[0])
            # the build and its hooks are one version; a table that is merged on read has others, which change no row
            for name, version in zip(names, before, strict=True):
                if "merge_on_read" not in KINDS[name.removesuffix("_after_tests")]:
                    assert shop.versions(name)[0] <= version + 1, (name, delivery)
        assert shop.left_views() == []

    def test_2_a_test_that_fails_publishes_neither_the_build_nor_its_hooks(self, shop: Shop) -> None:
        before = {kind: shop.rows(f"{kind}_after_tests") for kind in self.kinds}
        self.land(shop, "(8, 'x', 99, 9)")
        results = shop.dbt("build", "--vars", "wrong: 99", passes=False)
        assert str(results["amount_is_right"].status) == "fail"
        for kind, rows in before.items():
            assert shop.rows(f"{kind}_after_tests") == rows
            name = TableName(shop.schema, f"{kind}_after_tests")
            layout = shop.kernel().settled(name)[0].layout
            assert [bool(one.left) for one in staged_versions(shop.kernel(), name, layout)] == [True], kind


@pytest.mark.slow
class TestHooksOnStagedRows(Twins):
    pass


@pytest.mark.slow
class TestHooksOnOtherStagedRowsWithKeys(Twins):
    kinds = ("unpartitioned", "partitioned", "hidden_sequence", "without_sequence", "history")


@pytest.mark.slow
class TestHooksOnStagedRowsWithoutKeys(Twins):
    kinds = ("rebuilt", "appended", "replaced", "overwritten")


ORDERS = """
{{ config(materialized='incremental', unique_key='id', post_hook=var('hook', [])) }}
select 1 as id, {{ var('amount', 10) }} as amount union all select 2, 20
"""
JOURNAL = """
{{ config(materialized='incremental', append_layout='commit_partitioned',
          post_hook="delete from {{ ref('orders') }}" if var('of_orders', false) else var('of_journal', [])) }}
-- depends_on: {{ ref('orders') }}
select 1 as id
"""
EVOLVES = (
    "merge with schema evolution into {{ this }} t using (select 1 as id, 2 as more) s on t.id = s.id "
    "when matched then update set *"
)
#: The variable of a hook, the hook, and what the error says. In a variable, dbt renders ref() while it parses.
REFUSED = [
    ("hook", "insert into {{ this }} values (3, 30, 0)", "found INSERT"),
    ("hook", "update {{ this }} set id = 1", "DuplicateKey"),
    ("of_orders", True, "orders not to be staged by this run"),
    ("hook", "update {{ this }} set amount = 'many'", "IncompatibleColumn"),
    ("hook", EVOLVES.replace("more", "still_more"), "one that adds columns"),
    ("of_journal", "delete from {{ this }} where id = 1", "commit_partitioned"),
]


@needs_spark_4("WITH SCHEMA EVOLUTION")
class TestWhatHooksCannotDo:
    """Each is an error of the hook's node, and publishes nothing."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"orders.sql": ORDERS, "journal.sql": JOURNAL}

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"models": {"+publish": "after_tests"}}

    def test_1_a_hook_of_a_node_that_staged_nothing(self, shop: Shop) -> None:
        shop.dbt("build", "-s", "orders")
        shop.dbt("build", "-s", "orders", "--vars", json.dumps({"hook": EVOLVES}))
        assert shop.rows("orders") == [(1, 10, 2), (2, 20, None)]
        hooks = [
            "truncate table {{ this }}",
            "merge into {{ this }} t using (select 5 as id, 50 as amount, 5 as more) s on t.id = s.id "
            "when not matched then insert *",
        ]
        shop.dbt("build", "-s", "orders", "--vars", json.dumps({"hook": hooks}))
        assert shop.rows("orders") == [(5, 50, 5)]
        assert shop.versions("orders") == [3]

    @pytest.mark.parametrize("case", of_rings(REFUSED, REFUSED[:3]))
    def test_2_is_refused(self, shop: Shop, case: tuple[str, Any, str]) -> None:
        variable, hook, found = case
        variables = {variable: hook, "amount": 11}
        _, log = run_dbt_and_capture(["build", "--vars", json.dumps(variables)], expect_pass=False)
        assert found in log, log
        assert shop.rows("orders") == [(5, 50, 5)]
        # what was staged is as it was before the hook
        name = TableName(shop.schema, "orders")
        (staged,) = staged_versions(shop.kernel(), name, shop.kernel().settled(name)[0].layout)
        assert (staged.manifest.metrics["inserted"], staged.manifest.metrics["deleted"]) == (2, 0)
