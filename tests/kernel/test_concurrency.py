"""Writers of several processes on one table: every acknowledged commit counts once, and no row is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kernel.servers import MetastoreServer
from kernel.support import (
    assert_nothing_orphaned,
    assert_whole,
    create,
    create_appendable,
    picture,
    settled,
)
from lakemerge.kernel import Kernel, TableName

_TESTS = Path(__file__).parents[1]
_PROCESSES = 4
_FEW_PROCESSES = 2
_SECONDS = 900


def run_writers(
    server: MetastoreServer,
    name: TableName,
    mode: str,
    *,
    writers: int,
    commits: int,
    count: int,
    deaf: bool = False,
) -> list[dict[str, Any]]:
    """Run writers, shared out among some processes with a JVM each; what each of them did."""
    processes = []
    for number in range(count):
        job = {
            "conf": server.client_conf,
            "table": name.name,
            "writers": list(range(number, writers, count)),
            "commits": commits,
            "mode": mode,
            "deaf": deaf,
        }
        processes.append(
            subprocess.Popen(
                [sys.executable, "-m", "kernel.writer", json.dumps(job)],
                env={**os.environ, "PYTHONPATH": str(_TESTS)},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    try:
        outcomes = [process.communicate(timeout=_SECONDS) for process in processes]
    finally:
        for process in processes:
            process.kill()
    for process, (_, errors) in zip(processes, outcomes, strict=True):
        assert process.returncode == 0, errors
    return [writer for output, _ in outcomes for writer in json.loads(output)]


def check_writers(
    server: MetastoreServer,
    kernel: Kernel,
    name: TableName,
    mode: str,
    *,
    writers: int,
    commits: int,
    processes: int = _PROCESSES,
    deaf: bool = False,
) -> None:
    """Run writers and check that the table holds just what they were told that it holds."""
    if mode == "append":
        create_appendable(kernel, name, {"p=0": [""]})
    else:
        create(kernel, name, {"": [""]} if mode == "whole" else {"p=0": [""], "p=1": [""]})
    start = time.monotonic()
    done = run_writers(server, name, mode, writers=writers, commits=commits, count=processes, deaf=deaf)
    seconds = time.monotonic() - start
    acknowledged = [version for writer in done for version in writer["versions"]]
    conflicts = sum(writer["conflicts"] for writer in done)
    print(
        f"{mode}: {writers} writers in {processes} processes, {len(acknowledged)} commits, "
        f"{conflicts} conflicts, {seconds:.0f} s"
    )
    assert len(acknowledged) == writers * commits
    assert sorted(acknowledged) == list(range(2, 2 + len(acknowledged)))
    assert settled(kernel, name).version == 1 + len(acknowledged)
    expected: Counter[tuple[str, str]] = Counter(
        (partition, mark)
        for writer in done
        for mark, partitions in writer["acknowledged"].items()
        for partition in partitions
    )
    table = picture(kernel, name)
    assert table is not None
    found = Counter(
        (partition.partition("/")[0], mark)
        for partition, texts in table.rows.items()
        for text in texts
        for mark in text.splitlines()
    )
    assert found == expected
    if mode == "append":
        assert conflicts == 0, "appends have no partition in common"
    assert_whole(kernel, name)
    assert_nothing_orphaned(kernel, name)


@pytest.mark.parametrize(
    "mode",
    [
        pytest.param("disjoint", marks=pytest.mark.slow),
        "same",
        pytest.param("whole", marks=pytest.mark.slow),
        pytest.param("append", marks=pytest.mark.slow),
    ],
)
def test_few_writers(mode: str, server: MetastoreServer, kernel: Kernel, name: TableName) -> None:
    check_writers(server, kernel, name, mode, writers=4, commits=5, processes=_FEW_PROCESSES)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["disjoint", "same", "whole", "append"])
def test_many_writers(mode: str, server: MetastoreServer, kernel: Kernel, name: TableName) -> None:
    check_writers(server, kernel, name, mode, writers=8, commits=25)


@pytest.mark.slow
def test_few_writers_under_locks(server: MetastoreServer, kernel: Kernel, name: TableName) -> None:
    check_writers(server, kernel, name, "same", writers=4, commits=5, processes=_FEW_PROCESSES, deaf=True)


@pytest.mark.slow
def test_many_writers_under_locks(server: MetastoreServer, kernel: Kernel, name: TableName) -> None:
    check_writers(server, kernel, name, "same", writers=8, commits=10, deaf=True)
