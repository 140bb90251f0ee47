"""A merge into a small table takes few jobs of Spark, and gives what one of a large table does."""

from __future__ import annotations

from typing import Any

import pytest

from .joining import CONFIG, FEED, changes, joined

# a key that is updated, one that moves, one that is deleted, one that is new, and one that is late
LATER = [
    (1, "r1", "updated", 10, "U"),
    (2, "r9", "moved", 10, "U"),
    (3, "r3", None, 10, "D"),
    (30, "r0", "new", 10, "U"),
    (9, "r9", "late", 4, "U"),
]


def jobs_of(table: Any, rows: list[tuple[Any, ...]]) -> int:
    """Merge, and return how many jobs of Spark that took."""
    with table.adapter.connection_named(table.name):
        scheduler = table.adapter.handle.spark.sparkContext._jsc.sc().dagScheduler()
    before = int(scheduler.numTotalJobs())
    # Spark knows the size of these rows, which it does not of Python's
    values = ", ".join(str(row).replace("None", "null") for row in rows)
    table.merge(f"select * from values {values} as (id, region, name, ts, op)")
    return int(scheduler.numTotalJobs()) - before


@pytest.fixture(
    scope="class",
    params=[True, pytest.param(False, marks=pytest.mark.slow)],
    ids=["one task", "many tasks"],
)
def merged(request: pytest.FixtureRequest, merger: Any) -> Any:
    """A table of ten partitions with a ledger, changed by `LATER`; and the jobs that took."""
    table = merger(CONFIG, FEED)
    with joined(by_one_task=request.param):
        table.merge(changes([(key, f"r{key % 10}", "first", 5, "U") for key in range(20)]))
        table.merge(changes([(19, "r9", None, 6, "D")]))
        yield table, jobs_of(table, LATER), request.param
    table.drop()


class TestSmallMerges:
    def test_the_rows_are_the_same_and_the_jobs_fewer(self, merged: Any) -> None:
        table, jobs, by_one_task = merged
        rows = {row["id"]: (row["region"], row["name"], row["ts"]) for row in table.rows()}
        expected = {key: (f"r{key % 10}", "first", 5) for key in range(19) if key != 3}
        expected |= {1: ("r1", "updated", 10), 2: ("r9", "moved", 10), 30: ("r0", "new", 10)}
        assert rows == expected
        # the feed's shuffle has two, the match, the table's rows and the ledger's one each, the horizon one
        assert (jobs <= 6) == by_one_task, jobs

    def test_it_writes_one_file_to_each_partition_that_it_touches(self, merged: Any) -> None:
        table, _, by_one_task = merged
        files = table.sql("select distinct region, input_file_name() as file from {table}")
        regions = [row["region"] for row in files]
        if by_one_task:
            assert sorted(regions) == sorted(set(regions))

    def test_a_setting_of_the_session_is_as_it_was(self, merged: Any) -> None:
        table, _, _ = merged
        with table.adapter.connection_named(table.name):
            spark = table.adapter.handle.spark
            spark.conf.set("spark.sql.optimizer.excludedRules", "org.example.Rule")
            table.merge(changes([(5, "r5", "again", 20, "U")]))
            assert spark.conf.get("spark.sql.optimizer.excludedRules") == "org.example.Rule"
