"""The generator of customers repeats itself, contains every unkind case, and its oracle is right."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from generate_customers import (
    DELIVERY_DATES,
    STORY_ID,
    CustomerChange,
    CustomerConfig,
    Delivery,
    expected_history,
    generate,
    write,
)

DELIVERIES = generate()
CHANGES = [change for delivery in DELIVERIES for change in delivery.changes]


def at(day: int) -> datetime:
    return datetime(2025, 3, day)


def change(day: int, city: str | None, name: str | None = "A") -> CustomerChange:
    if city is None:
        return CustomerChange(7, None, None, None, None, at(day))
    return CustomerChange(7, name, "1 Park Row", city, "retail", at(day))


def history_of(*batches: tuple[CustomerChange, ...]) -> list[tuple[str | None, str | None, int, int | None]]:
    deliveries = [Delivery(day, changes, ()) for day, changes in zip(DELIVERY_DATES, batches, strict=False)]
    return [
        (v.change.city, v.change.name, v.start_at.day, v.end_at.day if v.end_at else None)
        for v in expected_history(deliveries)
    ]


def test_same_seed_gives_the_same_files_and_another_does_not() -> None:
    files = [delivery.files() for delivery in DELIVERIES]
    assert files == [delivery.files() for delivery in generate()]
    assert files != [delivery.files() for delivery in generate(CustomerConfig(seed=1))]


def test_there_are_some_hundred_customers() -> None:
    assert {c.customer_id for c in CHANGES} == set(range(1, CustomerConfig().customers + 1))


def test_no_customer_has_two_different_changes_at_one_time() -> None:
    assert len({(c.customer_id, c.changed_at) for c in CHANGES}) == len(set(CHANGES))


def test_some_changes_come_late_some_twice() -> None:
    before = {c for delivery in DELIVERIES[:1] for c in delivery.changes}
    late = [c for c in DELIVERIES[1].changes if c.changed_at.date() < DELIVERY_DATES[0] and c not in before]
    assert late
    assert len(CHANGES) > len(set(CHANGES))


def test_some_changes_come_after_newer_ones_of_the_same_customer() -> None:
    newest = {c.customer_id: c.changed_at for c in sorted(DELIVERIES[1].changes, key=lambda c: c.changed_at)}
    known = {c for delivery in DELIVERIES[:2] for c in delivery.changes}
    assert any(
        c.changed_at < newest.get(c.customer_id, c.changed_at)
        for c in DELIVERIES[2].changes
        if c not in known and c.customer_id != STORY_ID
    )


def test_some_customers_leave_and_some_come_back() -> None:
    left = {c.customer_id: c.changed_at for c in CHANGES if c.is_delete}
    back = {c.customer_id for c in CHANGES if c.customer_id in left and c.changed_at > left[c.customer_id]}
    assert back - {STORY_ID}
    assert set(left) - back


def test_some_orders_are_of_customers_who_were_away() -> None:
    versions = expected_history(DELIVERIES)
    orders = [order for delivery in DELIVERIES for order in delivery.orders]
    with_customer = {
        order.order_id
        for order in orders
        for v in versions
        if v.change.customer_id == order.customer_id
        and v.start_at <= order.ordered_at
        and (v.end_at is None or v.end_at > order.ordered_at)
    }
    assert 0 < len(with_customer) < len(orders)


def test_oracle_puts_late_changes_in_their_place() -> None:
    expected = [("Rome", "A", 1, 5), ("Bonn", "A", 5, 9), ("Oslo", "A", 9, None)]
    assert history_of((change(1, "Rome"), change(9, "Oslo")), (change(5, "Bonn"),)) == expected


def test_oracle_corrects_names_within_a_version() -> None:
    assert history_of((change(1, "Rome"), change(2, "Rome", "B"))) == [("Rome", "B", 1, None)]


def test_oracle_ends_versions_at_deletes() -> None:
    feed = (change(1, "Rome"), change(3, None), change(3, None), change(6, "Rome"))
    assert history_of(feed) == [("Rome", "A", 1, 3), ("Rome", "A", 6, None)]


def test_files_are_written_once(tmp_path: Path) -> None:
    assert write(DELIVERIES[0], tmp_path)
    assert not write(DELIVERIES[0], tmp_path)
    names = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.csv"))
    assert names == sorted(DELIVERIES[0].files())
