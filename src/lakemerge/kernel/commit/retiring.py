"""Deltas that the base holds are taken away, once no query can need them any more."""

from __future__ import annotations

import contextlib
import datetime
import math
from collections.abc import Iterable

from lakemerge.errors import StorageError
from lakemerge.kernel.commit.transaction import Transaction
from lakemerge.kernel.external.late import written_at
from lakemerge.kernel.table.manifests import commits
from lakemerge.kernel.table.overlay import FOLDED

#: For one query, at most this time may pass between an engine's look at the base and its look at the deltas.
PLANNING_TIME = datetime.timedelta(minutes=10)


def unread_deltas(transaction: Transaction) -> tuple[str, ...]:
    """The folders of deltas that the base has held for so long that no query that began before is still being planned.

    This is decided by the file system's clock and the table's history. A version was settled at the latest when its
    mark, or the manifest of the next version, was written. What the version names as moved into the base was moved
    there before that. The version's own manifest does not show the time: any time may pass between writing it and
    settling the version, because the writer may have died.
    """
    base, layout, files = transaction.base, transaction.layout, transaction._tables.files
    held = base.sidecars.get(FOLDED, ()) if base else ()
    if base is None or not held:
        return ()
    due = files.now(layout.commits) - PLANNING_TIME.total_seconds() * 1000
    written = written_at(files, layout)
    marked = {entry.name: entry.modified for entry in files.list(layout.seen)}
    next_written: float = math.inf
    for manifest in commits(files, layout, base):
        if min(next_written, marked.get(manifest.txn, math.inf)) <= due:
            return tuple(folder for folder in held if folder in manifest.sidecars.get(FOLDED, ()))
        next_written = written.get(manifest.txn, math.inf)
    return ()


def retire_folded(transaction: Transaction, folders: Iterable[str]) -> None:
    """Take away deltas that the base holds; another commit may do the same meanwhile.

    A transaction that works on rows of the view declares that it reads this side data: a query that is planned just
    then may find the deltas at one place of the view and not at the other, and miss their keys.

    Args:
        folders: as :attr:`Manifest.sidecars` has them. If a folder is among them, all that were moved into the base
            before it must be, too: an older delta alone would hide what the base holds.
    """
    transaction.drop_sidecars(FOLDED, map(transaction.layout.absolute, folders))


def retire_unread(transaction: Transaction) -> int:
    """Take away the deltas of :func:`unread_deltas`; returns their number."""
    folders = unread_deltas(transaction)
    if folders:
        retire_folded(transaction, folders)
    return len(folders)


def mark_settled(transaction: Transaction) -> None:
    """Write a file whose time shows that a committed transaction's version was settled by then."""
    assert transaction.made is not None, "it is committed"
    path = transaction.layout.seen_of(transaction.made.txn)
    with contextlib.suppress(StorageError):  # the next version's manifest shows this, too
        transaction._tables.files.write_text(path, "")
