"""What a merge costs, against the least that any copy-on-write engine must do, in one run.

The table has 2,000,000 rows of 12 columns in 20 partitions. A feed changes 3 % of the keys: 60 % updates, 20 %
inserts, 20 % deletes, three in ten of them with 2 or 3 changes; once scattered over all partitions, once within one.

    floor = read the touched partitions and write them as they are
          + read the feed, keep the latest change of each key, and write that

with the merge's own writer settings. Figures are medians; CPU seconds are those of Python and Java together, which
a busy machine disturbs less than wall time. Java compiles what has run often: of a merge, Spark's planner and the
metastore too, for many rounds on. So ratios are told with and without the seconds that it took, of both sides.
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

ROWS, PARTITIONS, SHARE = 2_000_000, 20, 0.03
# Rounds of merge and floor that let Java compile what both run, and are not counted: more where rounds are short.
WARM_UP = {"scattered": 6, "one partition": 20}
MODEL = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', sequence_by='updated_at',
          apply_as_deletes="op = 'D'", except_column_list=['op'], partition_by='region',
          partition_moves=var('partition_moves')) }}
select * from {{ var('feed') }}
"""
PROJECT = (
    "name: bench\nprofile: bench\nmodel-paths: [models]\nvars: {feed: bench.base, partition_moves: true}\n"
)


def row_sql(identity: str, version: str) -> str:
    """The 12 columns of one row; every value follows from the key and the number of the change."""
    return f"""
        {identity} as id,
        cast(pmod(xxhash64({identity}, {version}), 100000) / 100.0 as decimal(12, 2)) as price,
        cast(pmod(xxhash64({identity}, {version}, 1), 5000) as int) as stock,
        concat('product ', {identity} % 977, ' of line ', pmod(xxhash64({identity}), 5000)) as title,
        concat('brand-', pmod(xxhash64({identity}, 2), 800)) as brand,
        element_at(array('new', 'used', 'refurbished', 'open box'), cast(pmod({identity}, 4) as int) + 1) as condition,
        pmod(xxhash64({identity}, 3), 2) = 0 as active,
        cast(pmod(xxhash64({identity}, {version}, 4), 1000000) / 7.0 as double) as score,
        cast(date'2020-01-01' + cast(pmod(xxhash64({identity}, 5), 2000) as int) as date) as listed_on,
        sha1(cast({identity} as string)) as reference,
        timestamp_seconds(1700000000 + {version} * 1000 + pmod({identity}, 1000)) as updated_at,
        concat('region-', lpad(cast({identity} % {PARTITIONS} as string), 2, '0')) as region
    """


def feed_sql(round_number: int, *, scattered: bool) -> str:
    """The changes of one round: as many keys as 3 % of the table has, of all partitions or of one."""
    changed = int(ROWS * SHARE)
    if scattered:
        identity = f"pmod(xxhash64(slot, {round_number}), {ROWS})"
        fresh = f"{ROWS} + {round_number} * {changed} + slot"
    else:
        identity = f"pmod(xxhash64(slot, {round_number}), {ROWS // PARTITIONS}) * {PARTITIONS} + 7"
        fresh = f"({ROWS} + {round_number} * {changed} + slot) * {PARTITIONS} + 7"
    return f"""
        select {row_sql("key", f"({round_number} * 10 + change)")},
            if(kind = 9 or kind = 8, 'D', 'U') as op
        from (
            select kind, change, if(kind in (6, 7), {fresh}, {identity}) as key
            from (select id as slot, id % 10 as kind from range({changed}))
            lateral view explode(sequence(1, if(slot % 10 < 7, 1, 2 + cast(slot % 2 as int)))) as change
        )
    """


