"""Writers that hold a claim and do not go on: killed ones that nobody has reaped, stopped ones, hung ones."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kernel.commits import COMMITS
from kernel.servers import MetastoreServer
from kernel.support import NO_RETENTION, assert_whole, rows_of, settled
from lakemerge.kernel import Jvm, Kernel, TableName, vacuum

_TESTS = Path(__file__).parents[1]
Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def start(server: MetastoreServer, jvm: Jvm) -> Iterator[Start]:
    """Starts a process that dies at a step of a commit, or stops there, with a lease of so many seconds."""
    parameters = jvm.gateway.gateway_parameters
    processes: list[subprocess.Popen[bytes]] = []

    def run(name: TableName, stops: float | None, step: str = "claimed") -> subprocess.Popen[bytes]:
        job = {
            "conf": server.client_conf,
            "gateway": [parameters.port, parameters.auth_token],
            "table": name.name,
            "kind": "swap",
            "step": step,
            "write": None,
            "stops": stops,
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "kernel.worker", json.dumps(job)],
            env={**os.environ, "PYTHONPATH": str(_TESTS)},
            stderr=subprocess.DEVNULL,
        )
        processes.append(process)
        return process

    yield run
    for process in processes:
        process.kill()
        process.wait()


def wait_for(process: subprocess.Popen[bytes], state: str) -> None:
    """Wait until the system says that a process is in a state, and do not reap it."""
    deadline = time.monotonic() + 60
    while Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] != state:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_claim_of_a_killed_writer_that_nobody_has_reaped_is_finished_at_once(
    start: Start, kernel: Kernel, name: TableName
) -> None:
    COMMITS["swap"].prepare(kernel, name)
    before = settled(kernel, name).version
    wait_for(start(name, None), "Z")
    began = time.monotonic()
    kernel.open(name)
    assert time.monotonic() - began < kernel.settings.claim_timeout / 2
    assert settled(kernel, name).version == before + 1
    assert_whole(kernel, name)


def test_the_claim_of_a_stopped_writer_is_finished_after_its_lease_and_the_writer_finds_it_done(
    start: Start, kernel: Kernel, name: TableName
) -> None:
    COMMITS["swap"].prepare(kernel, name)
    before = settled(kernel, name).version
    process = start(name, 1.0)
    wait_for(process, "T")
    kernel.open(name)
    assert settled(kernel, name).version == before + 1
    assert_whole(kernel, name)
    rows = rows_of(kernel, name)
    process.send_signal(signal.SIGCONT)
    assert process.wait(60) == 0
    assert settled(kernel, name).version == before + 1
    assert rows_of(kernel, name) == rows
    assert_whole(kernel, name)


def test_what_a_writer_has_staged_is_kept_for_the_retention_time(
    start: Start, kernel: Kernel, name: TableName
) -> None:
    """Directories have no times on an object store: how old something is, its files tell."""
    COMMITS["swap"].prepare(kernel, name)
    layout = kernel.open(name).layout
    before = {entry.name for entry in kernel.files.list(layout.data)}
    wait_for(start(name, None, "manifest written"), "Z")
    staged = {entry.name for entry in kernel.files.list(layout.data)} - before
    assert len(staged) == 1
    vacuum(kernel, name, dry_run=False)
    assert staged <= {entry.name for entry in kernel.files.list(layout.data)}
    vacuum(kernel, name, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)
    assert not staged & {entry.name for entry in kernel.files.list(layout.data)}
    kernel.recover(name)  # which forgets it
    assert_whole(kernel, name)
