"""The small files that lakemerge writes and reads: each is there as a whole, or as it was before."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from bounded import MOST_SECONDS
from kernel.faults import HookedFileSystem
from kernel.support import create, merge
from lakemerge.errors import StorageError
from lakemerge.kernel import FileSystem, Jvm, Kernel, TableName
from lakemerge.kernel.jvm import HadoopFileSystem
from lakemerge.kernel.maintenance.vacuum import vacuum

_TESTS = Path(__file__).parents[1]
_TEXT = "all of it " * 1000


@pytest.fixture
def files(jvm: Jvm) -> FileSystem:
    return HadoopFileSystem(jvm)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.slow
def test_a_process_killed_at_any_call_of_java_leaves_no_file_half_written(jvm: Jvm, tmp_path: Path) -> None:
    for number in range(1, 100):
        (tmp_path / f"known-{number}").write_text("as before")
    parameters = jvm.gateway.gateway_parameters
    job = {
        "gateway": [parameters.port, parameters.auth_token],
        "conf": {},
        "folder": str(tmp_path),
        "text": _TEXT,
    }
    done = subprocess.run(
        [sys.executable, "-m", "kernel.whole_files_worker", json.dumps(job)],
        env={**os.environ, "PYTHONPATH": str(_TESTS)},
        capture_output=True,
        text=True,
        timeout=MOST_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    kills = int(done.stdout)
    assert 10 < kills < 99
    found = {name: Path(tmp_path, name).read_text() for name in names(tmp_path) if name[0] != "."}
    assert {text for name, text in found.items() if name.startswith("known")} == {"as before", _TEXT}
    assert {text for name, text in found.items() if name.startswith("fresh")} == {_TEXT}
    assert found[f"fresh-{kills + 1}"] == found[f"known-{kills + 1}"] == _TEXT


def test_a_file_is_replaced_and_nothing_else_is_left(files: FileSystem, tmp_path: Path) -> None:
    path = f"file:{tmp_path}/below/pin.json"
    for text in ("first", "", _TEXT):
        files.write_text(path, text)
        assert files.read_text(path) == text
    assert names(tmp_path / "below") == ["pin.json"]


def test_a_file_of_another_program_is_replaced_together_with_its_checksum(
    files: FileSystem, jvm: Jvm, tmp_path: Path
) -> None:
    path = jvm.java.org.apache.hadoop.fs.Path(f"file:{tmp_path}/pin.json")
    stream = path.getFileSystem(jvm.hadoop_conf).create(path, True)
    stream.write(b"as Hadoop writes it")
    stream.close()
    assert names(tmp_path) == [".pin.json.crc", "pin.json"]
    files.write_text(f"file:{tmp_path}/pin.json", "new")
    assert files.read_text(f"file:{tmp_path}/pin.json") == "new"
    assert names(tmp_path) == ["pin.json"]


def test_a_write_that_fails_leaves_nothing(files: FileSystem, tmp_path: Path) -> None:
    (tmp_path / "taken" / "by a folder").mkdir(parents=True)
    with pytest.raises(StorageError, match="taken"):
        files.write_text(f"file:{tmp_path}/taken", "text")
    assert names(tmp_path) == ["taken"]
    assert names(tmp_path / "taken") == ["by a folder"]


def test_whoever_reads_while_a_file_is_rewritten_sees_one_text_or_the_other(jvm: Jvm, tmp_path: Path) -> None:
    path, over = f"file:{tmp_path}/beat", threading.Event()
    texts = {"short", _TEXT}
    HadoopFileSystem(jvm).write_text(path, "short")

    def rewrite() -> None:
        files = HadoopFileSystem(jvm)
        while not over.is_set():
            for text in texts:
                files.write_text(path, text)

    thread = threading.Thread(target=rewrite)
    thread.start()
    try:
        files = HadoopFileSystem(jvm)
        assert {files.read_text(path) for _ in range(300)} <= texts
    finally:
        over.set()
        thread.join()


def test_a_file_system_without_an_overwriting_rename_never_lacks_a_file_that_was_there(
    jvm: Jvm, tmp_path: Path
) -> None:
    jvm.hadoop_conf.set("fs.viewfs.mounttable.whole.link./here", f"file:{tmp_path}")
    calls: list[str] = []
    files = HookedFileSystem(jvm, after=calls.append)
    for text in ("first", _TEXT):
        files.write_text("viewfs://whole/here/a.json", text)
        assert files.read_text("viewfs://whole/here/a.json") == text
    assert calls == ["write", "rename", "read", "write", "read"], (
        "renamed where it was new, else written over"
    )
    assert [name for name in names(tmp_path) if not name.endswith(".crc")] == ["a.json"]


@pytest.mark.usefixtures("local_files")
def test_what_a_killed_write_has_left_is_vacuumed(kernel: Kernel, name: TableName) -> None:
    create(kernel, name, {"p=1": ["a"]})
    merge(kernel, name, {"p=1": ["b"]})
    state = kernel.open(name)
    layout = state.layout
    left = [
        f"{folder}/.x.{number}" for number, folder in enumerate((layout.commits, layout.open, layout.pins))
    ]
    left.append(f"{layout.control}/.dropping.0")
    for path in left:
        kernel.files.write_text(path, "part of ")
    vacuum(kernel, name, dry_run=False)
    assert all(kernel.files.exists(path) for path in left), "one may be renamed in this moment"
    for path in left:
        os.utime(path.removeprefix("file:"), (1, 1))
    vacuum(kernel, name, dry_run=False)
    assert not any(kernel.files.exists(path) for path in left)


@pytest.mark.skipif(not Path("/proc/version").exists(), reason="needs Linux's /proc, which nobody may change")
def test_what_the_system_refuses_without_an_error_is_one(jvm: Jvm) -> None:
    files = HadoopFileSystem(jvm)
    with pytest.raises(StorageError, match="make file:/proc/lakemerge; found NoSuchFileException"):
        files.make_directory("file:/proc/lakemerge")
    with pytest.raises(StorageError, match="delete file:/proc/version"):
        files.delete("file:/proc/version")
    assert not files.delete_if_empty("file:/proc/version")
