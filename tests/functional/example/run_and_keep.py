"""Run the example in a process of its own and write what it printed, and what the tables hold, to a file.

A process of its own, because Spark can use one metastore per process. Arguments: folder for everything,
the file, days, products, changes a day.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import run_example


def main() -> None:
    state, kept = Path(sys.argv[1]), Path(sys.argv[2])
    sizes = dict(zip(("--days", "--products", "--changes-per-day"), sys.argv[3:], strict=True))
    arguments = [text for size in sizes.items() for text in size]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run_example.main([*arguments, "--state", str(state)])
    if code:
        sys.exit(out.getvalue() + err.getvalue())
    # not by `dbt show`, which takes as long as a small build, for each
    spark = SparkSession.builder.getOrCreate().newSession()
    tables = {
        table: [row.asDict() for row in spark.table(f"shop.{table}").collect()]
        for table in (
            "product_master",
            "product_master_by_price_band",
            "product_change_log_compacted",
            "inventory_value",
            "low_stock_products",
            "shipments",
            "customer_master",
            "customer_history",
            "customer_snapshot",
            "customer_orders",
            "orders_by_segment",
            "shop_orders",
            "shop_report",
            "shop_totals",
            "compactions",
            "maintenance",
        )
    }
    done = {"code": code, "out": out.getvalue(), "err": err.getvalue(), "tables": tables}
    kept.write_text(json.dumps(done, default=str), encoding="utf-8")


if __name__ == "__main__":
    main()
