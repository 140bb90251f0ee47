"""Files that are there and cannot be opened: for want of handles, or because they are no files."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lakemerge.errors import StorageError
from lakemerge.kernel import Jvm, ports_of
from lakemerge.kernel.ports.filesystem import FileSystem

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="a running process's limits are set by prlimit"
)

#: Each opens a file in a folder, or the folder.
CALLS: dict[str, Callable[[FileSystem, str], object]] = {
    "read": lambda files, folder: files.read_text(f"{folder}/there"),
    "first line": lambda files, folder: files.first_line(f"{folder}/there"),
    "last bytes": lambda files, folder: files.last_bytes(f"{folder}/there", 4, 1),
    "write": lambda files, folder: files.write_text(f"{folder}/new", "x"),
    "replace": lambda files, folder: files.write_text(f"{folder}/there", "x"),
    "copy": lambda files, folder: files.copy(f"{folder}/there", f"{folder}/copy"),
    "list": lambda files, folder: files.list(folder),
    "list together": lambda files, folder: files.list_all([folder, f"{folder}/below"]),
    "look for": lambda files, folder: files.glob(f"{folder}/*"),
}


@contextmanager
def without_handles(pid: int) -> Iterator[None]:
    """Let a process open no further file meanwhile."""
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (1, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize("call", CALLS)
def test_a_file_that_java_has_no_handle_for_is_not_taken_for_gone(
    jvm: Jvm, tmp_path: Path, call: str
) -> None:
    """Who takes a heartbeat or a manifest for gone takes its writer for dead, or its version for vacuumed."""
    files, folder = ports_of(jvm).files, f"file:{tmp_path}"
    files.write_text(f"{folder}/there", "text")
    files.write_text(f"{folder}/below/there", "text")
    CALLS[call](files, folder)  # loads the classes that it takes
    with without_handles(jvm.java.java.lang.ProcessHandle.current().pid()), pytest.raises(StorageError):
        CALLS[call](files, folder)
    CALLS[call](files, folder)


def test_a_folder_in_the_place_of_a_file_is_not_taken_for_gone(jvm: Jvm, tmp_path: Path) -> None:
    files = ports_of(jvm).files
    with pytest.raises(StorageError):
        files.read_text(f"file:{tmp_path}")


def test_a_name_that_is_too_long_is_no_missing_file(jvm: Jvm, tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        ports_of(jvm).files.write_text(f"file:{tmp_path}/{'x' * 250}", "x")
