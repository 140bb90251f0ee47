"""The files that an ingest has read, kept with the commits that hold their records.

A folder of side data (``files``) lists the files of one batch or of several, ordered by path and cut into buckets, and
has an index with the range and the digest of each bucket. A scan of a landing folder looks up many files at once. It
skips a bucket whose digest equals that of the files looked up, and a bucket that none of them falls into. So a scan
costs about as much as the landing folder holds, however much has ever been read.

A commit adds a folder, and merges into it the newest folders that list no more files than it does itself. So there are
few folders, and a line is rewritten only when the list that it is part of doubles. As the commit names all folders that
it knows, another commit that added one meanwhile is a conflict.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lakemerge.errors import CorruptTable
from lakemerge.kernel import FileEntry, FileSystem, Transaction

KIND = "files"
_INDEX = "index.json"
# One bucket lists about this many files, with some 150 bytes each.
_BUCKET = 5_000


@dataclass(frozen=True)
class ReadFile:
    """A file as it was when it was read.

    Attributes:
        path: its URI.
        size: bytes.
        modified: time of change, milliseconds since 1970.
        batch: number of the batch that read it, from 1.
    """

    path: str
    size: int
    modified: int
    batch: int


class FileLedger:
    """What the version that a transaction builds on has read."""

    def __init__(self, files: FileSystem, folders: Sequence[str]) -> None:
        """
        Args:
            folders: URIs, the oldest first; a file that was read again stands in more than one.

        Raises:
            CorruptTable: one of them cannot be read.
        """
        self._files = files
        self._folders = [_Folder.open(files, folder) for folder in folders]

    @classmethod
    def of(cls, files: FileSystem, transaction: Transaction, *, replaced: bool = False) -> FileLedger:
        """The ledger that a transaction goes on from: an empty one if it replaces the table."""
        base = None if replaced else transaction.base
        folders = base.sidecars.get(KIND, ()) if base else ()
        return cls(files, [transaction.layout.absolute(folder) for folder in folders])

    @property
    def last_batch(self) -> int:
        """The number of the newest batch; 0 for none."""
        return max((folder.batch for folder in self._folders), default=0)

    def compare(self, entries: Iterable[FileEntry]) -> dict[str, bool]:
        """Which of these files were read before, by path, and whether they are unchanged since.

        Raises:
            CorruptTable: the list cannot be read.
        """
        asked = sorted(entries, key=lambda entry: entry.path)
        found: dict[str, bool] = {}
        for folder in reversed(self._folders):  # if a file was read again, the last time counts
            there = folder.compare(asked)
            found |= there
            asked = [entry for entry in asked if entry.path not in there]
        return found

    def record(self, transaction: Transaction, read: Iterable[ReadFile]) -> None:
        """Write what was read now into the transaction's side data."""
        added = {file.path: file for file in read}
        folders = list(self._folders)
        while folders and len(folders[-1]) <= len(added):
            added = {file.path: file for file in folders.pop().content()} | added
        directory = transaction.sidecar_directory(KIND)
        _write(self._files, directory, added.values())
        transaction.set_sidecars(KIND, [*(folder.path for folder in folders), directory])


@dataclass(frozen=True)
class _Bucket:
    """A part of a list that is ordered by path.

    Attributes:
        files: how many it lists.
        first, last: the lowest and the highest of their paths.
        digest: of their paths, sizes and times.
    """

    files: int
    first: str
    last: str
    digest: str

    @classmethod
    def of(cls, members: Sequence[ReadFile]) -> _Bucket:
        return cls(len(members), members[0].path, members[-1].path, _digest(members))


class _Folder:
    """One folder of side data."""

    def __init__(self, files: FileSystem, path: str, batch: int, buckets: Sequence[_Bucket]) -> None:
        self.path = path
        self.batch = batch
        self._files = files
        self._buckets = buckets

    @classmethod
    def open(cls, files: FileSystem, path: str) -> _Folder:
        """Read a folder's index. Raises CorruptTable."""
        where = f"{path}/{_INDEX}"
        try:
            index = json.loads(files.read_text(where))
            buckets = [_Bucket(**bucket) for bucket in index["buckets"]]
            return cls(files, path, int(index["batch"]), buckets)
        except (FileNotFoundError, ValueError, TypeError, KeyError) as error:
            raise _unreadable(where, error) from error

    def __len__(self) -> int:
        return sum(bucket.files for bucket in self._buckets)

    def compare(self, asked: Sequence[FileEntry]) -> dict[str, bool]:
        """Which of these files, ordered by path, it lists, and whether they are unchanged."""
        paths = [entry.path for entry in asked]
        found: dict[str, bool] = {}
        for number, bucket in enumerate(self._buckets):
            some = asked[bisect_left(paths, bucket.first) : bisect_right(paths, bucket.last)]
            if len(some) == bucket.files and _digest(some) == bucket.digest:
                found |= dict.fromkeys((entry.path for entry in some), True)
            elif some:
                known = {file.path: file for file in self._read(number)}
                for entry in some:
                    if file := known.get(entry.path):
                        found[entry.path] = (file.size, file.modified) == (entry.size, entry.modified)
        return found

    def content(self) -> Iterator[ReadFile]:
        """All files that it lists."""
        for number in range(len(self._buckets)):
            yield from self._read(number)

    def _read(self, number: int) -> list[ReadFile]:
        path = _bucket_path(self.path, number)
        try:
            # not splitlines(), which ends a line at characters that a path may hold
            lines = self._files.read_text(path).split("\n")
            return [ReadFile(**json.loads(line)) for line in lines if line]
        except (FileNotFoundError, ValueError, TypeError) as error:
            raise _unreadable(path, error) from error


def _write(files: FileSystem, directory: str, read: Iterable[ReadFile]) -> None:
    """Write a folder of side data, the index last."""
    ordered = sorted(read, key=lambda file: file.path)
    buckets = [ordered[start : start + _BUCKET] for start in range(0, len(ordered), _BUCKET)]
    for number, members in enumerate(buckets):
        lines = (f"{json.dumps(vars(file), ensure_ascii=False)}\n" for file in members)
        files.write_text(_bucket_path(directory, number), "".join(lines))
    index = {
        "batch": max((file.batch for file in ordered), default=0),
        "buckets": [vars(_Bucket.of(members)) for members in buckets],
    }
    files.write_text(f"{directory}/{_INDEX}", f"{json.dumps(index, indent=1, ensure_ascii=False)}\n")


def _bucket_path(folder: str, number: int) -> str:
    return f"{folder}/files-{number:05}.jsonl"


def _digest(files: Iterable[FileEntry | ReadFile]) -> str:
    text = "\n".join(f"{file.path}\t{file.size}\t{file.modified}" for file in files)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _unreadable(path: str, error: Exception) -> CorruptTable:
    return CorruptTable(
        expected=f"the list of files already read, in {path}",
        found=f"{type(error).__name__}: {error}",
        action="Restore the file from a backup, or run with --full-refresh to read all files again.",
    )
