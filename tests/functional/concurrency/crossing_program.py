"""A program whose transactions meet those of another one: in the same tables, named in the other order.

`crossing_program.py <Spark's settings> <warehouse> <schema> <0 or 1> <rounds>`: the first one makes the tables. It
prints a line when it is ready, begins at a line of its input, and prints the number of pinned reads that it has made.
"""

from __future__ import annotations

import sys

from transaction_process import make_tables, session

import lakemerge


def main(conf: str, warehouse: str, schema: str, number: int, rounds: int) -> None:
    spark = session(conf, warehouse)
    names = [f"{schema}.orders", f"{schema}.stock"]
    if number == 0:
        make_tables(spark, schema)
    print("ready", flush=True)
    sys.stdin.readline()
    reads = 0
    for ts in range(rounds):
        with lakemerge.transaction(*names, max_attempts=100) as t:
            for name in names if number == 0 else reversed(names):
                # a partition that both of them make
                t.upsert(name, {"id": 2 * ts + number, "ts": ts, "part": f"p{ts}"})
        found = [
            sorted(row.id for row in frame.collect()) for frame in lakemerge.read_together(*names).values()
        ]
        if found[0] != found[1] or 2 * ts + number not in found[0]:
            raise AssertionError(f"a pinned read saw {found}")
        reads += 1
    print(reads, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:4], *map(int, sys.argv[4:]))  # type: ignore[arg-type]
