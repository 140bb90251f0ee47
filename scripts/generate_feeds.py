"""Write the product change feeds of the example: a seeded, repeatable source system.

An initial load and some days of feeds land as comma-separated files without a header. As in most
feeds from outside, the data is untidy: within a day a row comes twice or a product changes several
times, older rows arrive days late, a delete overtakes the update before it, a whole file is
delivered a second time, products move to another category, and values are missing.

Files, in one flat folder:

    incr_2015-04-10.csv    inserts and updates: product_id,category,brand,price,inventory,ts
    del_2015-04-10.csv     deletes: product_id,,,,,ts (the prefix is what marks them)

`ts` is in seconds since 1970-01-01 UTC and orders the changes of one product; no product has two
different changes with the same `ts`.
"""

from __future__ import annotations

import argparse
import csv
import io
import random
import string
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import TypeVar

from landing import deliver

T = TypeVar("T")

INSERT_PREFIX = "incr_"
DELETE_PREFIX = "del_"
FIRST_DAY = date(2015, 4, 9)
SECONDS_A_DAY = 86_400

BRANDS: dict[str, tuple[str, ...]] = {
    "camera": ("canon", "nikon", "sony"),
    "cell phone": ("apple", "nokia", "samsung", "xiaomi"),
    "e-reader": ("amazon kindle", "kobo"),
    "game console": ("microsoft", "nintendo", "sony"),
    "headphones": ("bose", "sennheiser", "sony"),
    "laptop": ("apple", "dell", "lenovo"),
    "tablet": ("amazon kindle", "apple", "samsung"),
    "television": ("lg", "philips", "samsung"),
}
CATEGORIES = tuple(BRANDS)


@dataclass(frozen=True, slots=True)
class Change:
    """One row of the feed: what a product is from `ts` on, or that it is gone."""

    product_id: str
    category: str | None
    brand: str | None
    price: Decimal | None
    inventory: int | None
    ts: int
    is_delete: bool = False


@dataclass(frozen=True, slots=True)
class FeedFile:
    """A file that lands on a day; day 0 is the initial load."""

    name: str
    day: int
    changes: tuple[Change, ...]

    def text(self) -> str:
        """Return the file's content; a missing value is an empty field."""
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        for change in self.changes:
            values = (change.category, change.brand, change.price, change.inventory)
            writer.writerow((change.product_id, *("" if v is None else v for v in values), change.ts))
        return buffer.getvalue()


@dataclass(frozen=True, slots=True)
class FeedConfig:
    """Size and shape of the feed; shares are fractions of the changes of a day."""

    seed: int = 20150409
    products: int = 6_000
    days: int = 7
    changes_per_day: int = 600
    late_share: float = 0.06
    duplicate_share: float = 0.03
    insert_share: float = 0.15
    delete_share: float = 0.10
    move_share: float = 0.08
    null_share: float = 0.02
    redelivered_day: int = 2
    redelivery_day: int = 4


@dataclass(frozen=True, slots=True)
class Story:
    """A product whose changes are written by hand, to look at before and after."""

    label: str
    product_id: str
    initial: Change | None
    # (day of delivery, change)
    deliveries: tuple[tuple[int, Change], ...]


def feed_date(day: int) -> date:
    """Return the date of a day number; 0 is the initial load."""
    return FIRST_DAY + timedelta(days=day)


def epoch(day: int, hour: float) -> int:
    """Return the epoch seconds of an hour (0 to 24, UTC) of a day number."""
    start = datetime.combine(feed_date(day), datetime.min.time(), tzinfo=timezone.utc)
    return int(start.timestamp() + hour * 3600)


