"""A history merged by two runs at once, and by runs that are killed: each in a process of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from functional.concurrency.conftest import STEPS
from lakemerge.kernel import Jvm, Kernel, TableName, ports_of
from lakemerge.kernel.maintenance.history import history

# Every day changes half of the keys of the day before, adds some, and comes with the day before once more.
MODEL = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', sequence_by='ts',
          stored_as_scd_type=2, except_column_list=['ts'], partition_by='part') }}
select id, day as ts, concat('day ', day) as name, id % 3 as part
from (select explode(sequence(greatest({{ var('day') }} - 1, 1), {{ var('day') }})) as day)
lateral view explode(sequence(day * 10, day * 10 + 19)) as id
"""
SCHEMA = """
models:
  - name: history
    data_tests:
      - history_has_no_overlaps: {arguments: {unique_key: id}}
      - history_has_no_gaps: {arguments: {unique_key: id}}
      - history_has_ordered_bounds
      - history_has_one_current_row: {arguments: {unique_key: id, for_every_key: true}}
"""
# What the feed of all days until `day` comes to, against what is there.
SOUND = """
with told as (
    select explode(sequence(1, {{ var('day') }})) as day
),
expected as (
    select id, day as starts_at, lead(day) over (partition by id order by day) as ends_at, concat('day ', day) as name
    from told lateral view explode(sequence(day * 10, day * 10 + 19)) as id
),
found as (
    select id, __start_at, __end_at, name from {{ ref('history') }}
)
(select * from expected except all select * from found)
union all
(select * from found except all select * from expected)
"""


def project_of(dbt_project: Callable[[str], Any], name: str) -> Any:
    project = dbt_project(name)
    project.write("models/history.sql", MODEL)
    project.write("models/history.yml", SCHEMA)
    project.write("tests/sound.sql", SOUND)
    return project


# `make test` has two runs of a merge at once
@pytest.mark.slow
def test_two_runs_at_once_make_every_version_once(dbt_project: Callable[[str], Any]) -> None:
    project = project_of(dbt_project, "histories")
    with project.two_at_once() as both:
        for day, expected in ((1, (20, 0)), (2, (20, 10))):
            responses = both("run", "--vars", f"day: {day}")
            done = [tuple(response[key] for key in ("inserted", "updated")) for response in responses]
            assert sorted(done) == [(0, 0), expected], "every change is made by one of the two runs alone"
    commits = history(
        Kernel(ports_of(Jvm.launch(project.server.client_conf))), TableName(project.name, "history")
    )
    assert [commit.version for commit in commits] == [2, 1]
    assert commits[0].properties["rows"] == 40
    project.run("test", "--vars", "day: 2")


@pytest.mark.slow
def test_a_killed_merge_shows_the_old_history_or_the_new(dbt_project: Callable[[str], Any]) -> None:
    project = project_of(dbt_project, "killed_history")
    # those that see what a killed run has left need no process of their own each
    with project.commands(2) as dbt:
        dbt.succeed("run", "--vars", "day: 1")
        for day, step in enumerate(STEPS, 2):
            project.run_killed("run", "--vars", f"day: {day}", at=step)
            # a claimed version stands, and the next to open the table finishes it
            stands = day if step not in ("staged", "manifest written") else day - 1
            dbt.succeed("run-operation", "lakemerge_recover", "--args", "{table: history}")
            dbt.succeed("test", "--vars", f"day: {stands}")
            dbt.succeed("run", "--vars", f"day: {day}")
            dbt.succeed("test", "--vars", f"day: {day}")
