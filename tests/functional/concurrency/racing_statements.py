"""A program whose statements race those of others on one table.

`racing_statements.py <Spark's settings> <warehouse> <schema> <kind> <role> <rounds>`: the first one, of the role
`changes`, makes the table. Each prints a line when it is ready, begins at a line of its input, and prints at its end
how often it has changed what.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession
from transaction_process import session

import lakemerge
from lakemerge.errors import ClaimHeld, CommitsExhausted

KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "keyed": {"unique_key": "id", "sequence_by": "ts"},
    "on_read": {"unique_key": "id", "sequence_by": "ts", "write_mode": "merge_on_read"},
}
#: Rows whose `n` counts the updates; ids from here on are given one after another, negative ones by a feed.
COUNTED = 8
_NEXT = "select max(id) + 1, 0, 1, concat('p', (max(id) + 1) % 3)"


class Racer:
    """One of the programs."""

    def __init__(self, spark: SparkSession, name: str, kind: str) -> None:
        self.spark, self.name, self.kind = spark, name, kind
        self.table = lakemerge.table(name, spark=spark)
        self.counts: Counter[str] = Counter()

    def make(self) -> None:
        rows = f"select id, 0L as n, 1L as ts, concat('p', id % 3) as part from range({COUNTED})"
        if KINDS[self.kind]:
            self.table.merge(rows, partition_by=["part"], **KINDS[self.kind])
        else:
            self.table.replace(rows, partition_by=["part"])

    def changes(self, turn: int) -> None:
        """Count, give the next id, and move a row to another partition."""
        self._do(
            "counted",
            lambda: self._sql(f"update {self.name} set n = n + 1 where id between 0 and {COUNTED - 1}"),
        )
        self._do("given", lambda: self._sql(f"insert into {self.name} {_NEXT} from {self.name}"))
        self._do(
            "moved",
            lambda: self._sql(f"update {self.name} set part = 'p{turn % 4}' where id = {turn % COUNTED}"),
        )

    def beside(self, turn: int) -> None:
        """What else changes a table: a feed, a MERGE, compaction, vacuum."""
        row = f"select {-1 - turn}L as id, 7L as n, 1L as ts, 'p{turn % 4}' as part"
        if KINDS[self.kind]:
            self._do("fed", lambda: self.table.merge(row))
        else:
            self._do("fed", lambda: self.table.append(row))
        self._do("compacted", lambda: lakemerge.compact(self.name, spark=self.spark))
        merge = (
            f"merge into {self.name} t using (select {-1 - turn}L as id) s on t.id = s.id when matched then"
        )
        self._do("merged", lambda: self._sql(f"{merge} update set n = t.n + 1"))
        short: Any = {"retention_hours": 0.1, "allow_short_retention": True, "dry_run": False}
        self._do("vacuumed", lambda: lakemerge.vacuum(self.name, spark=self.spark, **short))

    def _sql(self, statement: str) -> Any:
        return lakemerge.sql(statement, spark=self.spark)

    def _do(self, what: str, work: Callable[[], Any]) -> None:
        while True:
            try:
                work()
            except (CommitsExhausted, ClaimHeld):
                self.counts["again"] += 1
                continue
            self.counts[what] += 1
            return


def main(conf: str, warehouse: str, schema: str, kind: str, role: str, rounds: int) -> None:
    spark = session(conf, warehouse)
    spark.sql(f"create database if not exists {schema}")
    racer = Racer(spark, f"{schema}.t", kind)
    if not spark.catalog.tableExists(racer.name):
        racer.make()
    print("ready", flush=True)
    sys.stdin.readline()
    for turn in range(rounds):
        getattr(racer, role)(turn)
    print(json.dumps(racer.counts), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:6], int(sys.argv[6]))  # type: ignore[call-arg, arg-type]
