"""Deltas that the base holds are taken away, once no query can need them any more."""

from __future__ import annotations

import contextlib
import datetime
import math
from collections.abc import Iterable

from lakemerge.errors import StorageError
from lakemerge.kernel.commit.transaction import Transaction
from lakemerge.kernel.external.late import written_at
from lakemerge.kernel.table.manifests import lineage
from lakemerge.kernel.table.overlay import FOLDED

#: So long may lie between an engine's look at the base and its look at the deltas of one query.
PLANNING_TIME = datetime.timedelta(minutes=10)


def unread_deltas(transaction: Transaction) -> tuple[str, ...]:
    """The folders of deltas that the base holds for so long that no query is planned any more that began before.

    By the file system's clock and the table's history: a version was settled at the latest when its mark was written,
    or the manifest of the next one. What it names as moved into the base is older still. Its own manifest tells
    nothing: between that and the version any time may pass, because its writer may have died.
    """
    base, layout, files = transaction.base, transaction.layout, transaction._tables.files
    held = base.sidecars.get(FOLDED, ()) if base else ()
    if base is None or not held:
        return ()
    due = files.now(layout.commits) - PLANNING_TIME.total_seconds() * 1000
    written = written_at(files, layout)
    marked = {entry.name: entry.modified for entry in files.list(layout.seen)}
    next_written: float = math.inf
    for manifest in lineage(files, layout, base):
        if min(next_written, marked.get(manifest.txn, math.inf)) <= due:
            return tuple(folder for folder in held if folder in manifest.sidecars.get(FOLDED, ()))
        next_written = written.get(manifest.txn, math.inf)
    return ()


def retire_folded(transaction: Transaction, folders: Iterable[str]) -> None:
    """Take away deltas that the base holds; another commit may do the same meanwhile.

    Who works on rows of the view declares that it reads this side data: a query that is planned just then may find the
    deltas at one place of the view and not at the other, and miss their keys.

    Args:
        folders: as :attr:`Manifest.sidecars` has them. With one go all that were moved into the base before it, for an
            older delta alone would hide what the base holds.
    """
    transaction.drop_sidecars(FOLDED, map(transaction.layout.absolute, folders))


def retire_unread(transaction: Transaction) -> int:
    """Take away the deltas of :func:`unread_deltas`; returns their number."""
    folders = unread_deltas(transaction)
    if folders:
        retire_folded(transaction, folders)
    return len(folders)


def mark_settled(transaction: Transaction) -> None:
    """Leave a file whose time tells that by then a committed transaction's version was settled."""
    assert transaction.made is not None, "it is committed"
    path = transaction.layout.seen_of(transaction.made.txn)
    with contextlib.suppress(StorageError):  # the next version's manifest tells it, too
        transaction._tables.files.write_text(path, "")
