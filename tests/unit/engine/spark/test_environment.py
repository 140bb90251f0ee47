from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from dbt.adapters.lakemerge.credentials import LakemergeCredentials

from bounded import killed_after
from lakemerge.engine.spark import environment
from lakemerge.engine.spark.configuration import Configuration
from lakemerge.errors import (
    JavaNotFound,
    MetastoreError,
    MetastoreLocked,
    MetastoreUnreachable,
    WarehouseUnwritable,
)

HOLD = """
import fcntl, sys
file = open(sys.argv[1], "r+b")
fcntl.lockf(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def derby(tmp_path: Path) -> Path:
    folder = tmp_path / "_metastore_db"
    folder.mkdir()
    (folder / "dbex.lck").write_bytes(b"x")
    (folder / "service.properties").touch()
    return folder


@pytest.fixture
def holder(derby: Path) -> Iterator[None]:
    """Another process that holds Derby's lock as Java does."""
    command = [sys.executable, "-c", HOLD, str(derby / "dbex.lck")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        with killed_after(process, 60):
            assert process.stdout.readline() == b"held\n"
        yield
        process.communicate(timeout=60)


@pytest.fixture
def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@pytest.mark.usefixtures("holder")
def test_a_taken_metastore_is_told_at_once(derby: Path) -> None:
    with pytest.raises(MetastoreLocked, match="one process at a time") as error:
        environment.check_unlocked(derby)
    assert str(derby) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_lock_file_that_a_dead_process_left_is_no_lock(derby: Path) -> None:
    environment.check_unlocked(derby)


def test_a_metastore_that_is_not_there_yet_is_free(tmp_path: Path) -> None:
    environment.check_unlocked(tmp_path / "nothing")


def test_a_metastore_whose_making_was_cut_off_is_reported(tmp_path: Path) -> None:
    environment.check_whole(tmp_path / "nothing")
    with pytest.raises(MetastoreError, match="remove the folder") as error:
        environment.check_whole(tmp_path)
    assert str(tmp_path) in str(error.value)


def test_folders_that_are_made_meanwhile_and_left_empty_are_removed(tmp_path: Path) -> None:
    empty, used, old = tmp_path / "a" / "empty", tmp_path / "b" / "used", tmp_path / "old"
    old.mkdir()
    with environment.removing_new_folders(empty, used, old, None):
        empty.mkdir(parents=True)
        used.mkdir(parents=True)
        (used / "file").touch()
    assert not (tmp_path / "a").exists()
    assert (used / "file").exists()
    assert old.is_dir()


def test_an_unreachable_metastore_is_told_at_once(free_port: int) -> None:
    with pytest.raises(MetastoreUnreachable, match=f"127.0.0.1:{free_port}") as error:
        environment.check_reachable(f"thrift://127.0.0.1:{free_port}")
    assert "\n" not in str(error.value)


def test_one_address_that_answers_is_enough(free_port: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        answering = server.getsockname()[1]
        environment.check_reachable(f"thrift://127.0.0.1:{free_port},thrift://127.0.0.1:{answering}")


def test_a_warehouse_is_made(tmp_path: Path) -> None:
    environment.check_writable(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
    assert not list((tmp_path / "a" / "b").iterdir())


def test_a_file_is_no_warehouse(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(WarehouseUnwritable, match="which is no folder"):
        environment.check_writable(tmp_path / "file" / "warehouse")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_of_others_is_no_warehouse(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(WarehouseUnwritable, match="no permission"):
        environment.check_writable(tmp_path / "warehouse")


def test_a_full_disk_keeps_nobody_from_freeing_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    environment.check_writable(tmp_path)


def test_permission_is_asked_before_anything_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(WarehouseUnwritable, match="no permission to write"):
        environment.check_writable(tmp_path / "a" / "warehouse")
    assert not (tmp_path / "a").exists()


def test_java_is_looked_for_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_java() -> Path:
        raise JavaNotFound(expected="Java", found="none", action="Install it.")

    monkeypatch.setattr(environment, "ensure_java", no_java)
    credentials = LakemergeCredentials(schema="s", metastore="embedded", warehouse=str(tmp_path / "w"))
    with pytest.raises(JavaNotFound):
        environment.check(Configuration.of(credentials))
    assert not (tmp_path / "w").exists()


@pytest.mark.usefixtures("holder")
def test_nothing_is_made_where_the_metastore_is_taken(derby: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "ensure_java", lambda: None)
    credentials = LakemergeCredentials(schema="s", metastore="embedded", warehouse=str(derby.parent))
    before = sorted(derby.parent.rglob("*"))
    with pytest.raises(MetastoreLocked):
        environment.check(Configuration.of(credentials))
    assert sorted(derby.parent.rglob("*")) == before
