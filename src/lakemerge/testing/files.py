"""A file system in memory."""

from __future__ import annotations

import builtins
import fnmatch
from dataclasses import dataclass

from lakemerge.errors import StorageError
from lakemerge.kernel import normal
from lakemerge.kernel.ports import FileEntry, FileSystem
from lakemerge.testing.system import Timeline


@dataclass
class _File:
    content: bytes
    modified: int


class MemoryFiles(FileSystem):
    """Files below ``memory:/``; paths without a scheme are there too. Folders exist as on a disk: until deleted."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._folders: dict[str, dict[str, _File | None]] = {"memory:": {}}  # a folder in a folder is None

    # -- reading -------------------------------------------------------------------------------

    def qualify(self, path: str) -> str:
        return normal(f"memory:{path}" if path.startswith("/") else path)

    def exists(self, path: str) -> bool:
        path = self.qualify(path)
        return path in self._folders or self._file(path) is not None

    def list(self, path: str) -> list[FileEntry]:
        path = self.qualify(path)
        if (file := self._file(path)) is not None:
            return [self._entry(path, file)]
        return [
            self._entry(f"{path}/{name}", file) for name, file in sorted(self._folders.get(path, {}).items())
        ]

    def glob(self, pattern: str) -> builtins.list[FileEntry]:
        pattern = self.qualify(pattern)
        found = ["memory:"]
        for part in pattern.split("/")[1:]:
            found = [
                f"{folder}/{name}"
                for folder in found
                for name in sorted(self._folders.get(folder, {}))
                if fnmatch.fnmatchcase(name, part)
            ]
        return [self._entry(path, self._file(path)) for path in found]

    def read_text(self, path: str) -> str:
        return self._content(path).decode()

    def first_line(self, path: str, delimiter: bytes = b"\n") -> bytes:
        return self._content(path).partition(delimiter)[0]

    def last_bytes(self, path: str, size: int, count: int) -> bytes:
        return self._content(path)[max(0, size - count) : size]

    def is_compressed(self, path: str) -> bool:
        return path.endswith((".gz", ".bz2", ".zst", ".snappy", ".lz4", ".deflate"))

    # -- writing -------------------------------------------------------------------------------

    def write_text(self, path: str, text: str) -> None:
        self._write(self.qualify(path), text.encode())

    def make_directory(self, path: str) -> None:
        self._make(self.qualify(path))

    def delete(self, path: str) -> None:
        path = self.qualify(path)
        folder, _, name = path.rpartition("/")
        self._folders.get(folder, {}).pop(name, None)
        self._forget(path)

    def _forget(self, path: str) -> None:
        for name, file in self._folders.pop(path, {}).items():
            if file is None:
                self._forget(f"{path}/{name}")

    def delete_if_empty(self, path: str) -> bool:
        if self._folders.get(self.qualify(path)):
            return False
        self.delete(path)
        return True

    def copy(self, source: str, target: str) -> None:
        self._write(self.qualify(target), self._content(source))

    def move(self, source: str, target: str) -> None:
        source, target = self.qualify(source), self.qualify(target)
        folder, _, name = target.rpartition("/")
        file = self._file(source)
        if file is None or folder not in self._folders:
            raise StorageError(
                expected=f"to rename {source} to {target}",
                found="no such folder" if file else "no such file",
                action="Check the paths.",
            )
        home, _, former = source.rpartition("/")
        del self._folders[home][former]
        self._folders[folder][name] = file

    # -- the tree ------------------------------------------------------------------------------

    def _file(self, path: str) -> _File | None:
        folder, _, name = path.rpartition("/")
        return self._folders.get(folder, {}).get(name)

    def _content(self, path: str) -> bytes:
        file = self._file(self.qualify(path))
        if file is None:
            raise FileNotFoundError(path)
        return file.content

    def _write(self, path: str, content: bytes) -> None:
        if path in self._folders:
            raise StorageError(
                expected=f"to write {path}", found="a folder of that name", action="Name another file."
            )
        folder, _, name = path.rpartition("/")
        self._make(folder)
        self._folders[folder][name] = _File(content, self._timeline.milliseconds)

    def _make(self, path: str) -> None:
        if path in self._folders:
            return
        parent, _, name = path.rpartition("/")
        if self._file(path) is not None or not parent:
            raise StorageError(
                expected=f"to make the folder {path}",
                found="a file of that name" if parent else "no memory: path",
                action="Name another folder.",
            )
        self._make(parent)
        self._folders[parent][name] = None
        self._folders[path] = {}

    def _entry(self, path: str, file: _File | None) -> FileEntry:
        name = path.rpartition("/")[2]
        if file is None:
            return FileEntry(path, name, 0, 0, is_directory=True)
        return FileEntry(path, name, len(file.content), file.modified, is_directory=False)
