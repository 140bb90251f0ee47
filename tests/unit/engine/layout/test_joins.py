"""How a query joins changes and stored rows."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from lakemerge.engine.layout.joins import ANY, BROADCAST, ONE_TASK, Amount, choose_join
from lakemerge.engine.merge.change_driver import Merge

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
        # stored rows of which many take little
        (10, 12, Amount(1, 1000, 400_000), ONE_TASK),
        (10, 12, Amount(1, 1000, 500_000), BROADCAST),
        # through a view over deltas
        (10, 12, None, BROADCAST),
        (6_000_000, 12, Amount(1, 1000), ANY),
    ],
)
def test_little_is_joined_by_one_task_and_many_keys_as_spark_likes(
    keys: int, columns: int, stored: Amount | None, join: str
) -> None:
    assert choose_join(keys, columns, stored) == join


@pytest.mark.parametrize(("partial", "join"), [(True, ANY), (False, ONE_TASK)])
def test_partial_updates_of_a_key_count_each(partial: bool, join: str) -> None:
    txn, plan = Mock(overlay=None), Mock(partial=partial, columns=[Mock()] * 12)
    txn.partitions.amount.return_value = Amount(1, 1000)
    feed = {"keys": 10, "changes": 6_000_000}
    assert Merge._choose_join(txn, plan, feed, None, None) == join


def test_amounts_are_added() -> None:
    assert Amount(1, 10, 5) + Amount(2, 30) == Amount(3, 40, 5)
