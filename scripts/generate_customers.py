"""Write the customers of the example and their orders: a seeded, repeatable source system.

Every second Monday a file of changes and one of orders land, comma-separated and without a header:

    changes_2025-03-17.csv    customer_id,name,street,city,segment,op,changed_at
    orders_2025-03-17.csv     order_id,customer_id,amount,ordered_at

Customers move, change their segment, have their name corrected, leave and come back. `op` is U (what
the customer is from `changed_at` on) or D (the customer left; the attributes are empty). Some changes come
one delivery late, after newer ones of the same customer, and some come a second time. Times are UTC; no
customer has two changes at one time.
"""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path

from landing import deliver

#: A delivery holds what happened before its day; the first one holds all customers up to then.
DELIVERY_DATES = (date(2025, 3, 3), date(2025, 3, 17), date(2025, 3, 31))
BEGIN = datetime(2025, 2, 17)

FIRST_NAMES = ("Ana", "Bela", "Chiara", "David", "Emil", "Farah", "Goran", "Hanna", "Igor", "Jana")
LAST_NAMES = (
    "Bauer",
    "Costa",
    "Dubois",
    "Eriksen",
    "Ferrari",
    "Horvat",
    "Jansen",
    "Kovacs",
    "Lopez",
    "Novak",
)
STREETS = ("Harbour Street", "Long Lane", "Market Square", "Mill Road", "Park Row", "Station Road")
CITIES = ("Brno", "Graz", "Linz", "Maribor", "Salzburg", "Trieste", "Vienna")
SEGMENTS = ("retail", "trade", "key account")


@dataclass(frozen=True, slots=True)
class CustomerChange:
    """What a customer is from `changed_at` on, or that the customer left; attributes are None then."""

    customer_id: int
    name: str | None
    street: str | None
    city: str | None
    segment: str | None
    changed_at: datetime

    @property
    def is_delete(self) -> bool:
        """Whether the customer left."""
        return self.name is None

    @property
    def tracked(self) -> tuple[str | None, str | None, str | None]:
        """What makes a new version when it changes: all attributes but the name."""
        return self.street, self.city, self.segment


@dataclass(frozen=True, slots=True)
class Order:
    """An order; amount in euros."""

    order_id: int
    customer_id: int
    amount: Decimal
    ordered_at: datetime


@dataclass(frozen=True, slots=True)
class Delivery:
    """What lands on a day."""

    day: date
    changes: tuple[CustomerChange, ...]
    orders: tuple[Order, ...]

    def files(self) -> dict[str, str]:
        """Return the contents of the files by their paths in the landing folder."""
        changes = (
            (c.customer_id, c.name, c.street, c.city, c.segment, "D" if c.is_delete else "U", c.changed_at)
            for c in self.changes
        )
        orders = ((o.order_id, o.customer_id, o.amount, o.ordered_at) for o in self.orders)
        return {
            f"customer_changes/changes_{self.day}.csv": _text(changes),
            f"customer_orders/orders_{self.day}.csv": _text(orders),
        }


@dataclass(frozen=True, slots=True)
class CustomerConfig:
    """Size and shape of the feed; shares are fractions of the customers, or of all changes."""

    seed: int = 20250303
    customers: int = 300
    late_share: float = 0.08
    repeated_share: float = 0.05
    leaving_share: float = 0.15
    returning_share: float = 0.5


@dataclass(frozen=True, slots=True)
class Version:
    """A row of the history, from `start_at` to before `end_at`; None: still current."""

    change: CustomerChange
    start_at: datetime
    end_at: datetime | None


#: The customer of the story, whose changes and orders are written by hand.
STORY_ID = 1


def story() -> tuple[tuple[tuple[int, CustomerChange], ...], tuple[tuple[Decimal, datetime], ...]]:
    """Return the story's changes, each with the number of its delivery, and its orders.

    The move to Linz is delivered only after the customer has left.
    """
    first = CustomerChange(STORY_ID, "Ada Nowak", "3 Park Row", "Vienna", "retail", datetime(2025, 2, 20, 9))
    trade = replace(first, segment="trade", changed_at=datetime(2025, 3, 5, 10))
    moved = replace(trade, street="8 Mill Road", city="Linz", changed_at=datetime(2025, 3, 10, 8))
    left = CustomerChange(STORY_ID, None, None, None, None, datetime(2025, 3, 14, 16))
    back = CustomerChange(
        STORY_ID, "Ada Nowak", "21 Long Lane", "Graz", "key account", datetime(2025, 3, 20, 11)
    )
    renamed = replace(back, name="Ada Novak", changed_at=datetime(2025, 3, 24, 9))
    changes = ((0, first), (1, trade), (1, left), (2, renamed), (2, moved), (2, back))
    orders = (
        (Decimal("40.00"), datetime(2025, 2, 27, 12)),
        (Decimal("310.00"), datetime(2025, 3, 7, 12)),
        (Decimal("280.00"), datetime(2025, 3, 11, 12)),
        (Decimal("15.00"), datetime(2025, 3, 15, 12)),
        (Decimal("1200.00"), datetime(2025, 3, 22, 12)),
    )
    return changes, orders


