"""Who is told when other processes may take a transaction for dead."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from lakemerge.errors import StorageError
from lakemerge.kernel import HiveColumn, Kernel, TableDefinition, TableName
from lakemerge.testing import World

NAME = TableName("shop", "orders")


@pytest.fixture
def beat(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> Callable[[], bool]:
    """Writes the heartbeats once, as the thread does every ten seconds."""
    actions: list[Callable[[], bool]] = []
    monkeypatch.setattr(kernel.clock, "repeat", lambda seconds, action, name: actions.append(action))
    definition = TableDefinition(NAME, (HiveColumn("id", "bigint"),))
    with kernel.create(definition) as transaction:
        transaction.add_staged()
        transaction.commit()
    actions[-1]()  # there is none to keep alive, so the thread ends
    return lambda: actions[-1]()


def watched(kernel: Kernel, told: list[str]) -> Any:
    transaction = kernel.begin(NAME, "transaction")
    transaction.watch_lease(told.append)
    assert transaction.stage_directory
    return transaction


def test_nobody_is_told_while_it_is_alive(world: World, kernel: Kernel, beat: Callable[[], bool]) -> None:
    told: list[str] = []
    transaction = watched(kernel, told)
    for _ in range(20):
        world.timeline.pass_by(10)
        assert beat()
    assert transaction.lease_loss() is None
    transaction.abort()
    assert not beat()
    assert told == []


def test_a_pause_for_longer_than_the_lease_is_told_once(
    world: World, kernel: Kernel, beat: Callable[[], bool]
) -> None:
    told: list[str] = []
    transaction = watched(kernel, told)
    world.timeline.pass_by(31)
    assert transaction.lease_loss() == "no sign of life for 31 seconds", "known before the next heartbeat"
    beat()
    assert told == ["no sign of life for 31 seconds"]
    assert not beat(), "it is not kept alive any more"
    assert told == ["no sign of life for 31 seconds"]
    assert transaction.lease_loss()


def test_storage_that_fails_for_longer_than_the_lease_is_told(
    world: World, kernel: Kernel, beat: Callable[[], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    watched(kernel, told)

    def fail(path: str, text: str) -> None:
        raise StorageError(expected="a", found="b", action="c")

    monkeypatch.setattr(kernel.files, "write_text", fail)
    for _ in range(3):
        world.timeline.pass_by(10)
        beat()
    assert told == []
    world.timeline.pass_by(10)
    beat()
    assert told == ["no sign of life for 40 seconds"]


def test_one_that_another_process_has_forgotten_is_told(
    world: World, kernel: Kernel, beat: Callable[[], bool]
) -> None:
    told: list[str] = []
    transaction = watched(kernel, told)
    world.files.delete(transaction.layout.heartbeat_of(transaction.txn))
    world.timeline.pass_by(10)
    beat()
    assert told == ["that another process has taken the transaction for dead"]


def test_a_listener_that_fails_does_not_end_other_heartbeats(
    world: World, kernel: Kernel, beat: Callable[[], bool]
) -> None:
    def fail(reason: str) -> None:
        raise RuntimeError("the program's own")

    lost, alive = kernel.begin(NAME, "transaction"), watched(kernel, [])
    lost.watch_lease(fail)
    assert lost.stage_directory
    world.files.delete(lost.layout.heartbeat_of(lost.txn))
    world.timeline.pass_by(10)
    assert beat()
    assert alive.lease_loss() is None


def test_the_end_waits_for_a_heartbeat_that_is_being_written(
    world: World, kernel: Kernel, beat: Callable[[], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    transaction = kernel.begin(NAME, "transaction")
    assert transaction.stage_directory
    written, begun, may_go_on = kernel.files.write_text, threading.Event(), threading.Event()

    def write_slowly(path: str, text: str) -> None:
        begun.set()
        assert may_go_on.wait(10)
        written(path, text)

    monkeypatch.setattr(kernel.files, "write_text", write_slowly)
    monkeypatch.setattr(kernel.clock, "sleep", time.sleep)
    thread = threading.Thread(target=beat)
    thread.start()
    assert begun.wait(10)
    threading.Timer(0.2, may_go_on.set).start()
    transaction.abort()
    assert may_go_on.is_set(), "this process may end now, and the file would come afterwards"
    thread.join(10)
    assert world.files.list(transaction.layout.open) == []


def test_a_heartbeat_that_ends_while_it_is_written_leaves_no_file(
    world: World, kernel: Kernel, beat: Callable[[], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever ends it waits no longer than a lease for it to be written."""
    transaction = kernel.begin(NAME, "transaction")
    assert transaction.stage_directory
    written = kernel.files.write_text

    def write_after_the_end(path: str, text: str) -> None:
        monkeypatch.setattr(kernel.files, "write_text", written)
        transaction.abort()
        written(path, text)

    monkeypatch.setattr(kernel.files, "write_text", write_after_the_end)
    beat()
    assert world.files.list(transaction.layout.open) == []


def test_one_that_nobody_watches_goes_on_after_a_pause(
    world: World, kernel: Kernel, beat: Callable[[], bool]
) -> None:
    transaction = kernel.begin(NAME, "transaction")
    assert transaction.stage_directory
    world.timeline.pass_by(31)
    world.files.delete(transaction.layout.heartbeat_of(transaction.txn))
    assert beat()
    assert world.files.exists(transaction.layout.heartbeat_of(transaction.txn))
    assert beat()


@pytest.mark.parametrize("before", [True, False], ids=["before its file is read", "after it"])
def test_one_that_ends_while_it_is_looked_at_is_not_written_again_nor_told(
    world: World, kernel: Kernel, beat: Callable[[], bool], monkeypatch: pytest.MonkeyPatch, before: bool
) -> None:
    told: list[str] = []
    transaction = watched(kernel, told)
    read = kernel.files.read_text

    def end(path: str) -> str:
        monkeypatch.setattr(kernel.files, "read_text", read)
        text = read(path)
        transaction.abort()
        return read(path) if before else text

    monkeypatch.setattr(kernel.files, "read_text", end)
    beat()
    assert world.files.list(transaction.layout.open) == []
    assert told == []


def test_one_thread_writes_all_heartbeats(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    monkeypatch.setattr(kernel.clock, "repeat", lambda seconds, action, name: begun.append(name))
    definition = TableDefinition(NAME, (HiveColumn("id", "bigint"),))
    for _ in range(2):
        assert kernel.create(definition).stage_directory
    assert begun == ["lakemerge-heartbeat"]


def test_who_cannot_write_a_heartbeat_begins_nothing(
    kernel: Kernel, beat: Callable[[], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: str, text: str) -> None:
        raise StorageError(expected="a", found="no space left", action="c")

    transaction = kernel.begin(NAME, "transaction")
    monkeypatch.setattr(kernel.files, "write_text", fail)
    with pytest.raises(StorageError, match="no space left"):
        assert transaction.stage_directory


def test_who_was_taken_for_dead_does_not_begin_again(world: World, kernel: Kernel) -> None:
    """Others have removed its files, and may delete what it has made."""
    transaction = kernel.create(TableDefinition(NAME, (HiveColumn("id", "bigint"),)))
    assert transaction.stage_directory
    files = [
        transaction.layout.creation_of(transaction.txn),
        transaction.layout.heartbeat_of(transaction.txn),
    ]
    for path in files:
        world.files.delete(path)
    assert transaction.stage_directory
    assert transaction.sidecar_directory("ledger")
    assert not any(map(world.files.exists, files))
