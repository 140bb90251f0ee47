"""dbt in processes of its own, on one metastore process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bounded import MOST_SECONDS, killed_after
from engines.metastores import metastore_on
from engines.services import Storage, storage_of
from functional.concurrency.small_disks import SmallDisks
from kernel.servers import MetastoreServer
from small_spark import SMALL_SPARK

_DIE_AT_STEP = Path(__file__).with_name("die_at_step.py")
_DBT_COMMANDS = Path(__file__).with_name("dbt_commands.py")
_SPARK = {**SMALL_SPARK, "spark.master": "local[2]"}


class DbtProject:
    """A dbt project in a folder, with the schema of its folder's name.

    Args:
        settings: Spark's, besides those of all projects.
        warehouse: its folder, if it is not in the project's.
    """

    def __init__(
        self,
        root: Path,
        server: MetastoreServer,
        settings: Mapping[str, str] | None = None,
        warehouse: Path | str | None = None,
    ) -> None:
        self.root = root
        self.name = root.name
        self.server = server
        target = {
            "type": "lakemerge",
            "schema": self.name,
            "threads": 1,
            "warehouse": str(warehouse or root / "warehouse"),
            "metastore": server.client_conf["hive.metastore.uris"],
            "server_side_parameters": {**_SPARK, **server.spark, **(settings or {})},
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
        command = [str(_DIE_AT_STEP), dies_at, "dbt", *arguments, "--no-use-colors"]
        return self._start(command, number, stderr=subprocess.STDOUT)

    def start_apart(self, *arguments: str) -> subprocess.Popen[str]:
        """Start dbt as :meth:`start` does, with a standard error of its own."""
        command = [str(_DIE_AT_STEP), "none", "dbt", *arguments, "--no-use-colors"]
        return self._start(command, 1, stderr=subprocess.PIPE)

    def start_stream(self, *arguments: str, number: int = 1, dies_at: str = "none") -> subprocess.Popen[str]:
        """Start `lakemerge stream`: batches go to standard output, what else it says to standard error."""
        command = [str(_DIE_AT_STEP), dies_at, "lakemerge", "stream", *arguments]
        return self._start(command, number, stderr=subprocess.PIPE)

    def _start(
        self, command: list[str], number: int, *, stderr: int, under: Sequence[str] = ()
    ) -> subprocess.Popen[str]:
        folders = ["--target-path", f"target{number}", "--log-path", f"logs{number}"]
        return subprocess.Popen(
            [*under, sys.executable, *command, "--profiles-dir", ".", *folders],
            cwd=self.root,
            # a process that is aborted prints the stacks of its threads
            env={**os.environ, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "PYTHONFAULTHANDLER": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )

    @contextmanager
    def commands(
        self, number: int = 1, under: Sequence[str] = (), most_seconds: float = MOST_SECONDS
    ) -> Iterator[DbtCommands]:
        """Runs of dbt in one process that stays.

        Args:
            under: the command that starts this process, such as ``setpriv`` with its options.
            most_seconds: the process is killed if a command takes longer.
        """
        log = self.root / f"commands{number}.log"
        with log.open("w") as stderr:
            process = self._start([str(_DBT_COMMANDS)], number, stderr=stderr.fileno(), under=under)
            try:
                yield DbtCommands(process, log, most_seconds)
            finally:
                # closes its input, at which it ends
                with killed_after(process, 60):
                    process.communicate()

    def run(self, *arguments: str) -> str:
        """Run dbt to its end, which must be a good one; returns what it printed."""
        run = self.start(*arguments)
        output = run.communicate(timeout=MOST_SECONDS)[0]
        assert run.returncode == 0, output
        return output

    def run_killed(self, *arguments: str, at: str) -> None:
        """Run dbt, and be sure that it was killed at a step."""
        run = self.start(*arguments, dies_at=at)
        output = run.communicate(timeout=MOST_SECONDS)[0]
        assert run.returncode == -signal.SIGKILL, f"did not die at {at}:\n{output}"

    @contextmanager
    def two_at_once(self) -> Iterator[Callable[..., list[Mapping[str, Any]]]]:
        """Runs of dbt in two processes at the same time; each returns the response of its one node."""
        with self.commands(1) as first, self.commands(2) as second, ThreadPoolExecutor(2) as pool:

            def run(*arguments: str) -> list[Mapping[str, Any]]:
                answers = list(pool.map(lambda dbt: dbt(*arguments), (first, second)))
                assert all(answer["success"] for answer in answers), answers
                return [answer["response"] for answer in answers]

            yield run


@dataclass(frozen=True)
class DbtCommands:
    """A process that runs one command of dbt after another."""

    process: subprocess.Popen[str]
    log: Path
    most_seconds: float

    def __call__(self, *arguments: str) -> dict[str, Any]:
        """Run a command; returns what `dbt_commands.py` says of it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(arguments) + "\n")
        self.process.stdin.flush()
        with killed_after(self.process, self.most_seconds):
            for line in self.process.stdout:
                if line.startswith("ANSWER "):
                    answer: dict[str, Any] = json.loads(line.removeprefix("ANSWER "))
                    return answer
        raise AssertionError(
            f"dbt's process ended, or was killed after {self.most_seconds:.0f} s:\n{self.log.read_text()[-4000:]}"
        )

    def succeed(self, *arguments: str) -> None:
        """Run a command, which must end well."""
        answer = self(*arguments)
        assert answer["success"], f"{arguments}: {answer['message']}"

    def rows(self, query: str, *arguments: str) -> list[list[Any]]:
        """The rows of a query, with dbt's arguments that the project needs."""
        shown = self("show", "--inline", query, "--limit", "1000", *arguments)
        assert shown["success"], shown
        rows: list[list[Any]] = shown["rows"]
        return rows


