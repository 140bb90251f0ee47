"""What a `dbt snapshot` costs: against dbt's own comparison of a wide table, and as the history grows.

The source has 50,000 rows (`--rows` for more) of 100 columns, compared by `check` on all of them; in each round 4 % of
the rows change, 0.2 % go and as many are new. dbt's staging query, run by itself on the same tables, is what other
adapters run before their MERGE. Then the table gets ten times its rows as closed ones, and the same rounds go on.

Figures are medians; CPU seconds are those of Python and Java together, which a busy machine disturbs less than wall
time.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from measure import Measured
from project import BenchProject

WIDTH, HISTORY = 100, 10
WARM_UP = 2
SNAPSHOT = """
{% snapshot history %}
{{ config(unique_key='id', strategy='check', check_cols='all', hard_deletes='invalidate') }}
select * from bench.source
{% endsnapshot %}
"""
PROJECT = "name: bench\nprofile: bench\n"
VALUES = [f"c{number}" for number in range(WIDTH)]


def source_sql(round_number: int, rows: int) -> str:
    """The source after a number of rounds: every value follows from the key and the round of its last change."""
    changed = f"if(pmod(xxhash64(id), 50) = {round_number % 50}, {round_number}, 0)"
    kinds = (
        "xxhash64({0})",
        "cast(pmod(xxhash64({0}), 1000) as int)",
        "concat('value ', pmod(xxhash64({0}), 5000))",
    )
    columns = ", ".join(f"{kinds[n % 3].format(f'id, {n}, {changed}')} as c{n}" for n in range(WIDTH))
    first = round_number * rows // 500
    return f"select id, {columns} from range({first}, {first + rows})"


def dbt_sql() -> str:
    """The query that dbt stages before a MERGE: insertions, updates and deletes, joined one by one."""
    differs = " or ".join(
        f"snapshotted_data.{c} != source_data.{c} or ((snapshotted_data.{c} is null and not (source_data.{c} is null))"
        f" or (not snapshotted_data.{c} is null and source_data.{c} is null))"
        for c in VALUES
    )
    meta = "current_timestamp() as dbt_updated_at, current_timestamp() as dbt_valid_from"
    scd_id = "md5(concat(coalesce(cast(id as string), ''), '|', cast(current_timestamp() as string))) as dbt_scd_id"
    on = "on snapshotted_data.dbt_unique_key = source_data.dbt_unique_key"
    return f"""
        with snapshotted_data as (
            select *, id as dbt_unique_key from bench.history where dbt_valid_to is null
        ),
        inserted_data as (
            select *, id as dbt_unique_key, {meta}, cast(null as timestamp) as dbt_valid_to, {scd_id} from bench.source
        ),
        updated_data as (
            select *, id as dbt_unique_key, {meta}, current_timestamp() as dbt_valid_to from bench.source
        )
        select 'insert' as dbt_change_type, source_data.*
        from inserted_data as source_data
        left outer join snapshotted_data {on}
        where snapshotted_data.dbt_unique_key is null or ({differs})
        union all
        select 'update', source_data.*, snapshotted_data.dbt_scd_id
        from updated_data as source_data
        join snapshotted_data {on}
        where {differs}
        union all
        select 'delete', source_data.*, snapshotted_data.dbt_scd_id
        from snapshotted_data
        left join updated_data as source_data {on}
        where source_data.dbt_unique_key is null
    """


class Bench(BenchProject):
    """A dbt project with one snapshot."""

    def __init__(self, root: Path, rows: int) -> None:
        super().__init__(root, PROJECT, {"snapshots/history.sql": SNAPSHOT})
        self.rows = rows

    def change_source(self, round_number: int) -> None:
        """Write the source as it is after a number of rounds."""
        self.write_table("source", source_sql(round_number, self.rows), files=2)

    def rounds(self, label: str, first: int, count: int, staging: Measured | None = None) -> Measured:
        """Measure snapshots of changed sources; beside them dbt's staging query, where asked for."""
        taken = Measured()
        for number in range(first, first + WARM_UP + count):
            self.change_source(number)
            counted = number >= first + WARM_UP
            if staging is not None:
                with (staging if counted else Measured()).run():
                    self.spark.sql(dbt_sql()).write.format("noop").mode("overwrite").save()
            self.seconds = Measured()
            response = self.dbt("snapshot")[0].adapter_response
            print(f"{label}: {response['_message']}", file=sys.stderr)
            if counted:
                taken.cpu += self.seconds.cpu
                taken.wall += self.seconds.wall
        print(f"{label}: snapshot {taken}", flush=True)
        return taken

    def lengthen(self) -> None:
        """Give the history ``HISTORY`` times its current rows as closed ones, in partitions of their own."""
        closed = ", ".join(VALUES)
        self.spark.conf.set("hive.exec.dynamic.partition.mode", "nonstrict")
        self.spark.sql(
            f"""
            insert into bench.history partition (dbt_closed_in)
            select id, {closed}, md5(concat(dbt_scd_id, version)) as dbt_scd_id, dbt_updated_at,
                timestamp_seconds(version) as dbt_valid_from, timestamp_seconds(version + 1) as dbt_valid_to,
                -version as dbt_closed_in
            from bench.history
            lateral view explode(sequence(1, {HISTORY})) as version
            where dbt_closed_in = 0
            """
        )
        self.dbt("run-operation", "lakemerge_recover", "--args", "{table: history}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, help="snapshots to measure of each kind (3)")
    parser.add_argument("--rows", type=int, default=50_000, help="rows of the source (50,000)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lakemerge-bench-") as folder:
        bench = Bench(Path(folder), arguments.rows)
        bench.start()
        bench.change_source(0)
        bench.dbt("snapshot")
        staging = Measured()
        short = bench.rounds("short history", 1, arguments.rounds, staging)
        print(f"short history: dbt's staging query alone {staging}")
        bench.lengthen()
        long = bench.rounds(f"{HISTORY} times the history", 11, arguments.rounds)
        compared = statistics.median(short.cpu) / statistics.median(staging.cpu)
        grown = statistics.median(long.cpu) / statistics.median(short.cpu)
        print(
            f"whole snapshot / dbt's staging query alone: {compared:.2f}; {HISTORY} times the history: {grown:.2f}"
        )


if __name__ == "__main__":
    main()
