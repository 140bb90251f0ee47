"""The port to files: what the kernel asks of a file system, in Python's own values."""

from __future__ import annotations

import builtins
import contextlib
import hashlib
import itertools
import logging
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lakemerge.errors import StorageError, StorageUnreachable


@dataclass(frozen=True)
class FileEntry:
    """A file or directory: URI, name, size in bytes, time of change in milliseconds."""

    path: str
    name: str
    size: int
    modified: int
    is_directory: bool


@dataclass(frozen=True)
class Fingerprint:
    """What a directory holds, in short: two that are equal hold the same files.

    Attributes:
        files: number of data files (names that begin with ``_`` or ``.`` are no data, as in Hive).
        bytes: their size together.
        digest: hash of their names, sizes and times.
    """

    files: int
    bytes: int
    digest: str


# At most this many sets of files are tried to find out which of a directory's files are new.
_MOST_CHOICES = 10_000


class FileSystem(ABC):
    """File systems, found by each path's own scheme; safe for threads.

    A call that fails raises ``StorageError``; of a file that is not there, :meth:`read_text`, :meth:`first_line`,
    :meth:`last_bytes` and :meth:`copy` raise ``FileNotFoundError``.
    """

    # -- reading -------------------------------------------------------------------------------

    @abstractmethod
    def qualify(self, path: str) -> str:
        """The path as a full URI: ``/a`` becomes ``file:/a``."""

    @abstractmethod
    def exists(self, path: str) -> bool: ...

    @abstractmethod
    def list(self, path: str) -> list[FileEntry]:
        """What a directory holds, not recursive; empty where there is no directory."""

    @abstractmethod
    def glob(self, pattern: str) -> builtins.list[FileEntry]:
        """What a pattern of Hadoop's (``/landing/*/{a,b}-*.csv``) or a plain path matches; empty for nothing."""

    @abstractmethod
    def read_text(self, path: str) -> str:
        """A whole UTF-8 file. Raises FileNotFoundError where there is none."""

    @abstractmethod
    def first_line(self, path: str, delimiter: bytes = b"\n") -> bytes:
        """The bytes before the first delimiter of a file, decompressed by the codec of its name."""

    @abstractmethod
    def last_bytes(self, path: str, size: int, count: int) -> bytes:
        """The last ``count`` bytes of a file of ``size`` bytes."""

    @abstractmethod
    def is_compressed(self, path: str) -> bool:
        """Whether the file is read through a codec, by its name."""

    def walk(self, path: str) -> Iterator[FileEntry]:
        """All files below a directory."""
        for entry in self.list(path):
            if entry.is_directory:
                yield from self.walk(entry.path)
            else:
                yield entry

    def list_all(self, paths: Sequence[str]) -> builtins.list[builtins.list[FileEntry]]:
        """What each of many directories holds, as :meth:`list` returns it; systems that can list many together."""
        return [self.list(path) for path in paths]

    def fingerprint(self, path: str) -> Fingerprint:
        """What a directory holds, its folders included, as readers see it: Spark and Hive skip hidden names."""
        return self.snapshot(path)[0]

    def snapshot(self, path: str) -> tuple[Fingerprint, builtins.list[FileEntry]]:
        """A directory's fingerprint and the files that it describes."""
        return self.snapshots([path])[0]

    def added_since(self, path: str, before: Fingerprint) -> builtins.list[FileEntry] | None:
        """The files that were added to a directory since it had this fingerprint.

        Returns:
            None where that is not all that happened to the directory: files are gone, or were replaced.
        """
        pairs = sorted(self._visible([path])[0], key=lambda pair: pair[0])
        more = len(pairs) - before.files
        if more < 0:
            return None
        size = sum(entry.size for _, entry in pairs) - before.bytes
        # most likely the newest; a file that was renamed into the directory may be older than it looks
        newest = sorted(range(len(pairs)), key=lambda index: -pairs[index][1].modified)
        for chosen in itertools.islice(itertools.combinations(newest, more), _MOST_CHOICES):
            added = set(chosen)
            if sum(pairs[index][1].size for index in added) == size:
                rest = [pair for index, pair in enumerate(pairs) if index not in added]
                if _snapshot_of(rest)[0] == before:
                    return [pairs[index][1] for index in sorted(added)]
        return None

    def fingerprints(self, paths: Sequence[str]) -> builtins.list[Fingerprint]:
        """As :meth:`fingerprint` of each directory, with one listing of each and of each folder in it."""
        return [mark for mark, _ in self.snapshots(paths)]

    def snapshots(self, paths: Sequence[str]) -> builtins.list[tuple[Fingerprint, builtins.list[FileEntry]]]:
        """As :meth:`snapshot` of each directory. Directories of the same depth are listed together."""
        return [_snapshot_of(pairs) for pairs in self._visible(paths)]

    def _visible(self, paths: Sequence[str]) -> builtins.list[builtins.list[tuple[str, FileEntry]]]:
        """The files below each directory that readers see, with their paths relative to it."""
        found: list[builtins.list[tuple[str, FileEntry]]] = [[] for _ in paths]
        level = [(number, path, "") for number, path in enumerate(paths)]
        while level:
            listings = self.list_all([path for _, path, _ in level])
            visible = [
                (number, prefix, entry)
                for (number, _, prefix), entries in zip(level, listings, strict=True)
                for entry in entries
                if entry.name[:1] not in "_."
            ]
            for number, prefix, entry in visible:
                if not entry.is_directory:
                    found[number].append((f"{prefix}{entry.name}", entry))
            level = [
                (number, entry.path, f"{prefix}{entry.name}/")
                for number, prefix, entry in visible
                if entry.is_directory
            ]
        return found

    def now(self, folder: str) -> int:
        """This moment by a folder's file system, in milliseconds since 1970: the time of a file that is written now."""
        probe = f"{folder}/.now-{self._token()}"
        self.write_text(probe, "")
        try:
            for entry in self.list(folder):
                if probe.endswith(f"/{entry.name}"):
                    return entry.modified
        finally:
            with contextlib.suppress(StorageError):  # a probe left behind is hidden and harmless
                self.delete(probe)
        return self.now(folder)  # a cleanup took the probe for one that was left behind

    def _token(self) -> str:
        """A part of a file's name that no other file has."""
        return uuid.uuid4().hex

    # -- writing -------------------------------------------------------------------------------

    @abstractmethod
    def write_text(self, path: str, text: str) -> None:
        """Write a whole UTF-8 file, replacing one of that name.

        Whatever happens to this process, a new file is there as a whole or not at all, and one that was there is
        replaced in one step where the file system can do that; see ``docs/table-format.md``.
        """

    @abstractmethod
    def make_directory(self, path: str) -> None: ...

    @abstractmethod
    def delete(self, path: str) -> None:
        """Remove a file, or a directory with all that is in it; no error where there is none."""

    @abstractmethod
    def delete_if_empty(self, path: str) -> bool:
        """Remove a directory that holds nothing, in one step where the file system can do so.

        Returns:
            Whether it is gone, or was not there.
        """

    @abstractmethod
    def copy(self, source: str, target: str) -> None:
        """Copy one file."""

    @abstractmethod
    def move(self, source: str, target: str) -> None:
        """Give one file another path of the same file system, in one step where the file system can do so.

        Raises StorageError, and moves nothing, where there is no such file, or no such folder to move it to.
        """


def log_level(error: StorageError) -> int:
    """The level at which to log that something could not be cleaned up: low if Java has ended, which others report."""
    return logging.DEBUG if isinstance(error, StorageUnreachable) else logging.WARNING


def _snapshot_of(found: Iterable[tuple[str, FileEntry]]) -> tuple[Fingerprint, list[FileEntry]]:
    """
    Args:
        found: files with their paths relative to the directory.
    """
    digest = hashlib.sha256()
    entries = []
    for relative, entry in sorted(found, key=lambda pair: pair[0]):
        digest.update(f"{relative}\0{entry.size}\0{entry.modified}\n".encode())
        entries.append(entry)
    size = sum(entry.size for entry in entries)
    return Fingerprint(len(entries), size, digest.hexdigest()[:16]), entries


#: The fingerprint of a directory without files.
EMPTY = _snapshot_of([])[0]
