"""Transactions that make tables: no row's version fences them when they are taken for dead.

While such a transaction sleeps for longer than its lease, others may make a table of the same name and drop it, with
all that lies in its directory. So the transaction leaves a file when it starts. A process that deletes what the
transaction has made deletes that file first, and only then checks whether the table is there. The transaction checks
for the file after it has got the name. Whatever the order, one of the two notices the other.

The file holds the id of the table that is to be made. A process that drops that table deletes the file first, too: the
table's maker may still wait for the metastore's answer, and would make the table again when it finds none.
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
        """Write a transaction's file, after its first heartbeat and before anything that it makes."""
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
        """The transactions, alive or dead, that may still make a table in a directory."""
        return [entry.name for entry in self._files.list(layout.creations)]

    def close(self, layout: Layout, transactions: Iterable[str]) -> None:
        """Keep transactions that are taken for dead from making their table, unless they have made it by now."""
        for txn in transactions:
            self._files.delete(layout.creation_of(txn))

    def close_of(self, layout: Layout, table_id: str) -> None:
        """Keep the transaction that has made a table from making it again, when the table is about to be dropped.

        That transaction may be alive, and may not have received the metastore's answer yet.
        """
        self.close(layout, self.makers_of(layout, table_id))

    def makers_of(self, layout: Layout, table_id: str) -> list[str]:
        """The transactions, one at most, that make or have just made a table."""
        return [txn for txn in self.open_in(layout) if self._table_of(layout, txn) == table_id]

    def _table_of(self, layout: Layout, txn: str) -> str | None:
        with contextlib.suppress(FileNotFoundError):  # it has ended meanwhile
            return self._files.read_text(layout.creation_of(txn))
        return None
