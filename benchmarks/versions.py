"""CPU seconds of reading a version beside its table, and of a feed of changes beside a comparison of everything.

A merge changes one row of a hundred, in 20 of 200 partitions. Measured are medians of CPU seconds of Python and Java:

    make bench-versions

- `read`: all columns of all rows, of the table as Spark reads it, of its newest version and of the older one.
- `changes`: the rows that the merge changed, with preimages, as `changes()` gives them; the same found by joining both
  versions as wholes by the key; and read from a file into which the commit would have written them (`change_data_feed`
  of other formats), with what writing them there costs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import lakemerge
from measure import Measured, Ratio
from project import BenchProject

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PROJECT = "name: bench\nprofile: bench\n"
PARTITIONS, CHANGED = 200, 20
ROWS, ROUNDS = 2_000_000, 5
COLUMNS = """id, p, version, concat('name ', id) as name, cast(id % 1000 as decimal(10, 2)) as price,
    id * 7919 % 100000 as stock, concat('https://shop.example/', sha1(cast(id as string))) as reference"""


class Bench:
    """The table with its two versions."""

    def __init__(self, root: Path, rows: int) -> None:
        self._project = BenchProject(root, PROJECT, {})
        self._project.start()
        self.spark = self._project.spark
        self.table = lakemerge.table("bench.products", spark=self.spark)
        given = {"unique_key": "id", "partition_by": ["p"]}
        self.table.merge(
            self._rows(f"select id, id % {PARTITIONS} as p, 1 as version from range({rows})"), **given
        )
        # one row of a hundred, all in these partitions
        changed = f"select id, id % {PARTITIONS} as p, 2 as version from range({rows})"
        wanted = f"p < {CHANGED} and id div {PARTITIONS} % {100 * CHANGED // PARTITIONS} = 0"
        self.merged = self.table.merge(self._rows(f"select * from ({changed}) where {wanted}"), **given)

    def _rows(self, sql: str) -> DataFrame:
        found: DataFrame = self.spark.sql(f"select {COLUMNS} from ({sql})")
        return found

    @staticmethod
    def read(frame: DataFrame) -> int:
        """Read all columns of all rows."""
        columns = ", ".join(f"`{name}`" for name in frame.columns)
        return int(frame.selectExpr(f"bit_xor(xxhash64({columns}))", "count(*)").collect()[0][1])

    def newest(self) -> int:
        return self.read(self.spark.table("bench.products"))

    def version(self, number: int) -> int:
        return self.read(self.table.at(version=number).frame())

    def changes(self) -> int:
        return self.read(self.table.changes(from_version=1))

    def compared(self) -> int:
        """The same rows, found without knowing which partitions differ."""
        old, new = (self.table.at(version=number).frame() for number in (1, 2))
        hashed = [one.selectExpr("id", "struct(*) as side") for one in (old, new)]
        both = (
            hashed[0]
            .withColumnRenamed("side", "pre")
            .join(hashed[1].withColumnRenamed("side", "post"), "id", "full_outer")
        )
        kind = "if(pre is null, 'insert', if(post is null, 'delete', 'update'))"
        found = both.where("not pre <=> post").selectExpr("pre", "post", f"{kind} as kind")
        return 2 * self.read(found)

    def write(self) -> None:
        """What a commit would do besides: the changed rows are at hand, and are written once more."""
        changes = self.table.changes(from_version=1).localCheckpoint()
        self.writing = Measured()
        for _ in range(ROUNDS + 1):
            with self.writing.run():
                changes.coalesce(1).write.mode("overwrite").orc(self._file)

    def written(self) -> int:
        return self.read(self.spark.read.orc(self._file))

    @property
    def _file(self) -> str:
        return f"file://{self._project.root}/changes"


def measured(name: str, work: Callable[[], int], expected: int, rounds: int) -> Measured:
    """Seconds of some rounds, after two that only warm Java up."""
    found = Measured()
    for number in range(rounds + 2):
        with found.run() if number > 1 else Measured().run():
            rows = work()
        assert rows == expected, f"{name}: {rows} rows, not {expected}"
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=ROWS, help=f"of the table ({ROWS:,})")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"of each measure ({ROUNDS})")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lakemerge-bench-") as folder:
        print(f"Making a table of {arguments.rows:,} rows", file=sys.stderr)
        bench = Bench(Path(folder), arguments.rows)
        rows, changed = arguments.rows, 2 * int(bench.merged.updated)

        def run(name: str, work: Callable[[], int], expected: int, base: Measured | None = None) -> Measured:
            found = measured(name, work, expected, arguments.rounds)
            against = f" | {Ratio.of(found, [base])}" if base else " |"
            print(f"| {name} | {expected:,} | {found}{against} |", flush=True)
            return found

        print("| work | rows | seconds | times the first of its kind |\n|---|---|---|---|")
        table = run("read the table", bench.newest, rows)
        run("read version 2, the newest", lambda: bench.version(2), rows, table)
        run("read version 1", lambda: bench.version(1), rows, table)
        computed = run("changes from version 1", bench.changes, changed)
        run("the same by comparing everything", bench.compared, changed, computed)
        bench.write()
        run("the same from a file", bench.written, changed, computed)
        print(
            f"| write that file, per commit | {changed:,} | {bench.writing} | {Ratio.of(bench.writing, [computed])} |"
        )


if __name__ == "__main__":
    main()
