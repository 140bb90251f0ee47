"""How a query joins changes and stored rows."""

from __future__ import annotations

import pytest
from dbt.adapters.lakemerge.publish.joins import ANY, BROADCAST, ONE_TASK, Amount, choose_join

MEGABYTE = 1024 * 1024


@pytest.mark.parametrize(
    ("keys", "columns", "stored", "join"),
    [
        (10, 12, Amount(0, 0), ONE_TASK),
        (10, 12, Amount(32, 2 * MEGABYTE), ONE_TASK),
        (10, 12, Amount(33, 1000), BROADCAST),
        (10, 12, Amount(1, 3 * MEGABYTE), BROADCAST),
        # wide rows take as much memory as many rows
        (250, 2_000, Amount(1, 1000), ONE_TASK),
        (251, 2_000, Amount(1, 1000), BROADCAST),
        # through a view over deltas
        (10, 12, None, BROADCAST),
        (6_000_000, 12, Amount(1, 1000), ANY),
    ],
)
def test_little_is_joined_by_one_task_and_many_keys_as_spark_likes(
    keys: int, columns: int, stored: Amount | None, join: str
) -> None:
    assert choose_join(keys, columns, stored) == join


def test_amounts_are_added() -> None:
    assert Amount(1, 10) + Amount(2, 30) == Amount(3, 40)