def read_until(process: subprocess.Popen[str], text: str) -> str:
    """What a process prints, up to the first line with a text."""
    assert process.stdout is not None
    read = ""
    for line in process.stdout:
        read += line
        if text in line:
            return read
    raise AssertionError(f"ended without {text!r}:\n{read}")


#: The steps of every commit of a partitioned table after which a run is killed.
STEPS = ("staged", "manifest written", "claimed", "registered", "swapped", "settled")


@pytest.fixture(scope="package")
def storage(request: pytest.FixtureRequest) -> Iterator[Storage]:
    """Where tables lie (``--files``)."""
    with storage_of(request.config.getoption("--files")) as storage:
        yield storage


@pytest.fixture(scope="package")
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, storage: Storage
) -> Iterator[MetastoreServer]:
    """A metastore process, Hive 2.3 on Derby unless ``--metastore`` names another."""
    database = request.config.getoption("--metastore")
    with metastore_on(database, tmp_path_factory.mktemp("metastore"), storage) as server:
        yield server


@pytest.fixture
def run_killed(server: MetastoreServer, storage: Storage, tmp_path: Path) -> Callable[..., None]:
    """Runs a program with Spark's settings, a warehouse and some arguments; it must die by SIGKILL."""

    def run(program: Path, *arguments: str) -> None:
        conf = json.dumps(server.spark_conf)
        warehouse = f"{storage.uri}/{tmp_path.name}" if storage else str(tmp_path / "warehouse")
        done = subprocess.run(
            [sys.executable, str(program), conf, warehouse, *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(program.parents[2])},
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
            check=False,
        )
        assert done.returncode == -signal.SIGKILL, done.stderr[-4000:]

    return run


@pytest.fixture(scope="module")
def dbt_project(
    tmp_path_factory: pytest.TempPathFactory, server: MetastoreServer, storage: Storage
) -> Callable[..., DbtProject]:
    """Makes a :class:`DbtProject` by its name, settings of Spark's, and a warehouse."""

    def make(
        name: str, settings: Mapping[str, str] | None = None, warehouse: Path | str | None = None
    ) -> DbtProject:
        root = tmp_path_factory.mktemp(name, numbered=False)
        return DbtProject(root, server, settings, warehouse or (f"{storage.uri}/{name}" if storage else None))

    return make


@pytest.fixture
def small_disks(tmp_path: Path) -> Iterator[SmallDisks]:
    disks = SmallDisks(tmp_path)
    yield disks
    disks.unmount()
