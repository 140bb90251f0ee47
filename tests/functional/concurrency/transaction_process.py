"""A program with two transactions over two tables, killed in the commit of the second one.

`transaction_process.py <Spark's settings> <warehouse> <schema> <step>`: dies by SIGKILL when that commit has done
the step.
"""

from __future__ import annotations

import json
import os
import signal
import sys

from pyspark.sql import SparkSession

import lakemerge
from lakemerge.kernel import Kernel
from small_spark import SMALL_SPARK

# As the commits of their models record them.
RULES = {
    "orders": {"strategy": "merge", "options": {"unique_key": ["id"], "sequence_by": ["ts"]}},
    "stock": {"strategy": "merge", "options": {"unique_key": ["id"]}},
}


def session(conf: str, warehouse: str) -> SparkSession:
    """The program's session."""
    builder = SparkSession.builder.master("local[2]").enableHiveSupport()
    settings = {
        **SMALL_SPARK,
        **json.loads(conf),
        "spark.sql.warehouse.dir": warehouse,
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def make_tables(spark: SparkSession, schema: str) -> tuple[str, str]:
    """Make both tables; returns their names."""
    spark.sql(f"create database {schema}")
    for table, rules in RULES.items():
        spark.sql(
            f"create table {schema}.{table} (id bigint, ts bigint) partitioned by (part string) stored as orc "
            f"tblproperties ('lakemerge.rules' = '{json.dumps(rules)}')"
        )
    return f"{schema}.orders", f"{schema}.stock"


def die_after(step: str) -> None:
    """Let this process die by SIGKILL when a commit of a kernel that is yet to be made has done a step."""

    def die(done: str) -> None:
        if done == step:
            os.kill(os.getpid(), signal.SIGKILL)

    Kernel.__init__.__kwdefaults__["step"] = die  # type: ignore[index]


def main(conf: str, warehouse: str, schema: str, step: str) -> None:
    orders, stock = make_tables(session(conf, warehouse), schema)

    def transfer(ts: int) -> None:
        with lakemerge.transaction(orders, stock) as t:
            t.upsert(orders, {"id": 1, "ts": ts, "part": f"p{ts}"})
            t.upsert(stock, [{"id": number, "ts": ts, "part": f"p{number}"} for number in (1, 2)])

    transfer(1)
    die_after(step)
    transfer(2)


if __name__ == "__main__":
    main(*sys.argv[1:])
