"""The NameNode dies and comes back while commits are made: `make test-cluster`."""

from __future__ import annotations

import threading
import time

import pytest

from bounded import MOST_SECONDS
from engines.hdfs import Hdfs
from kernel.support import assert_nothing_orphaned, assert_whole, create, merge, rows_of, settled
from lakemerge.errors import StorageError
from lakemerge.kernel import Kernel, TableName

_COMMITS_BEFORE, _COMMITS_AFTER = 2, 3


def test_commits_ride_out_its_restart(storage: object, kernel: Kernel, name: TableName) -> None:
    if not isinstance(storage, Hdfs):
        pytest.skip("runs with --files hdfs")
    create(kernel, name, {"p=0": ["first"], "p=1": ["first"]})
    done: list[int] = []
    failed: list[StorageError] = []
    restarted = threading.Event()
    ends_at: list[int] = []

    def write() -> None:
        while not ends_at or len(done) < ends_at[0]:
            try:
                merge(kernel, name, {f"p={len(done) % 2}": [f"commit {len(done)}"]})
            except (
                StorageError
            ) as error:  # of a write whose connection was lost: it is not known whether it was made
                failed.append(error)
                continue
            done.append(len(done))
            if restarted.is_set() and not ends_at:
                ends_at.append(len(done) + _COMMITS_AFTER)

    writer = threading.Thread(target=write)
    writer.start()
    deadline = time.monotonic() + MOST_SECONDS
    while len(done) < _COMMITS_BEFORE:
        assert writer.is_alive()
        assert time.monotonic() < deadline
        time.sleep(0.1)
    storage.kill_namenode()
    time.sleep(2)  # for so long it is away
    storage.start_namenode()
    restarted.set()
    writer.join(240)
    assert not writer.is_alive()
    print(f"{len(done)} commits, {len(failed)} calls that failed")
    last = {f"p={number % 2}": [f"commit {number}"] for number in done[-2:]}
    assert rows_of(kernel, name) == last
    assert settled(kernel, name).version >= 1 + len(done)
    assert_whole(kernel, name)
    kernel.recover(name)
    assert_nothing_orphaned(kernel, name)
