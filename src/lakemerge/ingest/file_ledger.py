"""The files that an ingest has read, kept with the commits that hold their records.

A folder of side data (``files``) has one file, a JSON object a line. A commit adds a folder, or writes all of them
into one; since it names all folders that it knows, another commit that added one meanwhile is a conflict.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lakemerge.errors import CorruptTable
from lakemerge.kernel import FileSystem, Transaction

KIND = "files"
_NAME = "files.jsonl"
# So many folders are written into one.
_LONGEST = 10


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
        self._folders = tuple(folders)
        self._known = {entry.path: entry for folder in folders for entry in _read(files, folder)}

    @classmethod
    def of(cls, files: FileSystem, transaction: Transaction, *, replaced: bool = False) -> FileLedger:
        """The ledger that a transaction goes on from: an empty one if it replaces the table."""
        base = None if replaced else transaction.base
        folders = base.sidecars.get(KIND, ()) if base else ()
        return cls(files, [transaction.layout.absolute(folder) for folder in folders])

    def get(self, path: str) -> ReadFile | None:
        return self._known.get(path)

    def __len__(self) -> int:
        return len(self._known)

    @property
    def last_batch(self) -> int:
        """The number of the newest batch; 0 for none."""
        return max((entry.batch for entry in self._known.values()), default=0)

    def record(self, transaction: Transaction, read: Iterable[ReadFile]) -> None:
        """Write what was read now into the transaction's side data."""
        added = list(read)
        directory = transaction.sidecar_directory(KIND)
        keeps = len(self._folders) < _LONGEST
        entries = added if keeps else {**self._known, **{entry.path: entry for entry in added}}.values()
        text = "".join(f"{json.dumps(dataclasses.asdict(entry), ensure_ascii=False)}\n" for entry in entries)
        self._files.write_text(f"{directory}/{_NAME}", text)
        transaction.set_sidecars(KIND, [*(self._folders if keeps else ()), directory])


def _read(files: FileSystem, folder: str) -> list[ReadFile]:
    path = f"{folder}/{_NAME}"
    try:
        return [ReadFile(**json.loads(line)) for line in files.read_text(path).split("\n") if line]
    except (FileNotFoundError, ValueError, TypeError) as error:
        raise CorruptTable(
            expected=f"the list of files that were read in {path}",
            found=f"{type(error).__name__}: {error}",
            action="Restore the file from a backup; or --full-refresh, which reads all files again.",
        ) from error
