"""Runs on a cluster whose Spark starts slow tasks a second time, or sends executors home while a driver idles."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engines.standalone import Standalone
from functional.concurrency.conftest import DbtProject

pytestmark = pytest.mark.slow

# One row in a hundred takes a second, and some tasks have more of these rows than others.
_SLOW = (
    "aggregate(sequence(1, if(id % 100 = 7, 3000, 1)), 0L, "
    "(a, x) -> a + aggregate(sequence(1, if(x > 1, 1000, 1)), 0L, (b, y) -> b + y % 2))"
)
MODEL = f"""
{{{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', sequence_by='day',
          partition_by='part', write_mode=var('mode')) }}}}
select id, {{{{ var('day') }}}} as day, id % 3 as part, {_SLOW} as spent
from range(100 * ({{{{ var('day') }}}} - 1), 100 * {{{{ var('day') }}}} + 100, 1, 8)
"""
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "20ms",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.multiplier": "1.01",
    "spark.speculation.minTaskRuntime": "1ms",
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
    "spark.sql.shuffle.partitions": "6",
}
ALLOCATION = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "0",
    "spark.dynamicAllocation.executorIdleTimeout": "1s",
    "spark.dynamicAllocation.shuffleTracking.timeout": "1s",
    "spark.dynamicAllocation.cachedExecutorIdleTimeout": "1s",
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Standalone]:
    cluster = Standalone()
    yield cluster
    cluster.close()


def merges(project: DbtProject, mode: str, *, pause: float = 0) -> None:
    """Merge two days, the second of which changes half of the rows of the first."""
    with project.commands(most_seconds=400) as dbt:
        for day in (1, 2):
            dbt.succeed("run", "--vars", f"{{day: {day}, mode: {mode}}}")
            time.sleep(pause)
        query = (
            "select day, count(*), count(distinct id), min(id), max(id) from {{ ref('spent') }} group by day"
        )
        shown = dbt.rows(query, "--vars", f"{{day: 2, mode: {mode}}}")
    assert sorted(map(list, shown)) == [[1, 100, 100, 0, 99], [2, 200, 200, 100, 299]]


@pytest.mark.parametrize("mode", ["copy_on_write", "merge_on_read"])
def test_rows_of_a_task_that_runs_twice_are_there_once(
    dbt_project: Callable[..., DbtProject], cluster: Standalone, tmp_path: Path, mode: str
) -> None:
    log = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": str(tmp_path),
        "spark.eventLog.compress": "false",
    }
    project = dbt_project(f"twice_{mode}", {**cluster.settings, **SPECULATION, **log})
    project.write("models/spent.sql", MODEL)
    merges(project, mode)
    events = (line for file in tmp_path.rglob("events_*") for line in file.read_text().splitlines())
    tasks = [json.loads(event)["Task Info"] for event in events if "SparkListenerTaskStart" in event]
    assert any(task["Speculative"] for task in tasks), "no task ran twice"
    assert not list((project.root / "warehouse").rglob("_temporary"))


def test_executors_come_and_go(dbt_project: Callable[..., DbtProject], cluster: Standalone) -> None:
    before = len(cluster.executors())
    project = dbt_project("allocated", {**cluster.settings, **ALLOCATION})
    project.write("models/spent.sql", MODEL)
    merges(project, "copy_on_write", pause=8)
    assert len(cluster.executors()) - before > 2, "none was started anew"
