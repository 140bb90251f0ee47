"""What lies in a table's folders and belongs to no transaction that is at work."""

from __future__ import annotations

from collections import defaultdict

from lakemerge.kernel.kernel import Kernel
from lakemerge.kernel.ports.filesystem import FileEntry
from lakemerge.kernel.table.layout import SIDECARS, Layout


class Idle:
    """What lies in the folders of transactions and belongs to no transaction that is at work.

    Attributes:
        entries: by folder.
    """

    def __init__(self, kernel: Kernel, layout: Layout, entries: dict[str, list[FileEntry]]) -> None:
        self.entries = entries
        self._files = kernel.files
        self._records: dict[str, int] = defaultdict(int)
        for entry in (*entries[layout.commits], *entries[layout.staged]):
            txn = txn_of(entry)
            self._records[txn] = max(self._records[txn], entry.modified)
        self._times: dict[str, int] = {}
        self._folders: dict[str, list[str]] = defaultdict(list)
        for folder in content_folders(layout):
            for entry in entries[folder]:
                if entry.is_directory:
                    self._folders[entry.name].append(entry.path)

    @classmethod
    def read(
        cls, kernel: Kernel, layout: Layout, *, now: int | None = None, claim: str | None = None
    ) -> Idle:
        """
        Args:
            now: this moment, if the file system is not to be asked for it.
            claim: a transaction that has claimed the next version.
        """
        folders = (
            *content_folders(layout),
            layout.empty,
            layout.commits,
            layout.staged,
            *other_folders(layout),
        )
        found = {folder: kernel.files.list(folder) for folder in folders}
        # listed after the folders: a transaction that begins later is in none of them, and one that ended before is in
        # the lineage
        lease = kernel.settings.lease_seconds
        at_work = {
            entry.name
            for entry in kernel.files.list(layout.open)
            if not entry.name.startswith(".") and kernel.heartbeats.alive(layout, entry.name, lease, now=now)
        }
        at_work |= {claim} if claim else set()
        return cls(
            kernel,
            layout,
            {
                folder: [entry for entry in entries if txn_of(entry) not in at_work]
                for folder, entries in found.items()
            },
        )

    def with_content(self) -> set[str]:
        """The transactions that have written data or side data."""
        return set(self._folders)

    def last_written(self, txn: str) -> int:
        """When a transaction has written last: its newest file, manifest or record, in the file system's milliseconds.

        Not the time of a directory: an object store has none.
        """
        if txn not in self._times:
            below = (
                entry.modified for path in self._folders.get(txn, ()) for entry in self._files.walk(path)
            )
            self._times[txn] = max(below, default=0)
        return max(self._times[txn], self._records[txn])


def content_folders(layout: Layout) -> list[str]:
    """The folders that hold what commits wrote: data and side data."""
    return [layout.data, *(layout.sidecars(kind) for kind in SIDECARS)]


def other_folders(layout: Layout) -> list[str]:
    """The folders of small files that belong to no transaction, or to one only as long as it is open."""
    return [layout.control, layout.open, layout.creations, layout.rebuilds, layout.pins, layout.compactions]


def txn_of(entry: FileEntry) -> str:
    """The transaction of ``<txn>``, ``<txn>.json``, or one of these as it is being written: ``.<txn>.json.<hex>``."""
    return entry.name.removeprefix(".").partition(".")[0]
