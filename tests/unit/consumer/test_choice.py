"""What a run takes: oldest first, within limits, suspects apart and in smaller groups."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakemerge.consumer.choice import Candidate, Spent, choose, choose_suspects
from lakemerge.consumer.items import Item
from lakemerge.consumer.working_set import DISCARDED, Row


def candidate(number: int, suspicion: int = 0, group_size: int = 0, size: int = 10) -> Candidate:
    return Candidate(Item(f"p={number}", "m", "file:/x", size, number), suspicion, group_size)


def chosen(*candidates: Candidate, limit: int | None = None, max_bytes: int | None = None) -> list[int]:
    return [item.order for item in choose(candidates, limit, max_bytes)]


def suspects(
    *candidates: Candidate, limit: int | None = None, max_bytes: int | None = None, spent: Spent | None = None
) -> list[int]:
    return [item.order for item in choose_suspects(candidates, limit, max_bytes, spent or Spent())]


@pytest.mark.parametrize(
    ("limit", "max_bytes", "expected"),
    [(None, None, [1, 2, 3]), (2, None, [1, 2]), (None, 25, [1, 2]), (None, 1, [1]), (1, 100, [1])],
)
def test_limits(limit: int | None, max_bytes: int | None, expected: list[int]) -> None:
    assert chosen(candidate(1), candidate(2), candidate(3), limit=limit, max_bytes=max_bytes) == expected


def test_nothing_to_take() -> None:
    assert chosen() == suspects() == []


def test_suspects_never_keep_new_ones_waiting_and_are_tried_in_half_as_large_groups() -> None:
    tainted = [candidate(number, 1, 4) for number in (1, 2, 3, 4)]
    assert chosen(candidate(0), *tainted, candidate(5)) == [0, 5]
    assert suspects(candidate(0), *tainted, candidate(5)) == [1, 2]
    assert suspects(*tainted, limit=1) == [1]
    assert suspects(candidate(1, 1, 1), candidate(2, 1, 1), limit=9) == [1]


def test_the_least_suspicious_come_first_and_groups_are_not_mixed() -> None:
    assert suspects(candidate(1, 2, 4), candidate(2, 2, 4), candidate(3, 1, 8), candidate(4, 1, 8)) == [3, 4]
    assert suspects(candidate(1, 1, 1), candidate(2, 1, 4), candidate(3, 1, 4)) == [2, 3]


def test_limits_count_all_suspects_of_a_run() -> None:
    tainted = [candidate(number, 1, 8) for number in range(8)]
    assert suspects(*tainted, limit=3, spent=Spent(2, 20)) == [0]
    assert suspects(*tainted, limit=3, spent=Spent(3, 30)) == []
    assert suspects(*tainted, max_bytes=25, spent=Spent(1, 10)) == [0]
    assert suspects(*tainted, max_bytes=5) == [0]
    assert suspects(*tainted, max_bytes=5, spent=Spent(1, 10)) == []


@given(
    count=st.integers(1, 200),
    bad=st.sets(st.integers(0, 199), min_size=1, max_size=4),
    dies=st.booleans(),
    max_retries=st.integers(0, 4),
)
def test_what_ends_every_run_is_discarded_alone_and_all_else_gets_through(
    count: int, bad: set[int], dies: bool, max_retries: int
) -> None:
    bad = {number % count for number in bad}
    rows = {
        number: Row("s", "c", str(number), 1, "m", 10, "available", changed_at="") for number in range(count)
    }
    for runs in range(1000):  # noqa: B007
        ended = _run(rows, bad, dies=dies, max_retries=max_retries)
        if not ended:
            break
    assert {number for number, row in rows.items() if row.state == DISCARDED} == bad
    assert set(rows) == bad
    # each failure halves a group: a binary search for each bad one, and at last as often as it may fail alone
    assert runs <= 1 + len(bad) * (count.bit_length() + max_retries + 2)


def _run(rows: dict[int, Row], bad: set[int], *, dies: bool, max_retries: int) -> bool:
    """One run without limits over these rows, which loses those that it processes; whether it was ended by one."""
    first = True
    while True:
        found = [
            candidate(number, row.suspicion, row.batch_size)
            for number, row in sorted(rows.items())
            if row.state != DISCARDED
        ]
        taken = choose(found, None, None) if first else []
        taken = taken or choose_suspects(found, None, None, Spent())
        first = False
        if not taken:
            return False
        for item in taken:
            rows[item.order] = replace(rows[item.order], batch_size=len(taken))
        if bad & {item.order for item in taken}:
            for item in taken:
                row = rows[item.order]
                rows[item.order] = row.died("", max_retries, "") if dies else row.failed("", max_retries, "")
            return True
        for item in taken:
            del rows[item.order]
