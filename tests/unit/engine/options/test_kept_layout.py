"""What an existing table keeps although its model says otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from lakemerge.engine.strategies import config_of
from lakemerge.kernel import HiveColumn, Manifest

REGION = {"partition_by": "Region"}
HISTORY = {**REGION, "unique_key": "id", "sequence_by": "at", "stored_as_scd_type": 2}


def table(*partition_columns: str, file_format: str = "orc") -> Manifest:
    """A version of a table by these columns."""
    return Manifest(
        txn="1",
        version=1,
        parent=None,
        table_id="a",
        operation="merge",
        columns=(HiveColumn("id", "int"),),
        partition_columns=tuple(HiveColumn(name, "string") for name in partition_columns),
        file_format=file_format,
        partitions={},
        written=(),
        removed=(),
        committed_at="2026-01-01T00:00:00+00:00",
    )


@pytest.mark.parametrize(
    ("config", "strategy", "base", "commit_column"),
    [
        ({}, "append", table("region"), ""),  # adopted: its model need not say how it is partitioned
        ({}, "append", table(file_format="parquet"), ""),
        (REGION, "append", table("region"), ""),
        ({"partition_by": ["A", "b"], "file_format": "parquet"}, "append", table("a", "b", file_format="parquet"), ""),
        ({**REGION, "append_layout": "commit_partitioned"}, "append", table("region", "_commit"), "_commit"),
        (REGION, "append", table("region", "c"), "c"),  # the model's option has gone, the column has not
        (HISTORY, "merge", table("region", "dbt_closed_in"), ""),
        ({**HISTORY, "history_layout": "plain"}, "merge", table("region", "dbt_closed_in"), ""),
    ],
)  # fmt: skip
def test_nothing_is_said_of_a_table_that_is_as_its_model_says(
    config: dict[str, Any], strategy: str, base: Manifest, commit_column: str
) -> None:
    assert config_of(config, strategy).kept(base, commit_column) == []


@pytest.mark.parametrize(
    ("config", "base", "said"),
    [
        (REGION, table(), "is partitioned by no column, and its model says region"),
        (REGION, table("day"), "is partitioned by day, and its model says region"),
        (REGION, table("region", "day"), "is partitioned by region, day, and its model says region"),
        ({"partition_by": ["b", "a"]}, table("a", "b"), "is partitioned by a, b, and its model says b, a"),
        (
            {"file_format": "orc"},
            table(file_format="parquet"),
            "has files of parquet, and its model says orc",
        ),
        ({"file_format": "parquet"}, table(), "has files of orc, and its model says parquet"),
    ],
)
def test_what_it_keeps_is_named(config: dict[str, Any], base: Manifest, said: str) -> None:
    assert config_of(config, "append").kept(base, "") == [said]
