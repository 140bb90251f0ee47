"""Do in one process what the README of a new project says; the last line printed holds the results as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dbt.cli.main import dbtRunner

VERSIONS = """
select cast(price as string) as price, dbt_valid_to is null as is_current
from {{ ref('products_snapshot') }} where product_id = 'P1' order by price
"""
OF_DBT = {".user.yml", "logs", "target"}


def dbt(*arguments: str) -> Any:
    done = dbtRunner().invoke([*arguments, "--log-level", "warn"])
    assert done.success, (arguments, done.exception, done.result)
    return done.result


def counts_of_products(results: Any) -> dict[str, int]:
    (products,) = [one for one in results if one.node.name == "products"]
    return {name: products.adapter_response[name] for name in ("inserted", "updated", "deleted")}


def main() -> None:
    before = {path.name for path in Path().iterdir()}
    dbt("debug")
    steps: dict[str, Any] = {
        "left by debug": sorted({path.name for path in Path().iterdir()} - before - OF_DBT)
    }
    steps["first"] = counts_of_products(dbt("build"))
    with Path("seeds/product_changes.csv").open("a") as feed:
        feed.write("P1,89.00,50,200,false,cell phone\n")
    steps["second"] = counts_of_products(dbt("build"))
    (shown,) = dbt("show", "--inline", VERSIONS)
    steps["versions of P1"] = [list(row.values()) for row in shown.agate_table.rows]
    print()
    print(json.dumps(steps))


if __name__ == "__main__":
    main()
