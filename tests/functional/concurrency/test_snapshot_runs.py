"""`dbt snapshot` twice at once, and killed: each run in a process of its own, on one metastore process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from functional.concurrency.conftest import STEPS
from lakemerge.kernel import Jvm, Kernel, TableName, ports_of
from lakemerge.kernel.maintenance.history import history

SNAPSHOT = """
{% snapshot history %}
{{ config(unique_key='id', strategy='check', check_cols='all', hard_deletes='invalidate') }}
select id, if(id % 2 = 0, 'same', concat('day ', {{ var('day') }})) as name
from range({{ var('day') }} * 100, {{ var('day') }} * 100 + 200)
{% endsnapshot %}
"""
# What would be wrong with a history, as dbt's data tests tell it.
SOUND = """
select id from {{ ref('history') }} where dbt_valid_to is null group by id having count(*) <> 1
union all
select max(id) from {{ ref('history') }} group by dbt_scd_id having count(*) <> 1
union all
select id from {{ ref('history') }} where dbt_valid_to < dbt_valid_from
union all
select id from {{ ref('history') }}
where dbt_valid_to is null and name <> if(id % 2 = 0, 'same', concat('day ', {{ var('day') }}))
union all
select count(*) from {{ ref('history') }} where dbt_valid_to is null having count(*) <> 200
"""


def project_of(dbt_project: Callable[[str], Any], name: str) -> Any:
    project = dbt_project(name)
    project.write("snapshots/history.sql", SNAPSHOT)
    project.write("tests/sound.sql", SOUND)
    return project


@pytest.mark.slow
def test_two_snapshots_at_once_leave_one_current_row_a_key(dbt_project: Callable[[str], Any]) -> None:
    """dbt-core #4661: two colliding runs each insert the new version of a changed row."""
    project = project_of(dbt_project, "colliding")
    with project.two_at_once() as both:
        for day, expected in ((1, (200, 0, 0)), (2, (100, 50, 100))):
            responses = both("snapshot", "--vars", f"day: {day}")
            done = [
                tuple(response[key] for key in ("inserted", "updated", "deleted")) for response in responses
            ]
            assert sorted(done) == [(0, 0, 0), expected], "every change is made by one of the two runs alone"
    commits = history(
        Kernel(ports_of(Jvm.launch(project.server.client_conf))), TableName(project.name, "history")
    )
    assert [commit.version for commit in commits] == [2, 1]
    assert commits[0].properties["rows"] == 200 + 150
    project.run("test", "--vars", "day: 2")


@pytest.mark.slow
def test_a_killed_snapshot_shows_the_old_state_or_the_new(dbt_project: Callable[[str], Any]) -> None:
    project = project_of(dbt_project, "killed_snapshot")
    # those that see what a killed run has left need no process of their own each
    with project.commands(2) as dbt:
        dbt.succeed("snapshot", "--vars", "day: 1")
        for day, step in enumerate(STEPS, 2):
            project.run_killed("snapshot", "--vars", f"day: {day}", at=step)
            # a claimed version stands, and the next to open the table finishes it
            stands = day if step not in ("staged", "manifest written") else day - 1
            dbt.succeed("run-operation", "lakemerge_recover", "--args", "{table: history}")
            dbt.succeed("test", "--vars", f"day: {stands}")
            dbt.succeed("snapshot", "--vars", f"day: {day}")
            dbt.succeed("test", "--vars", f"day: {day}")
