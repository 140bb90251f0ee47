"""Transactions that make tables: no row's version fences them when they are taken for dead.

While one sleeps for longer than its lease, others may make a table of the name and drop it, with all that lies in its
directory. So the transaction leaves a file when it begins. Who deletes what it has made deletes that file first, and
only then looks whether the table is there; the transaction looks for the file when it has the name. Whatever the order,
one of the two finds the other.

The file holds the id of the table that is to be made. Who drops that table deletes the file first, too: its maker may
still wait for the answer, and would make the table once more when it finds none.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable

from lakemerge.errors import StorageError
from lakemerge.kernel.ports import Ports
from lakemerge.kernel.ports.filesystem import log_level
from lakemerge.kernel.table.layout import Layout

_LOG = logging.getLogger("lakemerge")


class Creations:
    """Keeps the files of transactions that make tables."""

    def __init__(self, ports: Ports) -> None:
        self._files = ports.files

    def begin(self, layout: Layout, txn: str, table_id: str) -> None:
        """Leave a transaction's file, after its first heartbeat and before all that it makes."""
        self._files.write_text(layout.creation_of(txn), table_id)

    def end(self, layout: Layout, txn: str) -> None:
        """Remove the file of a transaction that has ended."""
        try:
            self._files.delete(layout.creation_of(txn))
        except StorageError as error:
            _LOG.log(log_level(error), "The file of a creation could not be removed: %s", error)

    def is_open(self, layout: Layout, txn: str) -> bool:
        """Whether nobody has begun to delete what a transaction has made."""
        return self._files.exists(layout.creation_of(txn))

    def open_in(self, layout: Layout) -> list[str]:
        """The transactions that may still make a table in a directory, be they alive or dead."""
        return [entry.name for entry in self._files.list(layout.creations)]

    def close(self, layout: Layout, transactions: Iterable[str]) -> None:
        """Keep transactions that are taken for dead from making their table, unless they have made it by now."""
        for txn in transactions:
            self._files.delete(layout.creation_of(txn))

    def close_of(self, layout: Layout, table_id: str) -> None:
        """Keep the transaction that has made a table from making it again, when the table is about to be dropped.

        It may live, and not have had the answer yet.
        """
        for txn in self.open_in(layout):
            with contextlib.suppress(FileNotFoundError):  # it has ended meanwhile
                if self._files.read_text(layout.creation_of(txn)) == table_id:
                    self.close(layout, [txn])
