"""The part of the example that keeps history: one feed of customers, as they are and as they were.

Each delivery is followed by a build of `models/customers` and of the snapshot. Files and commits that a
build before has read are not read again; deliveries that are there already are not built again,
except for the last, which finds nothing new.
"""

from __future__ import annotations

from pathlib import Path

import generate_customers as customers
from dbt_project import DbtProject, print_table, progress

FOLDERS = ("path:models/customers", "path:snapshots")
COUNTS = ("inserted", "updated", "deleted", "ignored")

MASTER = "select name, street, city, segment, changed_at from {{ ref('customer_master') }}"
HISTORY = "select name, street, city, segment, __start_at, __end_at from {{ ref('customer_history') }}"
SNAPSHOT = (
    "select name, street, city, segment, dbt_valid_from, dbt_valid_to from {{ ref('customer_snapshot') }}"
)
ORDERS = "select order_id, ordered_at, amount, segment, city from {{ ref('orders_by_segment') }}"
STORY = (
    ("The customer in customer_master (SCD1): the newest change", MASTER, "changed_at"),
    (
        "The same in customer_history (SCD2): the move to Linz came last, and lies in between",
        HISTORY,
        "__start_at",
    ),
    (
        "The same in customer_snapshot: what the master held when each snapshot was taken",
        SNAPSHOT,
        "dbt_valid_from",
    ),
    ("The customer's orders, with the segment and the city of their time", ORDERS, "ordered_at"),
)


def run(project: DbtProject, landing: Path) -> None:
    """Build the customers delivery by delivery, and print what came of it."""
    counts: list[list[str]] = []
    deliveries = customers.generate()
    for delivery in deliveries:
        new = customers.write(delivery, landing)
        if not new and delivery is not deliveries[-1]:
            continue
        name = str(delivery.day) if new else "(nothing new)"
        progress(f"[customers] dbt build --select {' '.join(FOLDERS)}: {name}")
        arguments = ["--select", *FOLDERS]
        if counts:
            # They test the models' SQL, which stays the same
            arguments += ["--exclude-resource-type", "unit_test"]
        answers = project.build(*arguments)
        for table in ("customer_master", "customer_history"):
            counts.append([name, table, *(str(answers[table][count]) for count in COUNTS)])
    print("\nOne feed into two tables: customers that changed, and versions of customers\n")
    print_table(("delivery", "table", *COUNTS), counts)
    for title, sql, order in STORY:
        project.print_query(title, f"{sql} where customer_id = {customers.STORY_ID} order by {order}")
