"""What a run takes: oldest first, within limits, failed ones apart and in smaller groups."""

from __future__ import annotations

import pytest

from lakemerge.consumer.choice import Candidate, choose
from lakemerge.consumer.items import Item


def candidate(number: int, failures: int = 0, together: int = 0, size: int = 10) -> Candidate:
    return Candidate(Item(f"p={number}", "m", "file:/x", size, number), failures, together)


def chosen(
    *candidates: Candidate, limit: int | None = None, max_bytes: int | None = None, max_retries: int = 3
) -> list[int]:
    return [item.order for item in choose(candidates, limit, max_bytes, max_retries=max_retries)]


@pytest.mark.parametrize(
    ("limit", "max_bytes", "expected"),
    [(None, None, [1, 2, 3]), (2, None, [1, 2]), (None, 25, [1, 2]), (None, 1, [1]), (1, 100, [1])],
)
def test_limits(limit: int | None, max_bytes: int | None, expected: list[int]) -> None:
    assert chosen(candidate(1), candidate(2), candidate(3), limit=limit, max_bytes=max_bytes) == expected


def test_nothing_to_take() -> None:
    assert chosen() == []


def test_what_failed_is_tried_apart_from_new_ones_in_half_as_large_groups() -> None:
    failed = [candidate(number, 1, 4) for number in (1, 2, 3, 4)]
    assert chosen(*failed, candidate(5)) == [1, 2]
    assert chosen(candidate(0), *failed, candidate(5)) == [0, 5]


def test_the_last_try_is_alone() -> None:
    assert chosen(*(candidate(number, 3, 100) for number in (1, 2, 3))) == [1]
    assert chosen(candidate(1, 1, 1), candidate(2, 1, 1), limit=9) == [1]
