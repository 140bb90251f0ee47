"""The example as `make run` runs it, on a small feed, against the generator's oracle."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import generate_customers as customers
from bounded import MOST_SECONDS
from engines import s3
from engines.metastores import METASTORES, metastore_on
from engines.services import FILES, cluster_of, storage_of
from generate_feeds import Change, FeedConfig, FeedFile, expected_master, feed_date, generate, stories
from small_spark import INTERPRETED, SMALL_SPARK

ROOT = Path(__file__).parents[3]
DELIVERIES = customers.generate()
HISTORY = customers.expected_history(DELIVERIES)
CUSTOMER_ATTRIBUTES = ("name", "street", "city", "segment")
#: The last day that a product with a story changes on, and a file is delivered again.
DAYS_OF_ALL = 4
#: Seconds after which a cluster loses an executor.
_UNTIL_LOSS = 60
Row = dict[str, Any]
Run = dict[str, Any]
#: File, line, reason and column of the records that the example rejects.
QUARANTINED = (
    ("shipments_2.csv", "3", "malformed_value", "quantity"),
    ("shipments_2.csv", "4", "overflow", "quantity"),
    ("shipments_2.csv", "5", "precision_lost", "weight_kg"),
    ("shipments_2.csv", "6", "bad_date", "shipped_on"),
    ("shipments_2.csv", "7", "missing_field", ""),
    ("shipments_2.csv", "8", "malformed_quotes", ""),
    ("shipments_2.csv", "9", "truncated_record", ""),
    ("shipments_3.csv", "2", "extra_field", ""),
    ("shipments_3.csv", "3", "extra_field", ""),
)


def environment(**variables: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LAKEMERGE_")}
    return {**kept, "PYTHONPATH": str(ROOT / "scripts"), **variables}


@pytest.fixture(scope="module", params=[1, pytest.param(DAYS_OF_ALL, marks=pytest.mark.slow)])
def size(request: pytest.FixtureRequest) -> FeedConfig:
    """The feed of the initial load and a day after it, or of as many days as something new happens on."""
    return FeedConfig(days=request.param, products=300, changes_per_day=80)


@pytest.fixture(scope="module")
def files(size: FeedConfig) -> list[FeedFile]:
    return generate(size)


@pytest.fixture(scope="module")
def state(size: FeedConfig, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder for landing, warehouse and logs of all runs."""
    return tmp_path_factory.mktemp(f"example_of_{size.days}")


@pytest.fixture(scope="module")
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    """What spark-defaults.conf says of the cluster that ``--files``, ``--metastore`` and ``--spark`` ask for, and what
    the driver's environment has to; nothing where none is asked for.
    """
    kinds = [request.config.getoption(name) for name in ("--files", "--metastore", "--spark")]
    if kinds[:2] == [FILES[0], METASTORES[0]]:
        yield {}, {}
        return
    with (
        storage_of(kinds[0]) as storage,
        metastore_on(kinds[1], tmp_path_factory.mktemp("metastore"), storage) as metastore,
        cluster_of(kinds[2], storage) as spark,
    ):
        jars = {"spark.jars": ",".join(map(str, s3.jars()))} if kinds[0] == "s3" else {}
        loss = threading.Timer(_UNTIL_LOSS, spark.lose_one)
        loss.start()
        yield {**SMALL_SPARK, **metastore.spark_conf, **jars, **spark.settings}, spark.environment
        assert not loss.is_alive(), "all was done before an executor was lost"
        assert spark.executors(), "nothing was run on the workers"


@pytest.fixture(scope="module")
def settings(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    cluster: tuple[dict[str, str], dict[str, str]],
) -> dict[str, str]:
    """Variables by which Spark interprets queries, unless all are to be compiled, and by which it finds the cluster."""
    folder = tmp_path_factory.mktemp("conf")
    conf, environment = cluster
    lines = {**conf, **({} if request.config.getoption("--compiled") else INTERPRETED)}
    (folder / "spark-defaults.conf").write_text("".join(f"{name} {value}\n" for name, value in lines.items()))
    found = {"SPARK_CONF_DIR": str(folder), **environment}
    if conf:
        found |= {
            "DBT_TARGET": "cluster",
            "LAKEMERGE_METASTORE": conf["spark.hadoop.hive.metastore.uris"],
            "LAKEMERGE_WAREHOUSE": conf["spark.hadoop.hive.metastore.warehouse.dir"],
        }
    return found


