"""Statements beside Iceberg and Delta: the same ones, on the same rows, each program in a process of its own.

Run by ``make bench-statements``. Rows and counts are compared; times are CPU seconds of the process and its Java.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from measure import Measured
from peers.engines import Delta, Iceberg, InsertOverwrite, PlainEngine
from peers.workloads import Workload

#: Statements by name; ``{t}`` is the table. Each is run on what the one before has left.
STATEMENTS = {
    "update of one row": "update {t} set stock = stock + 1 where id = 4242",
    "update of one row, partition named": "update {t} set stock = 7 where id = 4242 and region = 'region-00002'",
    "update of 1 %, scattered": "update {t} set price = price * 2 where id % 101 = 17",
    "update of one partition": "update {t} set title = upper(title) where region = 'region-00003'",
    "delete of one row": "delete from {t} where id = 4243",
    "delete of 1 %, scattered": "delete from {t} where id % 103 = 18",
    "delete of one partition": "delete from {t} where region = 'region-00004'",
    "delete by a subquery": "delete from {t} where id in (select id * 3 from range(1000))",
    "merge of 1 %, all clauses": """
        merge into {t} as t
        using (select id * 100 as id, id % 3 as kind from range({share})) as s
        on t.id = s.id
        when matched and s.kind = 0 then delete
        when matched and s.kind = 1 then update set t.stock = -1
        when not matched and s.kind = 2 then insert (id, region) values (s.id, 'region-00005')
        when not matched by source and t.id = 4249 then update set t.stock = -2
    """,
}


#: What stands for a statement that a program does not have, by the program.
INSTEAD = {
    "delta": {
        "delete by a subquery": """
            merge into {t} as t using (select id * 3 as id from range(1000)) as s on t.id = s.id
            when matched then delete
        """,
    },
}


class Lakemerge(InsertOverwrite):
    """``lakemerge.sql`` on a plain table of a program, without dbt."""

    name = "lakemerge"
    table = "default.master"

    def create(self, base: str, rows: int) -> None:
        import lakemerge

        made = lakemerge.table(self.table, spark=self.spark)
        made.replace(f"select * except (op) from parquet.`{base}`", partition_by=["region"])

    def run(self, statement: str) -> None:
        import lakemerge

        lakemerge.sql(statement, spark=self.spark)


ENGINES: dict[str, type[PlainEngine]] = {engine.name: engine for engine in (Lakemerge, Iceberg, Delta)}


class Arguments(argparse.Namespace):
    """The command line."""

    engine: str
    jars: Path
    rows: int
    repeats: int


def measured(name: str, root: Path, jars: Path, rows: int, repeats: int) -> dict[str, Any]:
    """The seconds of each statement, and what is in the table afterwards; the first round warms up."""
    workload = Workload("statements", rows, 20, 0, 0, 1, 0)
    engine = ENGINES[name](root, jars)
    base = str(root / "base")
    engine.spark.sql(workload.base_sql()).coalesce(2).write.parquet(base)
    found = {statement: Measured() for statement in STATEMENTS}
    checks = []
    for turn in range(repeats + 1):
        if turn:
            engine.spark.sql(f"drop table if exists {engine.table}") if name != "delta" else shutil.rmtree(
                root / "delta"
            )
        engine.create(base, rows)
        for statement, text in {**STATEMENTS, **INSTEAD.get(name, {})}.items():
            sql = text.format(t=engine.table, share=rows // 100)
            with (found[statement] if turn else Measured()).run():
                engine.run(sql) if isinstance(engine, Lakemerge) else engine.spark.sql(sql).collect()
        columns = "id, price, stock, title, region"
        checks.append(
            engine.spark.sql(f"select count(*), bit_xor(xxhash64({columns})) from {engine.table}").collect()[
                0
            ]
        )
    least = {
        statement: [min(taken.cpu), min(taken.compiled_cpu), min(taken.wall)]
        for statement, taken in found.items()
    }
    return {"seconds": least, "rows": [list(row) for row in checks]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jars", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--engine", choices=ENGINES, help=argparse.SUPPRESS)
    arguments = parser.parse_args(namespace=Arguments())
    if arguments.engine:
        with tempfile.TemporaryDirectory() as folder:
            jars, rows, repeats = arguments.jars.resolve(), arguments.rows, arguments.repeats
            print(
                "result: " + json.dumps(measured(arguments.engine, Path(folder), jars, rows, repeats)),
                flush=True,
            )
        return
    results = {}
    for name in ENGINES:
        print(f"[statements] {name}", file=sys.stderr)
        command = [sys.executable, "-m", "peers.statements", *sys.argv[1:], "--engine", name]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        line = next(line for line in done.stdout.splitlines() if line.startswith("result: "))
        print(f"[statements] {line}", file=sys.stderr)  # even if a later one fails
        results[name] = json.loads(line[8:])
    afterwards = {json.dumps(result["rows"]) for result in results.values()}
    print(
        f"{arguments.rows} rows in 20 partitions; CPU seconds (without Java's compiling; wall seconds), least of "
        f"{arguments.repeats} each\n"
    )
    print("| | " + " | ".join(results) + " |\n|---|" + "---|" * len(results))
    for statement in STATEMENTS:
        cells = [
            "{:.2f} ({:.2f}; {:.2f})".format(*result["seconds"][statement]) for result in results.values()
        ]
        print(f"| {statement} | " + " | ".join(cells) + " |")
    if len(afterwards) > 1:
        sys.exit(f"The tables differ afterwards: {afterwards}")
    print("\nAll have the same rows afterwards.")


if __name__ == "__main__":
    main()