class Bench(BenchProject):
    """A merge in a dbt project, and the pieces of work to compare with it."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, PROJECT, {"models/master.sql": textwrap.dedent(MODEL)})

    def merge(self, feed: str, *, partition_moves: bool = True) -> Any:
        """Run the model on a feed; returns dbt's response."""
        variables = f"{{feed: {feed}, partition_moves: {str(partition_moves).lower()}}}"
        return self.dbt("run", "--vars", variables)[0].adapter_response

    def prepare(self) -> None:
        """Make the table, by its first merge, and forget what that took."""
        self.start()
        base = f"select {row_sql('id', '0')}, 'U' as op from range({ROWS})"
        self.write_table("base", base, files=4)
        self.merge("bench.base")

    def copy(self, measured: Measured, where: str) -> None:
        """The first part of the floor."""
        with measured.run():
            self._write(self.spark.sql(f"select * from bench.master where {where}"))

    def append(self, measured: Measured, feed: str) -> None:
        """The second part of the floor."""
        with measured.run():
            latest = self.spark.sql(
                f"select row.* from (select max_by(struct(*), updated_at) as row from bench.{feed} group by id)"
            )
            self._write(latest.drop("op"))

    def _write(self, frame: Any) -> None:
        from dbt.adapters.lakemerge.publish.data_files import writer_options

        target = self.root / "floor"
        writer = frame.write.format("orc").mode("overwrite").partitionBy("region")
        for name, value in writer_options("orc", "zstd").items():
            writer = writer.option(name, value)
        writer.save(str(target))
        shutil.rmtree(target, ignore_errors=True)


def compare(bench: Bench, label: str, rounds: int, first: int) -> Ratio:
    """Measure merges and their floor in turn."""
    copy, append, merge = Measured(), Measured(), Measured()
    scattered = label == "scattered"
    where = "true" if scattered else "region = 'region-07'"
    counted = first + WARM_UP[label]
    for number in range(first, counted + rounds):
        if number == counted:
            copy, append, merge = Measured(), Measured(), Measured()
        bench.write_table("feed", feed_sql(number, scattered=scattered), files=2)
        bench.copy(copy, where)
        bench.append(append, "feed")
        bench.seconds = merge
        response = bench.merge("bench.feed", partition_moves=scattered)
        print(f"{label}: {response['_message']}", file=sys.stderr)
    ratio = Ratio.of(merge, [copy, append])
    print(f"{label}: copy   {copy}\n{label}: append {append}\n{label}: merge  {merge}")
    print(f"{label}: {ratio} x the floor's CPU seconds", flush=True)
    return ratio


def fixed_cost(bench: Bench, rounds: int) -> None:
    """What a merge of a few rows into a small table takes, and how many Spark jobs."""
    context = bench.spark.sparkContext
    tracker = context._jsc.sc().statusStore()
    bench.spark.sql("drop table if exists bench.base")
    small = f"select {row_sql('id', '0')}, 'U' as op from range(100)"
    bench.write_table("small", small, files=1)
    (bench.root / "models" / "master.sql").rename(bench.root / "models" / "small_master.sql")
    bench.merge("bench.small")
    taken, jobs = Measured(), []
    for number in range(1, rounds + 1):
        bench.write_table("feed", f"select {row_sql('id', str(number))}, 'U' as op from range(10)", files=1)
        before = tracker.jobsList(None).size()
        bench.seconds = Measured()
        bench.merge("bench.feed")
        jobs.append(tracker.jobsList(None).size() - before)
        taken.cpu += bench.seconds.cpu
        taken.compiling += bench.seconds.compiling
        taken.wall += bench.seconds.wall
    print(
        f"small: merge  {taken}, {statistics.median(jobs):.0f} Spark jobs (10 rows into 100, 20 partitions)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, help="merges to measure of each kind (3)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lakemerge-bench-") as folder:
        bench = Bench(Path(folder))
        print(f"Making the table of {ROWS:,} rows", file=sys.stderr)
        bench.prepare()
        scattered = compare(bench, "scattered", arguments.rounds, 1)
        single = compare(bench, "one partition", arguments.rounds, 101)
        fixed_cost(bench, arguments.rounds)
        print(f"merge / floor: scattered {scattered}, one partition {single}")


if __name__ == "__main__":
    main()
