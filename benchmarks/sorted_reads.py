"""What selective reads open of a table as it was written, and after it was sorted, and z-ordered, by compaction.

The table has 4,000,000 rows in files of 2 MB. Two of its columns, ``customer`` and ``product``, are spread over all
files; each query wants one in two hundred of the values of one of them, or one in twenty of both.

    files = those whose smallest and largest values do not rule the condition out
    MB    = what Spark has read of all files: of those that it can leave out, the footer

Both are counted, not measured, so a busy machine changes nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import textwrap
from dataclasses import dataclass
from pathlib import Path

from project import BenchProject

ROWS, CUSTOMERS, PRODUCTS = 4_000_000, 20_000, 20_000
MODEL = """
{{ config(materialized='table', file_format='FORMAT', compaction='off', target_file_size='2mb') }}
select /*+ repartition(40) */
    id,
    cast(pmod(xxhash64(id), CUSTOMERS) as int) as customer,
    cast(pmod(xxhash64(id, 1), PRODUCTS) as int) as product,
    cast(pmod(xxhash64(id, 2), 100000) / 100.0 as decimal(12, 2)) as price,
    concat('order ', pmod(xxhash64(id, 3), 1000000)) as reference
from range(ROWS)
"""
PROJECT = "name: bench\nprofile: bench\nmodel-paths: [models]\n"
#: Each layout, and what compaction is told to make it.
LAYOUTS: dict[str, dict[str, list[str]]] = {
    "as written": {},
    "sort_by: [customer]": {"sort_by": ["customer"]},
    "zorder_by: [customer, product]": {"zorder_by": ["customer", "product"]},
}


@dataclass(frozen=True)
class Query:
    """A selective read: the lowest and the highest value that it wants of each column."""

    bounds: dict[str, tuple[int, int]]

    @classmethod
    def of(cls, **shares: int) -> Query:
        """One in so many of the values of each column, in the midst of them."""
        values = {"customer": CUSTOMERS, "product": PRODUCTS}
        return cls(
            {
                column: (values[column] // 3, values[column] // 3 + values[column] // share - 1)
                for column, share in shares.items()
            }
        )

    @property
    def condition(self) -> str:
        return " and ".join(f"{name} between {low} and {high}" for name, (low, high) in self.bounds.items())

    @property
    def not_ruled_out(self) -> str:
        """The same of a file, by its smallest and largest values."""
        return " and ".join(
            f"max({name}) >= {low} and min({name}) <= {high}" for name, (low, high) in self.bounds.items()
        )


QUERIES = {
    "customers": Query.of(customer=200),
    "products": Query.of(product=200),
    "both": Query.of(customer=20, product=20),
}


@dataclass(frozen=True)
class Opened:
    """What a read opens.

    Attributes:
        files: that its condition does not rule out.
        bytes: read of all files.
        rows: found.
    """

    files: int
    bytes: int
    rows: int


class Bench(BenchProject):
    """The table in a dbt project."""

    def __init__(self, root: Path, file_format: str, rows: int) -> None:
        text = textwrap.dedent(MODEL).replace("FORMAT", file_format).replace("ROWS", str(rows))
        text = text.replace("CUSTOMERS", str(CUSTOMERS)).replace("PRODUCTS", str(PRODUCTS))
        super().__init__(root, PROJECT, {"models/orders.sql": text})

    def compact(self, arguments: dict[str, list[str]]) -> None:
        """Order the table so."""
        given = json.dumps({"select": "orders", **arguments})
        self.dbt("run-operation", "lakemerge_compact", "--args", given)

    def bytes_read(self) -> int:
        """What Java has read so far, by the operating system's count; Spark's tasks run in it.

        Hadoop's own count leaves out what ORC's and Parquet's readers ask for by several ranges at once.
        """
        process = self.spark._jvm.java.lang.ProcessHandle.current().pid()
        counts = dict(line.split(": ") for line in Path(f"/proc/{process}/io").read_text().splitlines())
        return int(counts["rchar"])

    def open(self, query: Query) -> Opened:
        """Run a query twice, the second time to count: the first lists the files."""
        sql = f"select count(*), sum(price), max(reference) from bench.orders where {query.condition}"
        self.spark.sql(sql).collect()
        before = self.bytes_read()
        rows = self.spark.sql(sql).collect()[0][0]
        read = self.bytes_read() - before
        by_file = (
            f"select input_file_name() as file from bench.orders group by 1 having {query.not_ruled_out}"
        )
        return Opened(self.spark.sql(by_file).count(), read, rows)

    def size(self) -> tuple[int, float]:
        """Files of the table, and their megabytes."""
        files = {
            row[0] for row in self.spark.sql("select distinct input_file_name() from bench.orders").collect()
        }
        return len(files), sum(Path(one.removeprefix("file:")).stat().st_size for one in files) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=ROWS, help=f"of the table ({ROWS:,})")
    parser.add_argument("--format", choices=["orc", "parquet"], default="orc", help="of its files (orc)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lakemerge-bench-") as folder:
        bench = Bench(Path(folder), arguments.format, arguments.rows)
        bench.start()
        print(f"Making the table of {arguments.rows:,} rows", file=sys.stderr)
        bench.dbt("run")
        found: dict[str, set[int]] = {name: set() for name in QUERIES}
        titles = [f"{name}: files | MB" for name in QUERIES]
        print(f"| layout | files | MB | {' | '.join(titles)} |\n{'|---' * (3 + 2 * len(QUERIES))}|")
        for layout, given in LAYOUTS.items():
            if given:
                bench.compact(given)
            opened = {name: bench.open(query) for name, query in QUERIES.items()}
            for name, one in opened.items():
                found[name].add(one.rows)
            files, megabytes = bench.size()
            cells = [f"{one.files} | {one.bytes / 1e6:.1f}" for one in opened.values()]
            print(f"| {layout} | {files} | {megabytes:.1f} | {' | '.join(cells)} |", flush=True)
        assert all(len(rows) == 1 for rows in found.values()), f"the same rows in each layout: {found}"


if __name__ == "__main__":
    main()
