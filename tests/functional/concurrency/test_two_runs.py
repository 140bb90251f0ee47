"""Two `dbt run` of one model at once, each in a process of its own, on one metastore process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernel.servers import MetastoreServer
from lakemerge.kernel import Jvm, Kernel, TableName
from lakemerge.kernel.operations import history

MODEL = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', sequence_by='ts',
          partition_by='part') }}
select id, {{ var('day') }} as ts, id % 5 as part, concat('day ', {{ var('day') }}) as name
from range({{ var('day') }} * 100, {{ var('day') }} * 100 + 200)
"""
PROJECT = "name: twice\nprofile: twice\nmodel-paths: [models]\nvars: {day: 1}\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MetastoreServer]:
    server = MetastoreServer(tmp_path_factory.mktemp("metastore")).start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, server: MetastoreServer) -> Path:
    root = tmp_path_factory.mktemp("twice")
    (root / "models").mkdir()
    (root / "models" / "twice.sql").write_text(MODEL)
    (root / "dbt_project.yml").write_text(PROJECT)
    uri = server.client_conf["hive.metastore.uris"]
    settings = {
        "spark.master": "local[2]",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m",
    }
    target = {
        "type": "lakemerge",
        "schema": "twice",
        "threads": 1,
        "warehouse": str(root / "warehouse"),
        "metastore": uri,
        "server_side_parameters": settings,
    }
    profile = {"twice": {"target": "dev", "outputs": {"dev": target}}}
    (root / "profiles.yml").write_text(json.dumps(profile))
    return root


def start(project: Path, day: int, number: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "from dbt.cli.main import cli; cli()", "run", "--no-use-colors"]
    folders = ["--target-path", f"target{number}", "--log-path", f"logs{number}"]
    return subprocess.Popen(
        [*command, "--profiles-dir", ".", *folders, "--vars", f"day: {day}"],
        cwd=project,
        env={**os.environ, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def responses(project: Path) -> list[dict[str, int]]:
    found = []
    for number in (1, 2):
        results = json.loads((project / f"target{number}" / "run_results.json").read_text())
        found.append(results["results"][0]["adapter_response"])
    return found


@pytest.mark.usefixtures("bare_gateway")
def test_two_runs_at_once_give_one_result(project: Path, server: MetastoreServer) -> None:
    kernel = Kernel(Jvm.launch(server.client_conf))
    for day in (1, 2):  # the first day both make the table, the second both merge into it
        runs = [start(project, day, number) for number in (1, 2)]
        outputs = [run.communicate(timeout=400)[0] for run in runs]
        assert [run.returncode for run in runs] == [0, 0], "\n".join(outputs)
        inserted = [response["inserted"] for response in responses(project)]
        assert sum(inserted) == (200 if day == 1 else 100), (
            "every row is inserted by one of the two runs alone"
        )
        commits = history(kernel, TableName("twice", "twice"))
        assert [commit.version for commit in commits] == list(range(day, 0, -1))
        assert commits[0].properties["rows"] == 100 + 100 * day
