"""The Java process dies in the middle of a run: one plain reason, and the next run goes on where it was."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable

import pytest

from functional.concurrency.conftest import DbtProject, read_until
from functional.concurrency.dead_java import NOISE, REASON, java_of, kill_java
from functional.concurrency.landed_events import LandedEvents

MERGED = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', partition_by='part') }}
select id, id % 3 as part from range(30)
"""
#: Never ends by itself.
ENDLESS = """
{{ config(materialized='table') }}
select count(distinct a.id * b.id) as pairs from range(10000000) as a cross join range(10000000) as b
"""
#: Holds more in one row than a small heap has.
GREEDY = "select collect_list(repeat(cast(id as string), 1000)) as texts from range(2000000)"

COUNTS = "count(*), count(distinct id)"


def assert_told_plainly(output: str, reason: str, errors: int) -> None:
    """Every node that could not be built has the same reason, and nothing else is told of."""
    found = {
        "the errors": f"ERROR={errors} " in output,
        "the reason": reason in output,
    }
    # not `in output` by itself: pytest takes minutes to show where a long text differs
    assert all(found.values()), (found, output)
    assert "Committed work stays." in output
    assert "Run again" in output
    reasons = set(re.findall(r"(?:Runtime|Database) Error.*\n +(.*)", output))
    assert len(reasons) == 1, reasons
    noise = [word for word in NOISE if word in output]
    assert not noise, (noise, output)


@pytest.mark.slow
def test_a_run_says_that_java_was_killed_and_the_next_one_finishes(
    dbt_project: Callable[[str], DbtProject],
) -> None:
    project = dbt_project("killed")
    for name in ("a", "b", "c"):
        project.write(f"models/{name}.sql", MERGED)
    # after the claim: the version is made, and its partitions are not yet in it
    run = project.start("run", dies_at="java:claimed")
    output = run.communicate(timeout=400)[0]
    assert run.returncode == 1, output
    assert_told_plainly(output, f"{REASON}was killed (signal 9, SIGKILL)", errors=3)
    with project.commands() as dbt:
        answer = dbt("run")
        assert answer["success"], answer
        for name in ("a", "b", "c"):
            assert dbt.rows(f"select {COUNTS} from {{{{ ref('{name}') }}}}") == [[30, 30]]


@pytest.mark.slow
def test_a_statement_under_way_ends_when_java_does(dbt_project: Callable[[str], DbtProject]) -> None:
    project = dbt_project("under_way")
    project.write("models/a_endless.sql", ENDLESS)
    project.write("models/b_endless.sql", ENDLESS)
    project.write("models/c.sql", "select 1 as id")
    run = project.start("run", "--threads", "2")
    read_until(run, "2 of 3 START")
    time.sleep(5)
    java_of(run).send_signal(signal.SIGTERM)
    started = time.monotonic()
    output = run.communicate(timeout=100)[0]
    assert time.monotonic() - started < 60
    assert run.returncode == 1
    assert_told_plainly(output, f"{REASON}was ended from outside (signal 15, SIGTERM)", errors=3)


@pytest.mark.slow
def test_an_exhausted_heap_is_told_with_the_setting_that_enlarges_it(
    dbt_project: Callable[..., DbtProject],
) -> None:
    project = dbt_project("greedy", {"spark.driver.memory": "512m"})
    project.write("models/a_greedy.sql", "{{ config(materialized='table') }}" + GREEDY)
    project.write("models/b.sql", "select 1 as id")
    run = project.start("run")
    output = run.communicate(timeout=400)[0]
    assert run.returncode == 1, output
    assert_told_plainly(output, f"{REASON}ran out of memory (OutOfMemoryError, exit code 3)", errors=2)
    assert "spark.driver.memory in `server_side_parameters` (it had 512m)" in output


@pytest.mark.slow
def test_a_later_command_of_the_same_process_starts_another_java(
    dbt_project: Callable[[str], DbtProject],
) -> None:
    project = dbt_project("again")
    project.write("models/a.sql", MERGED)
    with project.commands() as dbt:
        assert dbt("run")["success"]
        kill_java(dbt.process)
        answer = dbt("run")
        assert answer["success"], answer
        assert dbt.rows(f"select {COUNTS} from {{{{ ref('a') }}}}") == [[30, 30]]


@pytest.mark.slow
def test_a_stream_ends_with_the_reason(dbt_project: Callable[[str], DbtProject]) -> None:
    project = dbt_project("stream_of_dead_java")
    events = LandedEvents(project, "max_files=1, trigger='processing_time', trigger_interval='1 second'")
    events.land(1)
    process = project.start_stream("--select", "events", "--log-format", "json")
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("{")
        java_of(process).kill()
        output, errors = process.communicate(timeout=100)
    finally:
        process.kill()
    assert process.returncode == 1
    assert output == ""
    assert f"{REASON}was killed (signal 9, SIGKILL)" in errors
    assert not [word for word in NOISE if word in errors], errors
