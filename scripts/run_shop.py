"""The part of the example that changes two tables by one commit, and publishes when tests have passed.

Each delivery is followed by a build of `models/shop`. Orders and stock change together. The second delivery leaves
less than nothing in stock, so a test fails, and the published report stays as it was until the third one.
"""

from __future__ import annotations

from pathlib import Path

import generate_shop as shop
from dbt_project import CommandFailed, DbtProject, print_table, progress

FOLDER = "path:models/shop"
STOCK = "select product, pieces, change_number from {{ ref('shop_stock') }} order by product"
ORDERS = "select order_id, product, pieces, change_number from {{ ref('shop_orders') }} order by order_id"
REPORT = "select product, in_stock, sold, orders from {{ ref('shop_report') }} order by product"
QUARANTINE = """
select regexp_extract(file, '[^/]+$', 0) as file, line, reason, reason_text
from {{ ref('shop_changes').incorporate(path={'identifier': 'shop_changes__quarantine'}) }}
order by file, line
"""


def run(project: DbtProject, landing: Path) -> None:
    """Build the shop delivery by delivery, and print what readers find after each."""
    found = []
    for name in (*shop.DELIVERIES, ""):
        new = name and shop.write(name, landing / "shop")
        progress(f"[shop] dbt build --select {FOLDER}: {name if new else 'no new file'}")
        outcome = _build(project, fails=bool(new) and name == shop.OVERSOLD)
        found.append(
            [name if new else "(nothing new)", outcome, _shown(project, STOCK), _shown(project, REPORT)]
        )
        if outcome != "published":
            print("\nWhat the build staged and did not publish, of models/shop\n")
            for line in project.run_operation("lakemerge_staged", {"select": "shop_report shop_totals"}):
                print(line)
    print("\nPieces in stock: in shop_stock, and in shop_report, which is published after its tests\n")
    print_table(("file", "build", "shop_stock", "shop_report"), found)
    project.print_query("Orders that stand, changed by the commits that changed the stock", ORDERS)
    project.print_query("Records of neither, and why", QUARANTINE)


def _build(project: DbtProject, *, fails: bool) -> str:
    """Build the shop; returns what became of the models that are published after their tests."""
    try:
        project.build("--select", FOLDER)
    except CommandFailed as error:
        if not fails:
            raise
        progress(f"[shop] {error}")
        return "a test failed"
    if fails:
        raise CommandFailed("dbt build: expected the test of the stock to fail; it has passed")
    return "published"


def _shown(project: DbtProject, sql: str) -> str:
    """The pieces of each product, in one text."""
    rows = (list(row.values()) for row in project.query(sql))
    return ", ".join(f"{product} {pieces}" for product, pieces, *_ in rows)
