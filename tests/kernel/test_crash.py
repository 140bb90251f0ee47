"""A process killed anywhere in a commit: the table is the old version or the new, and nothing is left."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bounded import next_line
from kernel.commits import COMMITS, EVERY, OPERATIONS
from kernel.recovery import Pictures, check_recovery
from kernel.servers import MetastoreServer
from kernel.support import picture
from lakemerge.kernel import Jvm, Kernel, TableName, ports_of

_TESTS = Path(__file__).parents[1]
_WORKER_SECONDS = 300
BEFORE_CLAIM = ("staged", "manifest written")
#: A swap is killed at every step in the fast ring, the others at the step that only they have or that tells most. In
#: memory, `tests/unit/kernel/test_commit_kills.py` kills every kind after each of its writes.
_FAST = {
    "create": ("registered",),
    "swap": COMMITS["swap"].steps,
    "swap-whole": ("claimed",),
    "append": ("swapped",),
    "compact": ("swapped",),
    "ingest-first": ("side data published",),
    "ingest": ("claimed",),
    "replay": ("side data published",),
    "widen": ("registered",),
    "replace": ("swapped",),
    "rebuild": ("row prepared", "row moved"),
    "lay": ("table renamed",),
    "delta": ("side data published", "deltas shown"),
    "fold": ("swapped",),
    "fold-whole": ("settled",),
    "retire": ("claimed",),
    "take": ("view removed",),
}
STEPS = [
    pytest.param(kind, step, marks=() if step in _FAST.get(kind, ()) else pytest.mark.slow)
    for kind, commit in COMMITS.items()
    for step in commit.steps
]


class Killer:
    """Runs commits in processes of their own and kills them."""

    def __init__(self, server: MetastoreServer, jvm: Jvm) -> None:
        self._conf = server.client_conf
        parameters = jvm.gateway.gateway_parameters
        self._gateway = [parameters.port, parameters.auth_token]
        self._errors = tempfile.TemporaryFile("a+")  # noqa: SIM115 - until `close`
        self._worker = subprocess.Popen(
            self._COMMAND,
            env=self._environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )

    _COMMAND = (sys.executable, "-m", "kernel.worker")

    @staticmethod
    def _environment() -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(_TESTS)}

    def close(self) -> None:
        """End the process that starts the others."""
        self._worker.communicate()
        self._errors.close()

    def run(
        self,
        kind: str,
        name: TableName,
        *,
        step: str | None = None,
        write: int | None = None,
        own_jvm: bool = False,
    ) -> bool:
        """Do a commit that is to die at a step or after a write.

        Args:
            own_jvm: start a JVM that dies with the process, rather than use that of the tests.

        Returns:
            Whether it died; false when it was done before.
        """
        job = {
            "conf": self._conf,
            "gateway": None if own_jvm else self._gateway,
            "table": name.name,
            "kind": kind,
            "step": step,
            "write": write,
        }
        code, errors = self._run_alone(job) if own_jvm else self._run(job)
        assert code in (0, -signal.SIGKILL), errors
        return code != 0

    def _run(self, job: dict[str, Any]) -> tuple[int | None, str]:
        assert self._worker.stdin is not None
        print(json.dumps(job), file=self._worker.stdin, flush=True)
        answer = next_line(self._worker, _WORKER_SECONDS)
        self._errors.seek(0)
        return int(answer) if answer else None, self._errors.read()

    def _run_alone(self, job: dict[str, Any]) -> tuple[int, str]:
        done = subprocess.run(
            [*self._COMMAND, json.dumps(job)],
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=_WORKER_SECONDS,
            check=False,
        )
        return done.returncode, done.stderr


@pytest.fixture(scope="session")
def killer(server: MetastoreServer, jvm: Jvm) -> Iterator[Killer]:
    killer = Killer(server, jvm)
    yield killer
    killer.close()


class Expectations:
    """Of each kind of commit, the table before and after it, found out once on a table of its own."""

    def __init__(self, jvm: Jvm) -> None:
        self._jvm = jvm
        self._pictures: dict[str, Pictures] = {}

    def __getitem__(self, kind: str) -> Pictures:
        if kind not in self._pictures:
            steps: list[str] = []
            kernel = Kernel(ports_of(self._jvm), step=steps.append)
            name = TableName("default", f"expected_{kind.replace('-', '_')}")
            EVERY[kind].prepare(kernel, name)
            old = picture(kernel, name)
            steps.clear()
            EVERY[kind].run(kernel, name)
            assert not EVERY[kind].steps or tuple(steps) == EVERY[kind].steps, "a step is not killed at"
            self._pictures[kind] = old, picture(kernel, name)
        return self._pictures[kind]


@pytest.fixture(scope="session")
def expected(jvm: Jvm) -> Expectations:
    return Expectations(jvm)


@pytest.mark.parametrize(("kind", "step"), STEPS)
def test_killed_at_step(
    kind: str, step: str, killer: Killer, kernel: Kernel, name: TableName, expected: Expectations
) -> None:
    COMMITS[kind].prepare(kernel, name)
    assert killer.run(kind, name, step=step)
    check_recovery(kernel, name, expected[kind], claimed=step not in BEFORE_CLAIM)


@pytest.mark.parametrize(
    "step",
    [
        pytest.param("manifest written", marks=pytest.mark.slow),
        pytest.param("registered", marks=pytest.mark.slow),
        "swapped",
    ],
)
def test_killed_with_its_java(
    step: str, killer: Killer, kernel: Kernel, name: TableName, expected: Expectations
) -> None:
    COMMITS["swap"].prepare(kernel, name)
    assert killer.run("swap", name, step=step, own_jvm=True)
    check_recovery(kernel, name, expected["swap"], claimed=step not in BEFORE_CLAIM)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "most"),
    [("vacuum", 3), *[(kind, None) for kind in OPERATIONS]],
)
def test_operation_killed_after_each_write(
    kind: str, most: int | None, killer: Killer, kernel: Kernel, jvm: Jvm, expected: Expectations
) -> None:
    kills = kill_after_each_write(kind, killer, kernel, jvm, expected, most=most)
    print(f"{kind}: {kills} kills")
    assert kills > 0


# Those whose calls of the ports differ. Each kind is killed at each of its steps above, and anywhere in the simulator.
_WRITES_DIFFER = ("create", "swap", "append", "ingest", "widen", "rebuild", "lay", "delta", "take")


@pytest.mark.slow
@pytest.mark.parametrize("kind", _WRITES_DIFFER)
def test_commit_killed_after_each_write(
    kind: str, killer: Killer, kernel: Kernel, jvm: Jvm, expected: Expectations
) -> None:
    kills = kill_after_each_write(kind, killer, kernel, jvm, expected, own_jvm=True)
    print(f"{kind}: {kills} kills")
    assert kills >= len(COMMITS[kind].steps)


def kill_after_each_write(
    kind: str,
    killer: Killer,
    kernel: Kernel,
    jvm: Jvm,
    expected: Expectations,
    *,
    own_jvm: bool = False,
    most: int | None = None,
) -> int:
    """Kill after the first write to metastore or file system, the second and so on; returns how many.

    Args:
        most: so many, if there are more.
    """
    for write in itertools.count(1):
        if most is not None and write > most:
            return most
        name = TableName("default", f"killed_{kind.replace('-', '_')}_{most or 'at_any'}_{write}")
        EVERY[kind].prepare(kernel, name)
        if not killer.run(kind, name, write=write, own_jvm=own_jvm):
            return write - 1
        check_recovery(kernel, name, expected[kind], claimed=None)
    raise AssertionError("a commit cannot have endless writes")
