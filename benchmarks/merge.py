"""What a merge costs, against the least that any copy-on-write engine must do, in one run.

The table has 2,000,000 rows of 12 columns in 20 partitions. A feed changes 3 % of the keys: 60 % updates, 20 %
inserts, 20 % deletes, three in ten of them with 2 or 3 changes; once scattered over all partitions, once within one.

    floor = read the touched partitions and write them as they are
          + read the feed, keep the latest change of each key, and write that

with the merge's own writer settings. Each feed is merged twice, into a table whose keys may move to another partition,
and into one whose model says that they do not (`partition_moves: false`). Figures are medians; CPU seconds are those of
Python and Java together, which a busy machine disturbs less than wall time. Java compiles what has run often: of a
merge, Spark's planner and the metastore too, for many rounds on. So ratios are told with and without the seconds that
it took, of both sides; and `--cold` measures after one round, as in a `dbt run` of its own that merges several tables.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from measure import CountedCalls, Measured, Ratio, jobs_of
from project import BenchProject

ROWS, PARTITIONS, SHARE = 2_000_000, 20, 0.03
# Rounds of merge and floor that let Java compile what both run, and are not counted: more where rounds are short.
WARM_UP = {"scattered": 6, "one partition": 20}
MODEL = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', sequence_by='updated_at',
          apply_as_deletes="op = 'D'", except_column_list=['op'], partition_by='region'%s) }}
select * from {{ var('feed') }}
"""
#: Tables by their setting.
MODELS = {"master": "", "fixed": ", partition_moves=false"}
PROJECT = "name: bench\nprofile: bench\nmodel-paths: [models]\nvars: {feed: bench.base}\n"


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


@dataclass
class Merges:
    """Merges into one table.

    Attributes:
        jobs: of Spark, of each.
        calls: from Python to Java, of each, those of dbt's own work included.
        files: new data files of each.
    """

    seconds: Measured = field(default_factory=Measured)
    jobs: list[int] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    files: list[int] = field(default_factory=list)

    def __str__(self) -> str:
        jobs, calls = statistics.median(self.jobs), statistics.median(self.calls)
        files = ", ".join(map(str, self.files))
        return f"{self.seconds}, {jobs:.0f} Spark jobs, {calls:.0f} calls to Java, new files {files}"


class Bench(BenchProject):
    """Merges in a dbt project, and the pieces of work to compare with them."""

    def __init__(self, root: Path, models: Mapping[str, str] = MODELS) -> None:
        """
        Args:
            models: their options by their names.
        """
        self._models = list(models)
        files = {f"models/{name}.sql": MODEL % option for name, option in models.items()}
        super().__init__(root, PROJECT, files)

    def prepare(self) -> None:
        """Make the tables, by their first merges, and forget what that took."""
        self.start()
        self._calls = CountedCalls()
        base = f"select {row_sql('id', '0')}, 'U' as op from range({ROWS})"
        self.write_table("base", base, files=4)
        for model in self._models:
            self.merge(model, "bench.base", Merges())

    def merge(self, model: str, feed: str, merges: Merges) -> None:
        """Run a model on a feed, and note what that took."""
        files, jobs = self._data_files(model), jobs_of(self.spark)
        self.seconds, self._calls.calls = merges.seconds, 0
        response = self.dbt("run", "--select", model, "--vars", f"{{feed: {feed}}}")[0].adapter_response
        merges.calls.append(self._calls.calls)
        merges.jobs.append(jobs_of(self.spark) - jobs)
        merges.files.append(len(self._data_files(model) - files))
        print(f"{model}: {response['_message']}", file=sys.stderr)

    def _data_files(self, model: str) -> set[Path]:
        return set((self.root / "warehouse").glob(f"*/{model}/**/*.orc"))

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
        from lakemerge.engine.layout.data_files import writer_options

        target = self.root / "floor"
        writer = frame.write.format("orc").mode("overwrite").partitionBy("region")
        for name, value in writer_options("orc", "zstd").items():
            writer = writer.option(name, value)
        writer.save(str(target))
        shutil.rmtree(target, ignore_errors=True)


def compare(bench: Bench, label: str, rounds: int, first: int, warm_up: int) -> str:
    """Measure merges and their floor in turn; returns the ratios."""
    copy, append, merges = Measured(), Measured(), {model: Merges() for model in MODELS}
    where = "true" if label == "scattered" else "region = 'region-07'"
    counted = first + warm_up
    for number in range(first, counted + rounds):
        if number == counted:
            copy, append, merges = Measured(), Measured(), {model: Merges() for model in MODELS}
        bench.write_table("feed", feed_sql(number, scattered=label == "scattered"), files=2)
        bench.copy(copy, where)
        bench.append(append, "feed")
        for model in MODELS:
            bench.merge(model, "bench.feed", merges[model])
    print(f"{label}: copy   {copy}\n{label}: append {append}")
    found = []
    for model, option in MODELS.items():
        ratio = Ratio.of(merges[model].seconds, [copy, append])
        print(
            f"{label}: merge  {merges[model]}{option}\n{label}: {ratio} x the floor's CPU seconds", flush=True
        )
        found.append(f"{ratio}{option}")
    return "; ".join(found)


def fixed_cost(bench: Bench, rounds: int) -> None:
    """What a merge of a few rows into a small table takes."""
    small = f"select {row_sql('id', '0')}, 'U' as op from range(100)"
    bench.write_table("small", small, files=1)
    (bench.root / "models" / "master.sql").rename(bench.root / "models" / "small_master.sql")
    bench.merge("small_master", "bench.small", Merges())
    merges = Merges()
    for number in range(1, rounds + 1):
        bench.write_table("feed", f"select {row_sql('id', str(number))}, 'U' as op from range(10)", files=1)
        bench.merge("small_master", "bench.feed", merges)
    print(f"small: merge  {merges} (10 rows into 100, 20 partitions)")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, help="merges to measure of each kind (3)")
    parser.add_argument("--cold", action="store_true", help="measure after one round")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lakemerge-bench-") as folder:
        bench = Bench(Path(folder))
        print(f"Making two tables of {ROWS:,} rows", file=sys.stderr)
        bench.prepare()
        found = [
            f"{label} {compare(bench, label, arguments.rounds, first, 1 if arguments.cold else warm_up)}"
            for first, (label, warm_up) in zip((1, 101), WARM_UP.items(), strict=True)
        ]
        fixed_cost(bench, arguments.rounds)
        print("merge / floor: " + ", ".join(found))


if __name__ == "__main__":
    main()
