"""Sorted and z-ordered tables of the kinds that add partitions: histories, append tables and ingest tables."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt

from lakemerge.kernel import CompactionLog, Kernel, Manifest, TableName

# each in an order of its own, so that no file is sorted as it is written
_MIXED = "id, cast(id * 7919 % 1009 as int) as x, cast(id * 7877 % 997 as int) as y"
_FILES = "compaction='off', target_file_size=1500"
HISTORY = f"""
{{{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', sequence_by='at',
          stored_as_scd_type=2, {_FILES}) }}}}
select {_MIXED}, {{{{ var('round') }}}} as at from range(0, 2000, {{{{ var('round') }}}})
"""
EVENTS = f"""
{{{{ config(materialized='incremental', incremental_strategy='append', append_layout='commit_partitioned', {_FILES},
          file_format='parquet') }}}}
select {_MIXED}, {{{{ var('round') }}}} as at from range(2000)
"""
LANDED = f"""
{{{{ config(materialized='ingest', landing=var('landing'), settle_seconds=0, {_FILES}) }}}}
"""
LANDED_COLUMNS = """
models:
  - name: landed
    columns:
      - {name: id, data_type: bigint}
      - {name: x, data_type: int}
      - {name: y, data_type: int}
"""
#: The tables, and how many of their partitions the third commit leaves as they are.
KEPT = {"history": 1, "events": 2, "landed": 2}
TABLES = tuple(KEPT)


@pytest.fixture(scope="class")
def models() -> dict[str, str]:
    return {"history.sql": HISTORY, "events.sql": EVENTS, "landed.sql": LANDED, "landed.yml": LANDED_COLUMNS}


class Tables:
    """The tables of a project: what they hold, and in which order it lies in their files."""

    def __init__(self, project: Any, landing: Path) -> None:
        self._project = project
        self._landing = landing
        self._variables: dict[str, Any] = {"round": 0, "landing": str(landing)}

    def commit(self) -> None:
        """One more commit to each."""
        self._variables["round"] += 1
        lines = (f"{number},{number * 7919 % 1009},{number * 7877 % 997}\n" for number in range(2000))
        (self._landing / f"{self._variables['round']}.csv").write_text("".join(lines))
        run_dbt(["run", "--vars", json.dumps(self._variables)])

    def compact(self, **arguments: Any) -> None:
        command = ["run-operation", "lakemerge_compact", "--args", json.dumps(arguments)]
        run_dbt([*command, "--vars", json.dumps(self._variables)])

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        """The rows as readers see them, with partition columns."""
        query = f"select * from {self._project.test_schema}.{table}"
        return sorted((tuple(row) for row in self._project.run_sql(query, fetch="all")), key=str)

    def newest(self, table: str) -> Manifest:
        return self._kernel().settled(TableName(self._project.test_schema, table))[1]

    def action(self, table: str) -> str:
        """What the newest compaction was."""
        log = CompactionLog(self._kernel(), TableName(self._project.test_schema, table))
        return str(log.records(1)[0].action)

    def files(self, table: str) -> list[list[tuple[int, int]]]:
        """Of each file `x` and `y` of its rows, as they lie in it."""
        kernel = self._kernel()
        state, manifest = kernel.settled(TableName(self._project.test_schema, table))
        places = [state.layout.absolute(partition.location) for partition in manifest.partitions.values()]
        with self._project.adapter.connection_named("files"):
            spark = self._project.adapter.handle.spark
            stored = spark.read.format(manifest.file_format).load(places)
            rows = stored.selectExpr("input_file_name() as file", "x", "y").collect()
        files: dict[str, list[tuple[int, int]]] = {}
        for row in rows:
            files.setdefault(row.file, []).append((row.x, row.y))
        assert len(files) == manifest.total_files
        return list(files.values())

    def _kernel(self) -> Kernel:
        with self._project.adapter.connection_named("kernel"):
            return Kernel(self._project.adapter.handle.application.ports)


def spread(files: list[list[tuple[int, int]]], place: int) -> float:
    """The part of a column's values that lies between the least and the largest of a file, on average."""
    values = [[row[place] for row in rows] for rows in files]
    return sum(max(one) - min(one) for one in values) / len(values) / 1000


@pytest.mark.slow
class TestOrders:
    def test_files_are_sorted_then_z_ordered_and_later_commits_go_on(
        self, project: Any, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        tables = Tables(project, tmp_path_factory.mktemp("landing"))
        tables.commit()
        tables.commit()
        before = {table: tables.rows(table) for table in TABLES}
        written = {table: tables.files(table) for table in TABLES}
        assert all(spread(files, place) > 0.9 for files in written.values() for place in (0, 1))

        tables.compact(select="*", sort_by=["x", "y"])
        for table in TABLES:
            files = tables.files(table)
            assert len(files) > len(written[table])
            assert all(rows == sorted(rows) for rows in files)
            assert spread(files, 0) < 0.4, "a file has the values that lie together"
            assert (tables.rows(table), tables.action(table)) == (before[table], "sort")

        sorted_in = {table: tables.newest(table).partitions for table in TABLES}
        tables.commit()
        history = tables.rows("history")
        assert len(history) == 2000 + 1000 + 667, "a version for each of the rounds that divide the key"
        assert {row[:5] for row in before["history"]} < {row[:5] for row in history}
        # its columns are id, x, y, at, __start_at, __end_at and dbt_closed_in
        assert Counter(row[0] for row in history if row[5] is None) == Counter(range(2000))
        for table in ("events", "landed"):
            assert len(tables.rows(table)) == 3 * 2000
            assert set(before[table]) < set(tables.rows(table))

        before = {table: tables.rows(table) for table in TABLES}
        tables.compact(select="*", sort_by=["x", "y"])
        for table in TABLES:
            assert all(rows == sorted(rows) for rows in tables.files(table))
            kept = sorted_in[table].items() & tables.newest(table).partitions.items()
            assert len(kept) == KEPT[table], "what was sorted and did not change is left alone"

        tables.compact(select="*", zorder_by=["x", "y"])
        for table in TABLES:
            files = tables.files(table)
            assert max(spread(files, 0), spread(files, 1)) < 0.75, "a file has a part of both columns' values"
            assert (tables.rows(table), tables.action(table)) == (before[table], "zorder")
