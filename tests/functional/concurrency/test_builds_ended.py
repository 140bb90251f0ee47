"""Builds that publish after their tests, ended by Ctrl-C or killed in their middle, and the builds that follow."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest

from functional.concurrency.conftest import DbtProject, read_until

MASTER = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', publish='after_tests') }}
select id, {{ var('day') }} as day from range(100)
"""
COPY = """
{{ config(materialized='table', publish='after_tests') }}
select * from {{ ref('master') }}
"""
#: Begins when both of them are staged, and never ends.
LAST = """
{{ config(materialized='table', publish='after_tests') }}
select count(distinct m.id * a.id * b.id) as pairs from {{ ref('copied') }} as m
cross join range({{ var('most', 1) }}) as a
cross join range({{ var('most', 1) }}) as b
"""
DAYS = "select distinct day from {{ ref('master') }} union all select distinct day from {{ ref('copied') }}"


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "killed"])
def test_nothing_is_published_and_the_next_build_publishes_all(
    number: signal.Signals, dbt_project: Callable[[str], DbtProject]
) -> None:
    project = dbt_project(f"ended_{number.name.lower()}")
    for name, text in (("master", MASTER), ("copied", COPY), ("pairs", LAST)):
        project.write(f"models/{name}.sql", text)
    assert "Published together" in project.run("build")
    build = project.start("build", "--vars", "{day: 2, most: 10000000}")
    output = read_until(build, "3 of 3 START")
    build.send_signal(number)
    output += build.communicate(timeout=400)[0]
    assert build.returncode == (2 if number is signal.SIGINT else -number), output
    with project.commands() as dbt:
        assert dbt.rows(DAYS) == [[1], [1]]
        dbt.succeed("build", "--vars", "day: 3")
        assert dbt.rows(DAYS) == [[3], [3]]
