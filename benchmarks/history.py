"""What a merge into a history costs as the history grows: ten times the closed versions, the same feed.

Two tables of the same 100,000 keys, each with one open version; one of them with ten times as many closed versions as
the other. Both get the same feeds, in turn: each changes 3 % of the keys, newer than all before. The cost of a merge
must follow the feed and the open versions, not the length of the history. The same is measured of tables that keep
open and closed rows together (`history_layout: plain`), for comparison.

Figures are medians; CPU seconds are those of Python and Java together, which a busy machine disturbs less than wall
time.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import textwrap
from pathlib import Path

from measure import Measured
from project import BenchProject

KEYS, PARTITIONS, SHARE = 100_000, 10, 0.03
# Versions of each key that are there before: closed ones and the open one.
SHORT, LONG = 4, 31
# Merges of each table that let Java compile what they run, and are not counted.
WARM_UP = 2
MODEL = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', sequence_by='changed_at',
          apply_as_deletes="op = 'D'", except_column_list=['op', 'changed_at'], partition_by='region',
          stored_as_scd_type=2, history_layout='LAYOUT') }}
select * from {{ var('feed') }}
"""
PROJECT = "name: bench\nprofile: bench\nmodel-paths: [models]\nvars: {feed: bench.base}\n"


def rows_sql(source: str) -> str:
    """The changes of a feed, 10 columns each, from rows of a key and the number of its change."""
    return f"""
        select
            id,
            cast(pmod(xxhash64(id, change), 100000) / 100.0 as decimal(12, 2)) as price,
            cast(pmod(xxhash64(id, change, 1), 5000) as int) as stock,
            concat('product ', id % 977, ' of line ', pmod(xxhash64(id), 5000)) as title,
            concat('brand-', pmod(xxhash64(id, 2), 800)) as brand,
            sha1(cast(struct(id, change) as string)) as reference,
            pmod(xxhash64(id, 3), 2) = 0 as active,
            timestamp_seconds(1700000000 + change * 1000) as changed_at,
            concat('region-', lpad(cast(id % {PARTITIONS} as string), 2, '0')) as region,
            'U' as op
        from ({source})
    """


class Bench(BenchProject):
    """Histories in a dbt project."""

    def __init__(self, root: Path) -> None:
        models = {
            f"models/{layout}_{length}.sql": textwrap.dedent(MODEL).replace("LAYOUT", layout)
            for layout in ("split", "plain")
            for length in ("short", "long")
        }
        super().__init__(root, PROJECT, models)

    def merge(self, table: str, feed: str, taken: Measured) -> str:
        """Merge a feed into a table; returns dbt's message."""
        self.seconds = taken
        result = self.dbt("run", "--select", table, "--vars", f"{{feed: bench.{feed}}}")
        return str(result[0].adapter_response["_message"])

    def prepare(self, layouts: list[str]) -> None:
        """Make the tables, each by one first merge of all the changes of its past."""
        self.start()
        for length, versions in (("short", SHORT), ("long", LONG)):
            # the last change of every key has one number in both, so that the same feeds are newer in both
            changes = f"explode(sequence({LONG - versions + 1}, {LONG})) as change"
            self.write_table("base", rows_sql(f"select id, {changes} from range({KEYS})"), files=4)
            for layout in layouts:
                print(
                    f"{layout}_{length}: {self.merge(f'{layout}_{length}', 'base', Measured())}",
                    file=sys.stderr,
                )

    def size(self, table: str) -> tuple[int, int]:
        """Open and closed rows."""
        sql = f"select count_if(__end_at is null), count_if(__end_at is not null) from bench.{table}"
        row = self.spark.sql(sql).first()
        return int(row[0]), int(row[1])


def compare(bench: Bench, layout: str, rounds: int) -> float:
    """Measure merges of the same feeds into both histories in turn; returns the ratio of CPU seconds."""
    taken = {"short": Measured(), "long": Measured()}
    for number in range(WARM_UP + rounds):
        changed = (
            f"select distinct pmod(xxhash64(id, {number}), {KEYS}) as id from range({int(KEYS * SHARE)})"
        )
        bench.write_table(
            "feed", rows_sql(f"select id, {LONG + 1 + number} as change from ({changed})"), files=1
        )
        # in turns, so that what the machine does meanwhile falls on both
        order = ("short", "long") if number % 2 else ("long", "short")
        for length in order:
            message = bench.merge(
                f"{layout}_{length}", "feed", taken[length] if number >= WARM_UP else Measured()
            )
            print(f"{layout}_{length}: {message}", file=sys.stderr)
    cpu = {length: statistics.median(measured.cpu) for length, measured in taken.items()}
    for length, measured in taken.items():
        is_open, closed = bench.size(f"{layout}_{length}")
        print(
            f"| {layout} | {closed:>9,} | {is_open:,} | {cpu[length]:.2f} | {statistics.median(measured.wall):.2f} |"
        )
    return cpu["long"] / cpu["short"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, help="merges to measure of each table (5)")
    parser.add_argument("--layouts", nargs="+", default=["split", "plain"], help="(split plain)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lakemerge-bench-") as folder:
        bench = Bench(Path(folder))
        bench.prepare(arguments.layouts)
        print("| layout | closed rows | open rows | CPU s | wall s |\n|---|---|---|---|---|")
        ratios = {layout: compare(bench, layout, arguments.rounds) for layout in arguments.layouts}
        for layout, ratio in ratios.items():
            print(f"{layout}: ten times the history costs {ratio:.2f} times as much (CPU)")


if __name__ == "__main__":
    main()
