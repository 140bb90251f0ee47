"""What a run's tests read of a staged table is what is published, whatever the strategy and the layout."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.adapters.lakemerge.staged.run import staged_run

from lakemerge.kernel import TableName

from .conftest import Shop

ROWS = "select id, amount, {{ var('seq') }} as seq, region from {{ target.schema }}.raw_orders"
CONFIGS = {
    "overwritten": "incremental_strategy='insert_overwrite', partition_by=['day', 'region']",
    "exchanged": "incremental_strategy='delete+insert', unique_key='id', partition_by='region'",
    "history": "unique_key='id', stored_as_scd_type=2, sequence_by='seq', partition_by='region'",
    "widened": "unique_key='id', partition_by='region', on_schema_change='append_new_columns'",
    "on_read": "unique_key='id', sequence_by='seq', apply_as_deletes='amount is null', write_mode='merge_on_read'",
    "logged": "append_layout='commit_partitioned', file_format='parquet'",
    "whole": "unique_key='id'",
}
QUERIES = {
    "overwritten": "select id, amount, date_add(date '2026-01-01', cast(id % 2 as int)) as day, "
    "nullif(region, 'x') as region from {{ target.schema }}.raw_orders",
    "widened": "select id, amount, {{ 'amount * 2 as doubled,' if var('seq') > 1 }} region "
    "from {{ target.schema }}.raw_orders",
}


@pytest.fixture(scope="class")
def models() -> dict[str, str]:
    return {
        f"{name}.sql": "{{ config(materialized='incremental', publish='after_tests', "
        + f"{config}) }}}}\n{QUERIES.get(name, ROWS)}"
        for name, config in CONFIGS.items()
    }


class TestStagedRows:
    @pytest.mark.parametrize(
        ("seq", "landed"),
        [
            (1, [(1, "n", 10), (2, "s", 5), (3, "x", 7)]),
            (2, [(2, "s", None), (4, "n", 8)]),
            (3, [(2, "s", 6), (3, "y", 9)]),
        ],
    )
    def test_they_are_what_is_published(
        self, shop: Shop, before_the_end: Any, seq: int, landed: list[tuple[int, str, int | None]]
    ) -> None:
        def staged() -> dict[str, Any]:
            run, found = staged_run(), {}
            for name in CONFIGS:
                node = run.find(TableName(shop.schema, name))
                assert node is not None, name
                frame = shop.application.root.sql(f"select * from {node.rows.name}")
                found[name] = (frame.columns, sorted((tuple(row) for row in frame.collect()), key=str))
            return found

        shop.land(*landed)
        seen = before_the_end(staged)
        shop.dbt("build", "--vars", f"seq: {seq}")
        for name, (columns, rows) in seen[0].items():
            assert rows == shop.rows(name, ", ".join(columns)), name
            assert rows, name