def stories() -> tuple[Story, ...]:
    """Return the hand-written products; all that happens to them happens within four days.

    The first three products and their time stamps are those of the article
    "Bulk Insert, Update and Delete in Hadoop Data Lake".
    """
    updated = Change("VR8NCNE7DV", "cell phone", "nokia", Decimal("99"), 71, epoch(-3, 9))
    repeated = Change("VOA31MCU9I", "cell phone", "apple", Decimal("150"), 43, 1427644188)
    moved = Change("VRN5D60451", "tablet", "amazon kindle", Decimal("258"), 96, 1428527865)
    deleted = Change("VG2TQ80LMX", "camera", "nikon", Decimal("410.50"), 7, epoch(-9, 12))
    late = Change("VW7PD31KZA", "laptop", "dell", Decimal("899"), 12, epoch(-5, 8))
    returned = Change("VB5HS94YQC", "headphones", "bose", Decimal("199.90"), 30, epoch(-2, 17))
    early = Change("VN0XE62RJT", "television", "lg", Decimal("649"), 4, epoch(1, 10))
    new = Change("VK9CF15UDM", "game console", "nintendo", Decimal("299"), 55, epoch(3, 11))
    return (
        Story("updated", updated.product_id, updated, (
            (1, replace(updated, inventory=58, ts=epoch(1, 9))),
        )),
        Story("updated thrice in a day", repeated.product_id, repeated, (
            (2, replace(repeated, price=Decimal("145"), ts=epoch(2, 8))),
            (2, replace(repeated, price=Decimal("139"), inventory=40, ts=epoch(2, 19))),
            (2, replace(repeated, price=Decimal("142"), inventory=41, ts=epoch(2, 13))),
        )),
        Story("moved to another category", moved.product_id, moved, (
            (3, replace(moved, category="e-reader", ts=epoch(3, 7))),
        )),
        Story("deleted", deleted.product_id, deleted, ((2, as_delete(deleted, epoch(2, 15))),)),
        Story("older row came late", late.product_id, late, (
            (2, replace(late, price=Decimal("849"), inventory=9, ts=epoch(2, 11))),
            (4, replace(late, price=Decimal("879"), inventory=11, ts=epoch(1, 11))),
        )),
        Story("deleted, then back", returned.product_id, returned, (
            (1, as_delete(returned, epoch(1, 18))),
            (3, replace(returned, price=Decimal("179.90"), inventory=15, ts=epoch(3, 9))),
        )),
        Story("delete came before insert", early.product_id, None, (
            (2, as_delete(early, epoch(2, 10))),
            (4, early),
        )),
        Story("new", new.product_id, None, ((3, new),)),
    )  # fmt: skip


def as_delete(change: Change, ts: int) -> Change:
    """Return the delete of a product; a delete row carries nothing but its key and `ts`."""
    return Change(change.product_id, None, None, None, None, ts, is_delete=True)


@dataclass(slots=True)
class _Source:
    """The source system: its random numbers and the products that it holds now."""

    config: FeedConfig
    rng: random.Random
    products: dict[str, Change] = field(default_factory=dict)
    # Products deleted at the source, to be brought back now and then.
    deleted: dict[str, Change] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    def new_id(self) -> str:
        """Return a product id that was never given before."""
        while True:
            letters = self.rng.choices(string.ascii_uppercase + string.digits, k=9)
            product_id = "V" + "".join(letters)
            if product_id not in self.taken:
                self.taken.add(product_id)
                return product_id

    def or_null(self, value: T) -> T | None:
        """Return the value, or now and then nothing."""
        return None if self.rng.random() < self.config.null_share else value

    def new_product(self, ts: int) -> Change:
        """Add a product as of `ts` and return its insert."""
        category = self.rng.choice(CATEGORIES)
        change = Change(
            product_id=self.new_id(),
            category=self.or_null(category),
            brand=self.or_null(self.rng.choice(BRANDS[category])),
            price=self.or_null(Decimal(self.rng.randint(1_900, 199_900)).scaleb(-2)),
            inventory=self.or_null(self.rng.randint(0, 120)),
            ts=ts,
        )
        self.products[change.product_id] = change
        return change

    def update(self, product_id: str, ts: int) -> Change:
        """Change a product as of `ts`: its stock, often its price, seldom its category."""
        now = self.products[product_id]
        category, brand, price = now.category, now.brand, now.price
        if self.rng.random() < self.config.move_share:
            category = self.or_null(self.rng.choice(CATEGORIES))
        if self.rng.random() < 0.4:
            price = self.or_null(Decimal(self.rng.randint(1_900, 199_900)).scaleb(-2))
        inventory = self.or_null(self.rng.randint(0, 120))
        change = Change(product_id, category, brand, price, inventory, ts)
        self.products[product_id] = change
        return change

    def delete(self, product_id: str, ts: int) -> Change:
        """Take a product out as of `ts` and return its delete."""
        self.deleted[product_id] = self.products.pop(product_id)
        return as_delete(self.deleted[product_id], ts)

    def bring_back(self, product_id: str, ts: int) -> Change:
        """Put a deleted product back as of `ts` and return its insert."""
        self.products[product_id] = replace(self.deleted.pop(product_id), ts=ts)
        return self.products[product_id]

    def day(self, day: int) -> Iterator[Change]:
        """Yield the changes of one day in the order in which they happen."""
        count = self.config.changes_per_day
        # Distinct seconds: no product gets two changes at the same `ts`.
        seconds = sorted(self.rng.sample(range(SECONDS_A_DAY), count))
        start = epoch(day, 0)
        busy = self.rng.sample(list(self.products), k=min(20, len(self.products)))
        for second in seconds:
            draw = self.rng.random()
            if draw < self.config.insert_share:
                if self.deleted and self.rng.random() < 0.25:
                    back = self.rng.choice(list(self.deleted))
                    yield self.bring_back(back, start + second)
                else:
                    yield self.new_product(start + second)
                continue
            pool = busy if self.rng.random() < 0.15 else list(self.products)
            product_id = self.rng.choice(pool)
            if product_id not in self.products:
                continue
            if draw < self.config.insert_share + self.config.delete_share:
                yield self.delete(product_id, start + second)
            else:
                yield self.update(product_id, start + second)


