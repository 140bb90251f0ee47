"""Run the example: a change feed of products, merged day after day by `dbt build`.

Writes the feed to the landing folder, builds the project once a day of it, and prints some products
before and after, the counts of each merge and the commits of the table. Then it delivers some shipments, alerts,
customers, and orders of a shop, see run_shipments.py, run_alerts.py, run_customers.py and run_shop.py, and looks after
all tables, see run_maintenance.py. A warehouse that already holds days is
continued: nothing in it is deleted, and a day merged twice changes nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import generate_feeds as feeds
import run_alerts
import run_customers
import run_maintenance
import run_shipments
import run_shop
from dbt_project import CommandFailed, DbtProject, print_table, progress

ROOT = Path(__file__).resolve().parent.parent
COUNTS = ("inserted", "updated", "deleted", "ignored")
ATTRIBUTES = ("category", "brand", "price", "inventory", "ts")

LAST_DAY = """
{% set log = load_relation(ref('product_change_log')) %}
{% if log %}
select cast(max(feed_date) as string) as last_day from {{ log }}
{% else %}
select cast(null as string) as last_day
{% endif %}
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the example from the command line and return the exit code."""
    defaults = feeds.FeedConfig()
    parser = argparse.ArgumentParser(description="Run the example over all days of its feed.")
    parser.add_argument("--days", type=int, default=defaults.days)
    parser.add_argument("--products", type=int, default=defaults.products)
    parser.add_argument("--changes-per-day", type=int, default=defaults.changes_per_day)
    parser.add_argument(
        "--state", type=Path, default=ROOT / ".lakemerge", help="folder for landing, warehouse and logs"
    )
    args = parser.parse_args(arguments)
    config = feeds.FeedConfig(products=args.products, days=args.days, changes_per_day=args.changes_per_day)
    try:
        run(project_in(args.state), config, landing_in(args.state))
    except (CommandFailed, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def landing_in(state: Path) -> Path:
    """Return the landing folder: that of the environment, otherwise one in the state folder."""
    return Path(os.environ.setdefault("LAKEMERGE_LANDING", str(state.resolve() / "landing")))


def project_in(state: Path) -> DbtProject:
    """Return this repository's dbt project, with its warehouse where the environment says or in `state`."""
    os.environ.setdefault("LAKEMERGE_WAREHOUSE", str(state.resolve() / "warehouse"))
    profiles = ROOT / os.environ.get("DBT_PROFILES_DIR", "profiles")
    return DbtProject(folder=ROOT, profiles=profiles, state=state.resolve())


def run(project: DbtProject, config: feeds.FeedConfig, landing: Path) -> None:
    """Build every day of the feed that the warehouse does not hold, and print what came of it."""
    started = time.monotonic()
    files = feeds.generate(config)
    written = feeds.write(files, landing / "products")
    rows = sum(len(file.changes) for file in files)
    progress(f"[feed] {len(files)} files, {rows} rows in {landing / 'products'} ({len(written)} written now)")
    progress("[start] parsing the project and starting Spark")
    first_day = _first_day(project, config)
    counts: list[list[str]] = []
    before: dict[str, dict[str, Any]] = {}
    for day in range(first_day, config.days + 1):
        if day > 0 and not before:
            before = _told_products(project)
        counts.append(_build_day(project, files, day, config.days, first=not counts))
    _print_products(before, _told_products(project), config)
    _print_counts(counts)
    print("\nCommits of product_master, the newest first\n")
    for line in project.run_operation("lakemerge_history", {"table": "product_master"}):
        print(line)
    run_shipments.run(project, landing)
    run_alerts.run(project, landing)
    run_customers.run(project, landing)
    run_shop.run(project, landing)
    run_maintenance.run(project)
    sys.stdout.flush()
    progress(f"[done] {time.monotonic() - started:.0f} s; the tables stay in the warehouse")


def _first_day(project: DbtProject, config: feeds.FeedConfig) -> int:
    """Return the day number to begin with, and say why it is this one."""
    last_day = project.query(LAST_DAY)[0]["last_day"]
    if last_day is None:
        progress("[start] fresh start: the warehouse is empty")
        return 0
    dates = [str(feeds.feed_date(day)) for day in range(config.days + 1)]
    if str(last_day) not in dates:
        raise CommandFailed(
            f"expected the last day in the warehouse to be one of {dates[0]} to {dates[-1]}; "
            f"found {last_day}. Run with more --days, or delete the warehouse folder."
        )
    progress(
        f"[start] continue: the warehouse holds the days up to {last_day}. That day is merged "
        "again, which changes nothing"
    )
    return dates.index(str(last_day))


def _build_day(
    project: DbtProject,
    files: Sequence[feeds.FeedFile],
    day: int,
    last: int,
    *,
    first: bool,
) -> list[str]:
    """Run `dbt build` for a day and return the row of the table of counts."""
    date = str(feeds.feed_date(day))
    delivered = [file for file in files if file.day == day]
    rows = sum(len(file.changes) for file in delivered)
    progress(
        f"[day {day} of {last}] dbt build --vars '{{feed_date: {date}}}': {len(delivered)} files, {rows} rows"
    )
    began = time.monotonic()
    # Unit tests test the models' SQL, which stays the same from one day to the next; so do seeds.
    arguments = [
        "--exclude",
        run_shipments.FOLDER,
        run_alerts.FOLDER,
        *run_customers.FOLDERS,
        run_shop.FOLDER,
        run_maintenance.FOLDER,
    ]
    if not first:
        arguments += ["--exclude-resource-type", "unit_test", "--exclude-resource-type", "seed"]
    answers = project.build(*arguments, variables={"feed_date": date})
    answer = answers["product_master"]
    progress(
        f"[day {day} of {last}] {len(answers)} models, seeds and tests passed "
        f"in {time.monotonic() - began:.0f} s"
    )
    return [date, str(rows), *(str(answer[count]) for count in COUNTS)]


def _told_products(project: DbtProject) -> dict[str, dict[str, Any]]:
    """Return the products with a story as they are in the table, by product id."""
    ids = ", ".join(f"'{story.product_id}'" for story in feeds.stories())
    columns = ", ".join(("product_id", *ATTRIBUTES))
    rows = project.query(f"select {columns} from {{{{ ref('product_master') }}}} where product_id in ({ids})")
    return {row["product_id"]: row for row in rows}


def _print_products(
    before: Mapping[str, Mapping[str, Any]],
    after: Mapping[str, Mapping[str, Any]],
    config: feeds.FeedConfig,
) -> None:
    lines: list[list[str]] = []
    for story in feeds.stories():
        for when, table in (("before", before), ("after", after)):
            row = table.get(story.product_id)
            values = ["(no row)"] if row is None else [_text(row[name]) for name in ATTRIBUTES]
            head = [story.label, story.product_id] if when == "before" else ["", ""]
            lines.append([*head, when, *values, *[""] * (len(ATTRIBUTES) - len(values))])
    print(f"\nSome products before and after the days up to {feeds.feed_date(config.days)}\n")
    print_table(("what happened", "product_id", "when", *ATTRIBUTES), lines)


def _print_counts(counts: Sequence[Sequence[str]]) -> None:
    print("\nMerges into product_master, counted in products\n")
    print_table(("feed_date", "feed rows", *COUNTS), counts)


def _text(value: Any) -> str:
    return "null" if value is None else str(value)


if __name__ == "__main__":
    sys.exit(main())
