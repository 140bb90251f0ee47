"""What strict ingest costs, against a plain Spark CSV read and ORC write of the same files, in one run.

A million delimited records of 11 columns in 4 files, one field in twenty quoted, none of them bad; and again with one
in a thousand bad. Each is landed and ingested anew by `dbt run`, parsing left out. The plain read has the schema, so
that Spark infers nothing, and checks nothing: what does not parse is null there. It writes once with Spark's own
settings and once with those of lakemerge's writer (zstd level 1), which are faster.

Figures are medians; CPU seconds are those of Python and Java together, which a busy machine disturbs less than wall
time. Ratios are told with and without the seconds in which Java compiled, of both sides: an ingest runs Spark's
planner and the metastore too, which Java goes on compiling for many rounds.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

from measure import Measured, Ratio
from project import BenchProject

RECORDS, FILES = 1_000_000, 4
# Rounds that let Java compile what both run, and are not counted.
WARM_UP = 10
COLUMNS = {
    "id": "bigint",
    "title": "string",
    "price": "decimal(12,2)",
    "stock": "int",
    "brand": "string",
    "active": "boolean",
    "score": "double",
    "listed_on": "date",
    "reference": "string",
    "updated_at": "timestamp",
    "region": "string",
}
MODEL = "{{ config(materialized='ingest', landing=var('landing'), format='delimited', settle_seconds=0) }}"
PROJECT = "name: bench\nprofile: bench\nmodel-paths: [models]\nvars: {landing: /nowhere}\n"


def record_sql(bad: int) -> str:
    """The text of a record; every ``bad``-th has a price of three decimals (0 for none)."""
    price = "cast(cast(pmod(xxhash64(id), 100000) / 100.0 as decimal(12, 2)) as string)"
    if bad:
        price = f"if(id % {bad} = 7, '1.999', {price})"
    quoted = "concat(chr(34), 'brand, ', repeat(chr(34), 2), id % 800, repeat(chr(34), 3))"
    fields = [
        "cast(id as string)",
        "concat('product ', id % 977, ' of line ', id % 5000)",
        price,
        "cast(pmod(xxhash64(id, 1), 5000) as string)",
        f"if(id % 20 = 0, {quoted}, concat('brand-', id % 800))",
        "cast(id % 2 = 0 as string)",
        "cast(pmod(xxhash64(id, 3), 1000000) / 7.0 as string)",
        "cast(date'2020-01-01' + cast(id % 2000 as int) as string)",
        "sha1(cast(id as string))",
        "cast(timestamp_seconds(1700000000 + id) as string)",
        "concat('region-', id % 20)",
    ]
    return f"select concat_ws(',', {', '.join(fields)}) as value from range({RECORDS})"


class Bench(BenchProject):
    """An ingest in a dbt project, and the plain read and write beside it."""

    def __init__(self, root: Path) -> None:
        columns = "\n".join(
            f"      - {{name: {name}, data_type: '{kind}'}}" for name, kind in COLUMNS.items()
        )
        schema = textwrap.dedent("models:\n  - name: products\n    columns:\n") + columns + "\n"
        files = {"models/products.sql": MODEL, "models/products.yml": schema}
        super().__init__(root, PROJECT, files, settings="spark.driver.memory: 4g")

    def land(self, name: str, bad: int) -> Path:
        """Write the files once."""
        folder = self.root / "made" / name
        self.spark.sql(record_sql(bad)).repartition(FILES).write.text(str(folder))
        return folder

    def ingest(self, measured: Measured, files: Path, number: int) -> Any:
        """Land the files under new names and ingest them."""
        landing = self.root / "landing" / f"{number}"
        shutil.copytree(files, landing, ignore=shutil.ignore_patterns("_*", ".*"))
        self.seconds = measured
        result = self.dbt("run", "--vars", f"{{landing: {landing}}}")
        shutil.rmtree(landing)
        return result[0].adapter_response

    def plain(self, measured: Measured, files: Path, *, same_writer: bool) -> None:
        """Read by Spark's CSV reader, write ORC."""
        from lakemerge.engine.layout.data_files import writer_options

        target = self.root / "plain"
        schema = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
        with measured.run():
            frame = self.spark.read.schema(schema).option("escape", '"').csv(str(files))
            writer = frame.write.format("orc").mode("overwrite")
            for name, value in writer_options("orc", "zstd").items() if same_writer else ():
                writer = writer.option(name, value)
            writer.save(str(target))
        shutil.rmtree(target, ignore_errors=True)


def compare(bench: Bench, label: str, files: Path, rounds: int, first: int) -> Ratio:
    """Measure in turn."""
    plain, same, strict = Measured(), Measured(), Measured()
    for number in range(first, first + WARM_UP + rounds):
        if number == first + WARM_UP:
            plain, same, strict = Measured(), Measured(), Measured()
        bench.plain(plain, files, same_writer=False)
        bench.plain(same, files, same_writer=True)
        response = bench.ingest(strict, files, number)
        print(f"{label}: {response['_message']}", file=sys.stderr)
    ratio, fastest = Ratio.of(strict, [plain]), Ratio.of(strict, [same])
    wall = statistics.median(strict.wall) / statistics.median(plain.wall)
    print(f"{label}: plain, Spark's writer settings     {plain}")
    print(f"{label}: plain, lakemerge's writer settings {same}")
    print(f"{label}: strict ingest                      {strict}")
    print(f"{label}: {ratio} x the CPU seconds of the plain read and write, {wall:.2f} x the wall seconds")
    print(f"{label}: {fastest} x those of the one with lakemerge's writer settings")
    return ratio


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, help="runs to measure of each kind (5)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lakemerge-bench-") as folder:
        bench = Bench(Path(folder))
        bench.start()
        print(f"Making {RECORDS:,} records", file=sys.stderr)
        good = compare(bench, "no bad record", bench.land("good", 0), arguments.rounds, 1)
        bad = compare(bench, "1 in 1000 bad", bench.land("bad", 1000), arguments.rounds, 101)
        print(f"ingest / plain read and write, CPU: no bad record {good}, 1 in 1000 bad {bad}")


if __name__ == "__main__":
    main()