def generate(config: FeedConfig) -> list[FeedFile]:
    """Return all files of the feed, by day; the same config gives the same files.

    Rows that would land after the last day are left out, as they would be in a real landing folder.
    """
    source = _Source(config, random.Random(config.seed))
    told = stories()
    source.taken.update(story.product_id for story in told)
    arrivals: dict[int, list[Change]] = {day: [] for day in range(config.days + 1)}
    for _ in range(config.products):
        ts = epoch(0, 0) - source.rng.randint(1, 30 * SECONDS_A_DAY)
        arrivals[0].append(source.new_product(ts))
    for story in told:
        if story.initial is not None:
            arrivals[0].append(story.initial)
        for day, change in story.deliveries:
            arrivals.setdefault(day, []).append(change)
    for day in range(1, config.days + 1):
        for change in source.day(day):
            late = source.rng.random() < config.late_share
            delivered = day + source.rng.randint(1, 3) if late else day
            arrivals.setdefault(delivered, []).append(change)
            if source.rng.random() < config.duplicate_share:
                arrivals[delivered].append(change)

    files: list[FeedFile] = []
    for day in range(config.days + 1):
        # Arrival order says nothing about the order of changes: that is what `ts` is for.
        source.rng.shuffle(arrivals[day])
        files.extend(_day_files(day, arrivals[day]))
    again = [f for f in files if f.day == config.redelivered_day]
    if config.redelivery_day <= config.days:
        files.extend(_redelivered(file, config.redelivery_day) for file in again)
    return sorted(files, key=lambda f: (f.day, f.name))


def _day_files(day: int, changes: Sequence[Change]) -> Iterator[FeedFile]:
    upserts = tuple(c for c in changes if not c.is_delete)
    deletes = tuple(c for c in changes if c.is_delete)
    if upserts:
        yield FeedFile(f"{INSERT_PREFIX}{feed_date(day)}.csv", day, upserts)
    if deletes:
        yield FeedFile(f"{DELETE_PREFIX}{feed_date(day)}.csv", day, deletes)


def _redelivered(file: FeedFile, day: int) -> FeedFile:
    prefix, _, rest = file.name.partition("_")
    return FeedFile(f"{prefix}_{feed_date(day)}_again_{rest}", day, file.changes)


def expected_master(files: Iterable[FeedFile], day: int) -> dict[str, Change]:
    """Return what the master must hold after a day, by product id: the oracle of the tests.

    The highest `ts` of a product wins, whenever and however often it was delivered.
    """
    latest: dict[str, Change] = {}
    for file in files:
        if file.day > day:
            continue
        for change in file.changes:
            known = latest.get(change.product_id)
            if known is None or change.ts > known.ts:
                latest[change.product_id] = change
    return {key: change for key, change in latest.items() if not change.is_delete}


def write(files: Iterable[FeedFile], landing: Path) -> list[Path]:
    """Write the files that are missing or different, and return their paths.

    Files of the landing folder that are not part of the feed stay where they are.
    """
    landing.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for file in files:
        path = landing / file.name
        text = file.text()
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        deliver(path, text)
        written.append(path)
    return written


def main() -> None:
    """Write the feed to a landing folder from the command line."""
    defaults = FeedConfig()
    parser = argparse.ArgumentParser(description="Write the product change feeds of the example.")
    parser.add_argument("--landing", type=Path, default=Path(".lakemerge/landing/products"))
    parser.add_argument("--seed", type=int, default=defaults.seed)
    parser.add_argument("--products", type=int, default=defaults.products)
    parser.add_argument("--days", type=int, default=defaults.days)
    parser.add_argument("--changes-per-day", type=int, default=defaults.changes_per_day)
    args = parser.parse_args()
    files = generate(
        FeedConfig(
            seed=args.seed,
            products=args.products,
            days=args.days,
            changes_per_day=args.changes_per_day,
        )
    )
    written = write(files, args.landing)
    rows = sum(len(file.changes) for file in files)
    print(f"{args.landing}: {len(files)} files, {rows} rows; {len(written)} files written")


if __name__ == "__main__":
    main()
