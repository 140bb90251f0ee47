"""Builds that publish after their tests: ended by Ctrl-C, killed at any moment, or two of them at once."""

from __future__ import annotations

import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from functional.concurrency.conftest import DbtProject, read_until
from functional.concurrency.waiting_builds import COPY, DAYS, LAST, MASTER
from kernel.groups import BEFORE_DECISION


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "killed"])
def test_nothing_is_published_and_the_next_build_publishes_all(
    number: signal.Signals, dbt_project: Callable[[str], DbtProject], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBT_WRITE_JSON", "true")  # what a retry goes by
    project = dbt_project(f"ended_{number.name.lower()}")
    for name, text in (("master", MASTER), ("copied", COPY), ("pairs", LAST)):
        project.write(f"models/{name}.sql", text)
    assert "Published together" in project.run("build")
    build = project.start("build", "--vars", "{day: 2, most: 1000000}")
    output = read_until(build, "3 of 3 START")
    build.send_signal(number)
    output += build.communicate(timeout=400)[0]
    assert build.returncode == (2 if number is signal.SIGINT else -number), output
    with project.commands() as dbt:
        if number is signal.SIGINT:  # dbt's results say that two nodes are done, and a retry would leave them
            answer = dbt("retry")
            assert not answer["success"]
            assert "interrupted before it could publish" in str(answer), answer
        assert dbt.rows(DAYS) == [[1], [1]]
        dbt.succeed("build", "--vars", "day: 3")
        assert dbt.rows(DAYS) == [[3], [3]]


APPENDED = """
{{ config(materialized='incremental', incremental_strategy='append', publish='after_tests') }}
select distinct day from {{ ref('master') }}
"""
ON_READ = """
{{ config(materialized='incremental', unique_key='id', write_mode='merge_on_read', publish='after_tests') }}
select id, day from {{ ref('master') }}
"""
SHOWN = """
{{ config(materialized='view', publish='after_tests') }}
select max(day) as day from {{ ref('appended') }}
"""


@pytest.mark.slow
@pytest.mark.parametrize("step", ["table claimed", "claimed", "confirmed"])
def test_a_build_that_is_killed_while_it_publishes_publishes_all_or_nothing(
    step: str, dbt_project: Callable[[str], DbtProject]
) -> None:
    project = dbt_project(f"killed_at_{step.replace(' ', '_')}")
    models = {"master": MASTER, "copied": COPY, "appended": APPENDED, "on_read": ON_READ, "shown": SHOWN}
    for name, text in models.items():
        project.write(f"models/{name}.sql", text)
    project.run("build")
    project.run_killed("build", "--vars", "{day: 2}", at=step)
    with project.commands() as dbt:

        def days() -> list[Any]:
            return [
                dbt.rows(f"select distinct day from {{{{ ref('{name}') }}}} order by day") for name in models
            ]

        dbt.succeed("run-operation", "lakemerge_recover", "--args", "table: copied")
        day = 1 if step in BEFORE_DECISION else 2
        passed = [[one] for one in range(1, day + 1)]
        assert days() == [[[day]], [[day]], passed, [[day]], [[day]]]
        dbt.succeed("build", "--vars", "day: 3")
        assert days() == [[[3]], [[3]], [*passed, [3]], [[3]], [[3]]]


@pytest.mark.slow
def test_of_two_builds_at_once_no_table_is_of_both(dbt_project: Callable[[str], DbtProject]) -> None:
    project = dbt_project("two_builds")
    for name, text in (("master", MASTER), ("copied", COPY), ("appended", APPENDED)):
        project.write(f"models/{name}.sql", text)
    appended = "select day from {{ ref('appended') }} order by day"
    published: list[int] = []
    with project.commands(1) as one, project.commands(2) as other, ThreadPoolExecutor(2) as pool:
        for first in (1, 3, 5):  # in the first round, both make the tables
            answers = list(
                pool.map(
                    lambda dbt, day: dbt("build", "--vars", f"day: {day}"), (one, other), (first, first + 1)
                )
            )
            done = [first + number for number, answer in enumerate(answers) if answer["success"]]
            assert done, answers
            assert all(answer["success"] or "NotPublished" in answer["message"] for answer in answers), (
                answers
            )
            master, copied = one.rows(DAYS)
            assert master == copied
            assert master[0] in done
            published += done
            assert [row[0] for row in one.rows(appended)] == sorted(published), "a failed build adds nothing"
    assert len(published) < 6, "at no time were there two at once"