def generate(config: CustomerConfig | None = None) -> list[Delivery]:
    """Return the deliveries in their order."""
    config = config or CustomerConfig()
    rng = random.Random(config.seed)
    story_changes, story_orders = story()
    changes: list[list[CustomerChange]] = [[] for _ in DELIVERY_DATES]
    orders = [(STORY_ID, *order) for order in story_orders]
    for number, change in story_changes:
        changes[number].append(change)
    for customer_id in range(STORY_ID + 1, config.customers + 1):
        life = list(_life(rng, config, customer_id))
        for change in life:
            number = _delivery_of(change.changed_at)
            late = number + (rng.random() < config.late_share)
            number = min(late, len(DELIVERY_DATES) - 1)
            changes[number].append(change)
            if rng.random() < config.repeated_share:
                changes[rng.randrange(number, len(DELIVERY_DATES))].append(change)
        orders += [(customer_id, *order) for order in _orders(rng, life)]
    orders.sort(key=lambda order: (order[2], order[0]))
    numbered = [
        Order(number, customer_id, amount, ordered_at)
        for number, (customer_id, amount, ordered_at) in enumerate(orders, start=1001)
    ]
    deliveries = []
    for number, day in enumerate(DELIVERY_DATES):
        rng.shuffle(changes[number])
        ordered = tuple(order for order in numbered if _delivery_of(order.ordered_at) == number)
        deliveries.append(Delivery(day, tuple(changes[number]), ordered))
    return deliveries


def expected_history(deliveries: Sequence[Delivery]) -> list[Version]:
    """Return all versions of all customers that the deliveries amount to, by customer and time."""
    changes = {change for delivery in deliveries for change in delivery.changes}
    versions: list[Version] = []
    for change in sorted(changes, key=lambda change: (change.customer_id, change.changed_at)):
        last = versions[-1] if versions else None
        is_open = last and last.end_at is None and last.change.customer_id == change.customer_id
        if last and is_open and not change.is_delete and last.change.tracked == change.tracked:
            versions[-1] = replace(last, change=change)
            continue
        if last and is_open:
            versions[-1] = replace(last, end_at=change.changed_at)
        if not change.is_delete:
            versions.append(Version(change, change.changed_at, None))
    return versions


def write(delivery: Delivery, landing: Path) -> bool:
    """Write the files of a delivery that are not there yet; returns whether there were any."""
    written = False
    for name, text in delivery.files().items():
        path = landing / name
        if path.exists():
            continue
        deliver(path, text)
        written = True
    return written


def _life(rng: random.Random, config: CustomerConfig, customer_id: int) -> Iterator[CustomerChange]:
    """Yield the changes of a customer in the order of their times."""
    joined = 0 if rng.random() < 0.7 else rng.randrange(14, 35)
    at = BEGIN + timedelta(days=joined, seconds=rng.randrange(86_400))
    name = f"{rng.choice(FIRST_NAMES)} {rng.choice(LAST_NAMES)}"
    change = CustomerChange(customer_id, name, *_address(rng), rng.choice(SEGMENTS), at)
    yield change
    while (at := at + timedelta(days=1 + rng.expovariate(1 / 12))) < _end():
        at = at.replace(microsecond=0)
        if rng.random() < config.leaving_share:
            yield CustomerChange(customer_id, None, None, None, None, at)
            if rng.random() >= config.returning_share:
                return
            at += timedelta(days=rng.randrange(1, 10), seconds=1)
            if at >= _end():
                return
            change = replace(change, segment=rng.choice(SEGMENTS), changed_at=at)
        else:
            change = replace(_changed(rng, change), changed_at=at)
        yield change


def _changed(rng: random.Random, change: CustomerChange) -> CustomerChange:
    kind = rng.choice(("address", "segment", "name"))
    if kind == "address":
        street, city = _address(rng)
        return replace(change, street=street, city=city)
    if kind == "segment":
        return replace(change, segment=rng.choice(SEGMENTS))
    return replace(change, name=f"{rng.choice(FIRST_NAMES)} {rng.choice(LAST_NAMES)}")


def _address(rng: random.Random) -> tuple[str, str]:
    return f"{rng.randrange(1, 99)} {rng.choice(STREETS)}", rng.choice(CITIES)


def _orders(rng: random.Random, life: Sequence[CustomerChange]) -> Iterator[tuple[Decimal, datetime]]:
    """Yield some orders, also while the customer was away: such things happen."""
    first = life[0].changed_at
    for _ in range(rng.randrange(4)):
        seconds = rng.randrange(int((_end() - first).total_seconds()))
        yield Decimal(rng.randrange(500, 90_000)) / 100, first + timedelta(seconds=seconds)


def _delivery_of(at: datetime) -> int:
    """Return the number of the first delivery after a time."""
    return next(number for number, day in enumerate(DELIVERY_DATES) if at < datetime.combine(day, time()))


def _end() -> datetime:
    return datetime.combine(DELIVERY_DATES[-1], time())


def _text(rows: Iterable[Iterable[object]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue()
