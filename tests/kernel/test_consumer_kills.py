"""Runs of a consumer in processes of their own, killed after a write."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from kernel.consuming import counted, drain, replayed, states, texts
from kernel.servers import MetastoreServer
from kernel.support import append, assert_whole, create_appendable
from lakemerge.consumer import Options, WorkingSet
from lakemerge.consumer.working_set import PROCESSED
from lakemerge.kernel import Jvm, Kernel, TableName

_TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def gateway(jvm: Jvm) -> list[object]:
    parameters = jvm.gateway.gateway_parameters
    return [parameters.port, parameters.auth_token]


def run_process(
    server: MetastoreServer,
    gateway: list[object],
    source: TableName,
    output: TableName,
    write: int | None,
    changes: bool,
) -> bool:
    """A run in a process of its own that is killed after its n-th write; whether it was."""
    job = {
        "conf": server.client_conf,
        "gateway": gateway,
        "source": source.name,
        "output": output.name,
        "limit": 2,
        "changes": changes,
        "write": write,
    }
    done = subprocess.run(
        [sys.executable, "-m", "kernel.consuming_worker", json.dumps(job)],
        env={**os.environ, "PYTHONPATH": str(_TESTS)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode != 0


def kill_at(
    writes: list[int],
    server: MetastoreServer,
    gateway: list[object],
    kernel: Kernel,
    source: TableName,
    output: TableName,
    changes: bool,
) -> int:
    """Kill a run after each of these writes, on one pair of tables; how many were killed before their end."""

    def rows() -> Counter[str]:
        return replayed(kernel, output) if changes else counted(texts(kernel, output))

    create_appendable(kernel, source, {"p=1": ["first"]})
    expected = Counter(["first"])
    kills = 0
    for write in writes:
        texts_of_run = [f"{write} {number}" for number in range(3)]
        append(kernel, source, {f"p={number}": [text] for number, text in enumerate(texts_of_run)})
        expected.update(texts_of_run)
        kills += run_process(server, gateway, source, output, write, changes)
        found = rows() if kernel.exists(output) else Counter()
        assert all(count == 1 for count in found.values())
    drain(kernel, source, output, Options(changes=changes))
    assert rows() == expected
    assert set(states(kernel, source, output, Options(changes=changes)).values()) == {PROCESSED}
    kernel.recover(output)
    kernel.recover(WorkingSet(kernel, output).name)
    assert_whole(kernel, output)
    assert_whole(kernel, WorkingSet(kernel, output).name)
    return kills


@pytest.mark.slow
@pytest.mark.parametrize("changes", [False, True])
def test_killed_at_telling_writes(
    changes: bool,
    server: MetastoreServer,
    gateway: list[object],
    kernel: Kernel,
    source: TableName,
    output: TableName,
) -> None:
    assert kill_at([2, 15, 22], server, gateway, kernel, source, output, changes) == 3


@pytest.mark.slow
@pytest.mark.parametrize("changes", [False, True])
def test_killed_after_each_write(
    changes: bool,
    server: MetastoreServer,
    gateway: list[object],
    kernel: Kernel,
    source: TableName,
    output: TableName,
) -> None:
    kills = kill_at(list(range(1, 60)), server, gateway, kernel, source, output, changes)
    print(f"{kills} kills")
    assert kills > 20
