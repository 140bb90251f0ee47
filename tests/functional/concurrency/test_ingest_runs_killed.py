"""`dbt run` of an ingest killed at every step of its commit, and two at once: each record is there once."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

STEPS = ("staged", "manifest written", "claimed", "side data published", "swapped", "settled")
MODEL = "{{{{ config(materialized='ingest', landing='{landing}', settle_seconds=0, max_files=2) }}}}"
YML = "models: [{name: events, columns: [{name: id, data_type: int}, {name: name, data_type: string}]}]\n"
DUMP = """
{% macro dump() %}
    {% for table in ['events', 'events__quarantine'] %}
        {% set first = run_query('select * from ' ~ target.schema ~ '.' ~ table).columns[0] %}
        {% do log('DUMP ' ~ tojson(first.values() | map('string') | list), info=true) %}
    {% endfor %}
{% endmacro %}
"""


@pytest.fixture(scope="module")
def project(dbt_project: Callable[[str], Any]) -> Any:
    project = dbt_project("killed_ingest")
    (project.root / "landing").mkdir()
    project.write("models/events.sql", MODEL.format(landing=project.root / "landing"))
    project.write("models/events.yml", YML)
    project.write("macros/dump.sql", DUMP)
    return project


def land(project: Any, number: int) -> None:
    lines = [f"{number}{line},x" if line % 3 else f"bad{number}{line},x" for line in range(6)]
    (project.root / "landing" / f"{number}.csv").write_text("\n".join(lines) + "\n")


def dumped(project: Any) -> tuple[list[Any], list[Any]]:
    output = project.run("run-operation", "dump")
    rows, quarantine = (
        json.loads(line.partition("DUMP ")[2]) for line in output.splitlines() if "DUMP [" in line
    )
    return rows, quarantine


@pytest.mark.slow
def test_each_record_once_after_kills_at_every_step_and_two_runs_at_once(project: Any) -> None:
    for number, step in enumerate(STEPS, 1):
        land(project, number)
        project.run_killed("run", at=step)
    for number in (7, 8, 9):
        land(project, number)
    project.run_twice_at_once("run")
    for _ in range(4):  # two files a run
        output = project.run("run")
        if "nothing to write" in output:
            break
    assert "nothing to write" in output
    rows, quarantine = dumped(project)
    numbers = range(1, 10)
    assert sorted(rows) == sorted(f"{number}{line}" for number in numbers for line in range(6) if line % 3)
    assert sorted(quarantine) == sorted(f"bad{number}{line},x" for number in numbers for line in (0, 3))