@pytest.fixture(scope="module")
def first(state: Path, size: FeedConfig, settings: dict[str, str]) -> Run:
    """What the first run has printed, and what the tables hold after it."""
    return run_example(state, "first.json", size, settings)


@pytest.fixture(scope="module")
def second(state: Path, size: FeedConfig, settings: dict[str, str], first: Run) -> Run:
    """The same of a second run, which finds no new file."""
    return run_example(state, "second.json", size, settings)


def run_example(state: Path, kept: str, size: FeedConfig, settings: dict[str, str]) -> Run:
    sizes = [str(number) for number in (size.days, size.products, size.changes_per_day)]
    program = str(Path(__file__).with_name("run_and_keep.py"))
    command = [sys.executable, program, str(state), str(state / kept), *sizes]
    done = subprocess.run(
        command,
        env=environment(**settings),
        capture_output=True,
        text=True,
        timeout=2 * MOST_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    run: Run = json.loads((state / kept).read_text(encoding="utf-8"))
    assert run["code"] == 0, run["err"][-2000:]
    return run


@pytest.fixture(scope="module")
def oracle(size: FeedConfig, files: list[FeedFile]) -> dict[str, Change]:
    return expected_master(files, size.days)


def products(rows: list[Row]) -> dict[str, tuple[Any, ...]]:
    assert len({row["product_id"] for row in rows}) == len(rows)
    return {
        row["product_id"]: (
            row["category"],
            row["brand"],
            None if row["price"] is None else Decimal(row["price"]),
            None if row["inventory"] is None else int(Decimal(row["inventory"])),
            int(Decimal(row["ts"])),
        )
        for row in rows
    }


def test_master_equals_the_oracle(first: Run, oracle: dict[str, Change]) -> None:
    expected = {c.product_id: (c.category, c.brand, c.price, c.inventory, c.ts) for c in oracle.values()}
    assert products(first["tables"]["product_master"]) == expected


def test_price_bands_hold_the_same_products(first: Run) -> None:
    tables = first["tables"]
    banded = tables["product_master_by_price_band"]
    assert products(banded) == products(tables["product_master"])
    for row in banded:
        price = None if row["price"] is None else Decimal(row["price"])
        assert (row["price_band"] == "under 100") == (price is not None and price < 100)
        assert (row["price_band"] == "no price") == (price is None)


def test_compacted_log_holds_every_delivered_line(first: Run, files: list[FeedFile]) -> None:
    rows = first["tables"]["product_change_log_compacted"]
    found = Counter((row["product_id"], int(Decimal(row["ts"])), row["file_name"]) for row in rows)
    assert found == Counter((c.product_id, c.ts, f.name) for f in files for c in f.changes)


def test_inventory_value_adds_up_to_the_master(first: Run, oracle: dict[str, Change]) -> None:
    rows = first["tables"]["inventory_value"]
    valued = [
        c.price * c.inventory for c in oracle.values() if c.price is not None and c.inventory is not None
    ]
    assert sum(Decimal(row["inventory_value"]) for row in rows) == sum(valued)
    assert sum(int(Decimal(row["product_count"])) for row in rows) == len(oracle)


def test_every_product_below_its_level_is_low(first: Run, oracle: dict[str, Change]) -> None:
    lines = (ROOT / "seeds" / "category_reorder_levels.csv").read_text(encoding="utf-8").splitlines()[1:]
    levels = {name: int(level) for name, level in (line.split(",") for line in lines)}
    low = {
        c.product_id
        for c in oracle.values()
        if c.inventory is not None and c.inventory < levels.get(c.category or "", 5)
    }
    assert {row["product_id"] for row in first["tables"]["low_stock_products"]} == low


def test_first_run_prints_every_day_and_story(first: Run, size: FeedConfig) -> None:
    out, err = first["out"], first["err"]
    assert "fresh start" in err
    for day in range(size.days + 1):
        assert f"[day {day} of {size.days}]" in err
        assert str(feed_date(day)) in out
    for story in stories():
        assert story.label in out


@pytest.mark.slow
def test_second_run_continues_and_changes_nothing(first: Run, second: Run, size: FeedConfig) -> None:
    last_day = str(feed_date(size.days))
    assert f"continue: the warehouse holds the days up to {last_day}" in second["err"]
    assert products(second["tables"]["product_master"]) == products(first["tables"]["product_master"])
    counts = [
        line.split("|")[3:6] for line in second["out"].splitlines() if line.startswith(f"| {last_day} ")
    ]
    assert [[int(count) for count in line] for line in counts] == [[0, 0, 0]]
    merges = [sum(" merge " in line for line in run["out"].splitlines()) for run in (first, second)]
    assert 0 < merges[0] == merges[1]


def number(value: Any) -> int:
    return int(Decimal(value))


def attributes(source: Any) -> tuple[Any, ...]:
    if isinstance(source, dict):
        return (number(source["customer_id"]), *(source[name] for name in CUSTOMER_ATTRIBUTES))
    return (source.customer_id, *(getattr(source, name) for name in CUSTOMER_ATTRIBUTES))


def time_of(value: Any) -> str | None:
    return None if value is None else str(value).replace("T", " ")[:19]


def versions(rows: list[Row]) -> list[tuple[Any, ...]]:
    found = [(*attributes(row), time_of(row["__start_at"]), time_of(row["__end_at"])) for row in rows]
    return sorted(found, key=lambda row: (row[0], row[5]))


def test_customer_history_equals_the_oracle(first: Run) -> None:
    expected = [(*attributes(v.change), str(v.start_at), time_of(v.end_at)) for v in HISTORY]
    assert versions(first["tables"]["customer_history"]) == expected


def test_customer_master_equals_the_oracle(first: Run) -> None:
    found = [(*attributes(row), time_of(row["changed_at"])) for row in first["tables"]["customer_master"]]
    expected = [(*attributes(v.change), str(v.change.changed_at)) for v in HISTORY if v.end_at is None]
    assert sorted(found) == sorted(expected)


def test_current_rows_of_the_snapshot_are_the_master(first: Run) -> None:
    tables = first["tables"]
    current = [attributes(row) for row in tables["customer_snapshot"] if row["dbt_valid_to"] is None]
    assert sorted(current) == sorted(attributes(row) for row in tables["customer_master"])
    reported = [
        row["city"] for row in tables["customer_snapshot"] if number(row["customer_id"]) == customers.STORY_ID
    ]
    assert sorted(reported) == ["Graz", "Vienna"], "the customer as of each snapshot, and never Linz"


def test_each_order_has_the_segment_of_its_time(first: Run) -> None:
    by_customer: dict[int, list[customers.Version]] = {}
    for version in HISTORY:
        by_customer.setdefault(version.change.customer_id, []).append(version)
    expected = {}
    for order in (order for delivery in DELIVERIES for order in delivery.orders):
        valid = [
            version.change
            for version in by_customer.get(order.customer_id, [])
            if version.start_at <= order.ordered_at
            and (not version.end_at or version.end_at > order.ordered_at)
        ]
        expected[order.order_id] = (valid[0].segment, valid[0].city) if valid else (None, None)
    rows = first["tables"]["orders_by_segment"]
    assert len(rows) == len(expected)
    assert {number(row["order_id"]): (row["segment"], row["city"]) for row in rows} == expected


@pytest.mark.slow
def test_second_run_of_the_customers_changes_nothing(first: Run, second: Run) -> None:
    for table in (
        "customer_master",
        "customer_history",
        "customer_snapshot",
        "customer_orders",
        "orders_by_segment",
    ):
        assert sorted(map(repr, second["tables"][table])) == sorted(map(repr, first["tables"][table])), table


def test_each_delivery_is_built(first: Run) -> None:
    for day in customers.DELIVERY_DATES:
        assert f"path:snapshots: {day}" in first["err"]


@pytest.mark.slow
def test_no_delivery_is_built_again(second: Run) -> None:
    for day in customers.DELIVERY_DATES:
        assert f"path:snapshots: {day}" not in second["err"]
    assert "path:snapshots: (nothing new)" in second["err"]
    assert "shop_1.json" not in second["err"]


def shipment_ids(run: Run) -> list[int]:
    return sorted(int(row["shipment_id"]) for row in run["tables"]["shipments"])


def test_each_shipment_is_a_row_or_in_quarantine(first: Run) -> None:
    """Twelve whole records and one that is cut off; the two with a field too many come in by the replay."""
    assert shipment_ids(first) == [1001, 1002, 1003, 1004, 1005, 1013, 1014]
    cells = [[cell.strip() for cell in line.split("|")] for line in first["out"].splitlines()]
    rejected = [row[1:5] for row in cells if len(row) == 7 and row[1].startswith("shipments_")]
    assert rejected == [list(row) for row in QUARANTINED]
    assert "shipments: REPLAY (2 inserted" in first["out"]


@pytest.mark.slow
def test_no_shipment_is_replayed_again(first: Run, second: Run) -> None:
    assert shipment_ids(second) == shipment_ids(first)
    assert "shipments: REPLAY (0 inserted" in second["out"]


def test_failure_is_one_line_and_an_exit_code(tmp_path: Path) -> None:
    warehouse = tmp_path / "warehouse"
    warehouse.write_text("a file where the folder should be", encoding="utf-8")
    done = subprocess.run(
        [
            sys.executable,
            "scripts/run_example.py",
            "--state",
            str(tmp_path),
            "--products",
            "10",
            "--days",
            "1",
        ],
        cwd=ROOT,
        env=environment(LAKEMERGE_WAREHOUSE=str(warehouse)),
        capture_output=True,
        text=True,
        timeout=MOST_SECONDS,
        check=False,
    )
    assert done.returncode == 1
    errors = [line for line in done.stderr.splitlines() if not line.startswith("[")]
    assert len(errors) == 1
    assert errors[0].startswith("error: ")
    assert str(warehouse) in errors[0]


def test_the_customers_deltas_are_moved_into_the_base(first: Run) -> None:
    found = {
        (row["table_name"].split(".")[1], row["action"], row["state"])
        for row in first["tables"]["compactions"]
    }
    assert ("customer_master", "major", "done") in found
    assert "failed" not in {state for _, _, state in found}
    maintained = {
        (row["table_name"].split(".")[1], row["action"], row["state"])
        for row in first["tables"]["maintenance"]
    }
    assert {("customer_master", "major", state) for state in ("needed", "done")} <= maintained
    assert "product_master: would delete" in first["out"]


def test_orders_and_stock_change_together_and_show_when_tests_have_passed(first: Run) -> None:
    shown = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in first["out"].splitlines()
        if line.startswith(("| shop_1.json ", "| shop_2.json ", "| shop_3.json ")) and "lamp" in line
    ]
    assert shown == [
        ["shop_1.json", "published", "kettle 8, lamp 3", "kettle 8, lamp 3"],
        ["shop_2.json", "a test failed", "kettle 8, lamp -2", "kettle 8, lamp 3"],
        ["shop_3.json", "published", "kettle 10, lamp 0", "kettle 10, lamp 0"],
    ]
    assert "test assert_shop_sells_what_it_has failed" in first["out"], "what was staged says why it waits"
    assert_shop_is_as_published(first)


@pytest.mark.slow
def test_second_run_leaves_the_shop_as_it_is(second: Run) -> None:
    assert_shop_is_as_published(second)


def assert_shop_is_as_published(run: Run) -> None:
    orders = {
        number(row["order_id"]): (row["product"], number(row["pieces"]))
        for row in run["tables"]["shop_orders"]
    }
    assert orders == {502: ("lamp", 1), 503: ("lamp", 3)}
    (totals,) = run["tables"]["shop_totals"]
    assert {name: number(value) for name, value in totals.items()} == {
        "products": 2,
        "in_stock": 10,
        "sold": 4,
    }
