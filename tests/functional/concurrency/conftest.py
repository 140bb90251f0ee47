"""dbt in processes of its own, on one metastore process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kernel.servers import MetastoreServer

_DBT = "from dbt.cli.main import cli; cli()"
_LAKEMERGE = "from dbt.adapters.lakemerge.cli import cli; cli()"
_SPARK = {
    "spark.master": "local[2]",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m",
}


class DbtProject:
    """A dbt project in a folder, with the schema of its folder's name."""

    def __init__(self, root: Path, server: MetastoreServer) -> None:
        self.root = root
        self.name = root.name
        self.server = server
        target = {
            "type": "lakemerge",
            "schema": self.name,
            "threads": 1,
            "warehouse": str(root / "warehouse"),
            "metastore": server.client_conf["hive.metastore.uris"],
            "server_side_parameters": _SPARK,
        }
        profile = {self.name: {"target": "dev", "outputs": {"dev": target}}}
        self.write("profiles.yml", json.dumps(profile))
        self.write("dbt_project.yml", f"name: {self.name}\nprofile: {self.name}\nvars: {{day: 1}}\n")

    def write(self, path: str, text: str) -> None:
        """Write a file of the project."""
        file = self.root / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)

    def start(self, *arguments: str, number: int = 1, program: str = _DBT) -> subprocess.Popen[str]:
        """Start dbt; runs that go on at the same time need different numbers.

        Args:
            program: Python that runs dbt's command line.
        """
        return self._start(
            program, [*arguments, "--no-use-colors", *self._folders(number)], stderr=subprocess.STDOUT
        )

    def start_stream(self, *arguments: str, number: int = 1) -> subprocess.Popen[str]:
        """Start `lakemerge stream`: batches go to standard output, what else it says to standard error."""
        return self._start(_LAKEMERGE, ["stream", *arguments, *self._folders(number)], stderr=subprocess.PIPE)

    @staticmethod
    def _folders(number: int) -> list[str]:
        return ["--profiles-dir", ".", "--target-path", f"target{number}", "--log-path", f"logs{number}"]

    def _start(self, program: str, arguments: list[str], *, stderr: int) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            cwd=self.root,
            env={**os.environ, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"},
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )

    def run(self, *arguments: str) -> None:
        """Run dbt to its end, which must be a good one."""
        run = self.start(*arguments)
        output = run.communicate(timeout=400)[0]
        assert run.returncode == 0, output

    def run_twice_at_once(self, *arguments: str) -> list[Mapping[str, Any]]:
        """Two runs at the same time; returns the response of each to its one node."""
        runs = [self.start(*arguments, number=number) for number in (1, 2)]
        outputs = [run.communicate(timeout=400)[0] for run in runs]
        assert [run.returncode for run in runs] == [0, 0], "\n".join(outputs)
        results = [json.loads((self.root / f"target{n}" / "run_results.json").read_text()) for n in (1, 2)]
        return [result["results"][0]["adapter_response"] for result in results]


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MetastoreServer]:
    server = MetastoreServer(tmp_path_factory.mktemp("metastore")).start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def dbt_project(
    tmp_path_factory: pytest.TempPathFactory, server: MetastoreServer
) -> Callable[[str], DbtProject]:
    """Makes a :class:`DbtProject` by its name."""
    return lambda name: DbtProject(tmp_path_factory.mktemp(name, numbered=False), server)
