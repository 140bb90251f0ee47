"""dbt in processes of its own, on one metastore process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kernel.servers import MetastoreServer

_DIE_AT_STEP = Path(__file__).with_name("die_at_step.py")
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

    def start(self, *arguments: str, number: int = 1, dies_at: str = "none") -> subprocess.Popen[str]:
        """Start dbt; runs that go on at the same time need different numbers.

        Args:
            dies_at: the step of its first commit after which it is killed.
        """
        return self._start([dies_at, "dbt", *arguments, "--no-use-colors"], number, stderr=subprocess.STDOUT)

    def start_stream(self, *arguments: str, number: int = 1, dies_at: str = "none") -> subprocess.Popen[str]:
        """Start `lakemerge stream`: batches go to standard output, what else it says to standard error."""
        return self._start([dies_at, "lakemerge", "stream", *arguments], number, stderr=subprocess.PIPE)

    def _start(self, command: list[str], number: int, *, stderr: int) -> subprocess.Popen[str]:
        folders = ["--target-path", f"target{number}", "--log-path", f"logs{number}"]
        return subprocess.Popen(
            [sys.executable, str(_DIE_AT_STEP), *command, "--profiles-dir", ".", *folders],
            cwd=self.root,
            env={**os.environ, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"},
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )

    def run(self, *arguments: str) -> str:
        """Run dbt to its end, which must be a good one; returns what it printed."""
        run = self.start(*arguments)
        output = run.communicate(timeout=400)[0]
        assert run.returncode == 0, output
        return output

    def run_killed(self, *arguments: str, at: str) -> None:
        """Run dbt, and be sure that it was killed at a step."""
        run = self.start(*arguments, dies_at=at)
        output = run.communicate(timeout=400)[0]
        assert run.returncode == -signal.SIGKILL, f"did not die at {at}:\n{output}"

    def run_twice_at_once(self, *arguments: str) -> list[Mapping[str, Any]]:
        """Two runs at the same time; returns the response of each to its one node."""
        runs = [self.start(*arguments, number=number) for number in (1, 2)]
        outputs = [run.communicate(timeout=400)[0] for run in runs]
        assert [run.returncode for run in runs] == [0, 0], "\n".join(outputs)
        results = [json.loads((self.root / f"target{n}" / "run_results.json").read_text()) for n in (1, 2)]
        return [result["results"][0]["adapter_response"] for result in results]


#: The steps of every commit of a partitioned table after which a run is killed.
STEPS = ("staged", "manifest written", "claimed", "registered", "swapped", "settled")


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
