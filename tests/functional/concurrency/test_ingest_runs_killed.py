"""`dbt run` of an ingest killed at every step of its commit, and two at once: each record is there once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kernel.servers import MetastoreServer

STEPS = ("staged", "manifest written", "claimed", "side data published", "swapped", "settled")
MODEL = "{{ config(materialized='ingest', landing=var('landing'), settle_seconds=0, max_files=2) }}"
YML = "models: [{name: events, columns: [{name: id, data_type: int}, {name: name, data_type: string}]}]\n"
PROJECT = "name: killed\nprofile: killed\nmodel-paths: [models]\nvars: {landing: %s}\n"
SETTINGS = {
    "spark.master": "local[2]",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m",
}
DUMP = """
{% macro dump() %}
    {% for table in ['events', 'events__quarantine'] %}
        {% set first = run_query('select * from ' ~ target.schema ~ '.' ~ table).columns[0] %}
        {% do log('DUMP ' ~ tojson(first.values() | map('string') | list), info=true) %}
    {% endfor %}
{% endmacro %}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MetastoreServer]:
    server = MetastoreServer(tmp_path_factory.mktemp("metastore")).start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, server: MetastoreServer) -> Path:
    root = tmp_path_factory.mktemp("killed")
    for folder in ("models", "macros", "landing"):
        (root / folder).mkdir()
    (root / "models" / "events.sql").write_text(MODEL)
    (root / "models" / "events.yml").write_text(YML)
    (root / "macros" / "dump.sql").write_text(DUMP)
    (root / "dbt_project.yml").write_text(PROJECT % (root / "landing"))
    target = {
        "type": "lakemerge",
        "schema": "killed",
        "threads": 1,
        "warehouse": str(root / "warehouse"),
        "metastore": server.client_conf["hive.metastore.uris"],
        "server_side_parameters": SETTINGS,
    }
    profile = {"killed": {"target": "dev", "outputs": {"dev": target}}}
    (root / "profiles.yml").write_text(json.dumps(profile))
    return root


def start(
    project: Path, arguments: list[str], *, step: str = "none", number: int = 1
) -> subprocess.Popen[str]:
    script = str(Path(__file__).parent / "die_at_step.py")
    folders = ["--profiles-dir", ".", "--target-path", f"target{number}", "--log-path", f"logs{number}"]
    return subprocess.Popen(
        [sys.executable, script, step, *arguments, *folders, "--no-use-colors"],
        cwd=project,
        env={**os.environ, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def land(project: Path, number: int) -> None:
    lines = [f"{number}{line},x" if line % 3 else f"bad{number}{line},x" for line in range(6)]
    (project / "landing" / f"{number}.csv").write_text("\n".join(lines) + "\n")


def dumped(project: Path) -> tuple[list[Any], list[Any]]:
    run = start(project, ["run-operation", "dump"])
    output = run.communicate(timeout=400)[0]
    assert run.returncode == 0, output
    rows, quarantine = (
        json.loads(line.partition("DUMP ")[2]) for line in output.splitlines() if "DUMP [" in line
    )
    return rows, quarantine


@pytest.mark.slow
def test_each_record_once_after_kills_at_every_step_and_two_runs_at_once(project: Path) -> None:
    for number, step in enumerate(STEPS, 1):
        land(project, number)
        run = start(project, ["run"], step=step)
        output = run.communicate(timeout=400)[0]
        assert run.returncode == -signal.SIGKILL, f"did not die at {step}:\n{output}"
    for number in (7, 8, 9):
        land(project, number)
    runs = [start(project, ["run"], number=number) for number in (1, 2)]
    outputs = [run.communicate(timeout=400)[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0], "\n".join(outputs)
    for _ in range(4):  # two files a run
        run = start(project, ["run"])
        output = run.communicate(timeout=400)[0]
        assert run.returncode == 0, output
        if "nothing to write" in output:
            break
    assert "nothing to write" in output
    rows, quarantine = dumped(project)
    numbers = range(1, 10)
    assert sorted(rows) == sorted(f"{number}{line}" for number in numbers for line in range(6) if line % 3)
    assert sorted(quarantine) == sorted(f"bad{number}{line},x" for number in numbers for line in (0, 3))
