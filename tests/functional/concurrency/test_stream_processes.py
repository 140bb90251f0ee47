"""`lakemerge stream` in processes of its own, killed and told to stop: each record is there once."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from typing import Any

import pytest

from functional.concurrency.conftest import DbtProject

MODEL = """
{{ config(materialized='ingest', landing=var('landing'), settle_seconds=0, max_files=1,
          trigger='processing_time', trigger_interval='1 second') }}
"""
YML = "models: [{name: events, columns: [{name: id, data_type: int}, {name: name, data_type: string}]}]\n"
DUMP = """
{% macro dump() %}
    {% for table in ['events', 'events__quarantine'] %}
        {% set first = run_query('select * from ' ~ target.schema ~ '.' ~ table).columns[0] %}
        {% do log('DUMP ' ~ tojson(first.values() | map('string') | list), info=true) %}
    {% endfor %}
{% endmacro %}
"""


class Streamed:
    """A project with one ingest model, and the process that streams it."""

    def __init__(self, project: DbtProject) -> None:
        self.project = project
        self.landing = project.root / "landing"
        self.landing.mkdir()
        project.write("models/events.sql", MODEL)
        project.write("models/events.yml", YML)
        project.write("macros/dump.sql", DUMP)
        self.variables = json.dumps({"landing": str(self.landing)})

    def start(self) -> subprocess.Popen[str]:
        return self.project.start_stream(
            "--select", "events", "--vars", self.variables, "--log-format", "json"
        )

    def land(self, *numbers: int) -> None:
        for number in numbers:
            lines = [f"{number}{line},x" if line % 3 else f"bad{number}{line},x" for line in range(6)]
            hidden = self.landing / f".{number}.csv"
            hidden.write_text("\n".join(lines) + "\n")
            hidden.rename(self.landing / f"{number}.csv")

    def dumped(self) -> tuple[list[str], list[str]]:
        run = self.project.start("run-operation", "dump", "--vars", self.variables)
        output = run.communicate(timeout=400)[0]
        assert run.returncode == 0, output
        rows, quarantine = (
            json.loads(line.partition("DUMP ")[2]) for line in output.splitlines() if "DUMP [" in line
        )
        return rows, quarantine


def batch(process: subprocess.Popen[str]) -> dict[str, Any]:
    """The next batch that the process tells of."""
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("{"), line + process.stdout.read()
    told: dict[str, Any] = json.loads(line)
    return told


@pytest.mark.slow
def test_each_record_once_through_kills_a_lost_project_and_stops(
    dbt_project: Callable[[str], DbtProject],
) -> None:
    streamed = Streamed(dbt_project("streamed"))
    streamed.land(1)
    process = streamed.start()
    told = batch(process)
    assert (told["version"], told["inserted"], told["quarantined"]) == (1, 4, 2)
    # visible while the process goes on, and killed when it has nothing to do
    rows, quarantine = streamed.dumped()
    assert (len(rows), len(quarantine)) == (4, 2)
    process.kill()
    process.wait()
    # all that a run could remember outside of the table is gone
    shutil.rmtree(streamed.project.root / "target1")
    streamed.land(*range(2, 8))
    process = streamed.start()
    assert batch(process)["behind"]["files"] == 5
    time.sleep(0.3)  # in the midst of a batch
    process.kill()
    process.wait()
    process = streamed.start()
    told = batch(process)
    assert told["behind"]["files"] < 5
    process.send_signal(signal.SIGTERM)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert "Stopped after" in errors
    assert "Traceback" not in errors
    stopped_at = [json.loads(line)["version"] for line in output.splitlines()] or [told["version"]]
    rows, quarantine = streamed.dumped()
    assert len(rows) == 4 * stopped_at[-1]
    process = streamed.start()
    while batch(process)["behind"]["files"]:
        pass
    process.send_signal(signal.SIGINT)
    assert process.wait(120) == 0
    rows, quarantine = streamed.dumped()
    numbers = range(1, 8)
    assert sorted(rows) == sorted(f"{number}{line}" for number in numbers for line in range(6) if line % 3)
    assert sorted(quarantine) == sorted(f"bad{number}{line},x" for number in numbers for line in (0, 3))
