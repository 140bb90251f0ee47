"""What a merge on read costs, its reads by the number of deltas, and its compaction; in one run.

The table and the feeds are those of ``merge.py``: 2,000,000 rows of 12 columns in 20 partitions, 3 % of the keys
changed in each round, scattered over all partitions, each change newer than those before.

    floor = read the feed, keep the latest change of each key, and write that
    copy  = read the table and write it as it is
    plain = read all columns of a table that holds the same rows
"""

from __future__ import annotations

import argparse
import datetime
import sys
import tempfile
from pathlib import Path
from unittest import mock

from lakemerge import compaction_thresholds
from measure import Measured, Ratio
from merge import ROWS, Bench, Merges, feed_sql

# Rounds that are not counted: Java compiles meanwhile what both sides run.
_WARM_UP = 10
_DELTAS = (1, 5, 10)
_READ = "select bit_xor(xxhash64(*)), count(*) from bench.{table}"


class OnRead(Bench):
    """The same project, merged on read; compaction is left to the benchmark."""

    def __init__(self, root: Path) -> None:
        # neither many deltas nor large ones are compacted while merges are measured
        super().__init__(
            root, {"master": ", write_mode='merge_on_read', compaction=var('compaction', 'off')"}
        )
        # the next merge takes away what was moved into the base: nobody else reads
        mock.patch("lakemerge.kernel.commit.retiring.PLANNING_TIME", datetime.timedelta(0)).start()

    def compact(self) -> None:
        """Merge nothing, and move all deltas into the base, for they are large at 1 % of its bytes."""
        with mock.patch.multiple(compaction_thresholds, DELTAS=1, DELTAS_PERCENT=1):
            self.dbt("run", "--vars", "{feed: bench.none, compaction: auto}")

    def deltas(self) -> int:
        """How many deltas the view merges."""
        found = self.spark.sql("select count(distinct txn) from bench.master__deltas").collect()
        return int(found[0][0])

    def read(self, measured: Measured, table: str) -> list[object]:
        """Read all columns of all rows."""
        with measured.run():
            return list(self.spark.sql(_READ.format(table=table)).collect()[0])


def compare_merges(bench: OnRead, rounds: int) -> Ratio:
    """Measure merges and their floor in turn."""
    append, merge = Measured(), Merges()
    for number in range(1, _WARM_UP + rounds + 1):
        if number == _WARM_UP + 1:
            append, merge = Measured(), Merges()
        bench.write_table("feed", feed_sql(number, scattered=True), files=2)
        bench.append(append, "feed")
        bench.merge("master", "bench.feed", merge)
    print(f"floor  {append}\nmerge  {merge}", flush=True)
    return Ratio.of(merge.seconds, [append])


def compare_reads(bench: OnRead, rounds: int, first: int) -> dict[int, Ratio]:
    """Measure reads through the view and of a plain table of the same rows, by the number of deltas."""
    ratios = {}
    number = first
    for deltas in _DELTAS:
        bench.compact()
        for _ in range(deltas):
            bench.write_table("feed", feed_sql(number, scattered=True), files=2)
            bench.merge("master", "bench.feed", Merges())
            number += 1
        assert bench.deltas() == deltas, f"{deltas} deltas, not {bench.deltas()}"
        bench.spark.sql("drop table if exists bench.plain")
        rows = bench.spark.table("bench.master").repartition(20, "region")
        rows.write.format("orc").partitionBy("region").saveAsTable("bench.plain")
        plain, view = Measured(), Measured()
        for turn in range(2 * rounds):
            if turn == rounds:
                plain, view = Measured(), Measured()
            assert bench.read(plain, "plain") == bench.read(view, "master"), "the same rows"
        ratios[deltas] = Ratio.of(view, [plain])
        print(f"{deltas:2} deltas: plain {plain}\n{deltas:2} deltas: view  {view}", flush=True)
    return ratios


def compare_compaction(bench: OnRead, rounds: int, first: int) -> Ratio:
    """Measure the compaction of ten deltas, which touch all partitions, and the copy of the table in turn."""
    copy, compaction = Measured(), Measured()
    bench.compact()
    for turn in range(rounds):
        for number in range(first + 10 * turn, first + 10 * (turn + 1)):
            bench.write_table("feed", feed_sql(number, scattered=True), files=2)
            bench.merge("master", "bench.feed", Merges())
        assert bench.deltas() == 10, f"ten deltas, not {bench.deltas()}"
        bench.copy(copy, "true")
        bench.seconds = compaction
        bench.compact()
        apart = Measured()
        assert bench.read(apart, "master__base") == bench.read(apart, "master"), "the base has all rows"
    print(f"copy       {copy}\ncompaction {compaction}", flush=True)
    return Ratio.of(compaction, [copy])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, help="runs to measure of each kind (3)")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="lakemerge-bench-") as folder:
        bench = OnRead(Path(folder))
        print(f"Making the table of {ROWS:,} rows", file=sys.stderr)
        bench.prepare()
        bench.spark.sql("create table bench.none as select * from bench.base where false")
        merges = compare_merges(bench, rounds)
        first = _WARM_UP + rounds + 1
        reads = compare_reads(bench, rounds, first)
        compaction = compare_compaction(bench, rounds, first + sum(_DELTAS))
        print(f"merge on read / floor: {merges}")
        for deltas, ratio in reads.items():
            print(f"read through the view / plain read, {deltas} deltas: {ratio}")
        print(f"compaction of ten deltas / copy: {compaction}")


if __name__ == "__main__":
    main()
