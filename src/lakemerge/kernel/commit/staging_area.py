"""What a transaction has on disk before it commits, and the sign of life that keeps others from deleting it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from lakemerge.errors import StorageError
from lakemerge.kernel.ports.filesystem import log_level
from lakemerge.kernel.table.layout import SIDECARS, Layout
from lakemerge.kernel.table.staged_version import StagedVersion
from lakemerge.kernel.tables import Tables

_LOG = logging.getLogger("lakemerge")


class StagingArea:
    """The folders of one transaction. A heartbeat begins when the first of them is asked for."""

    def __init__(self, tables: Tables, layout: Layout, txn: str, *, table_id: str, creates: bool) -> None:
        """
        Args:
            table_id: of the table that it changes, or makes.
            creates: whether the transaction makes the table.
        """
        self._tables = tables
        self._layout = layout
        self._txn = txn
        self._table_id = table_id
        self._creates = creates
        self._on_lost: Callable[[str], None] | None = None
        self._is_told = False
        #: Whether there is a heartbeat.
        self.is_open = False

    def watch(self, on_lost: Callable[[str], None]) -> None:
        """Have a listener called when other processes may take the transaction for dead; only before :meth:`open`."""
        self._on_lost = on_lost

    def loss(self) -> str | None:
        """Why other processes may take the transaction for dead; ``None`` while it lives. Only after :meth:`watch`."""
        return self._tables.heartbeats.loss(self._layout, self._txn)

    def open(self) -> None:
        """Give the first sign of life, and more from now on. Does nothing if this was done already."""
        if self.is_open:
            return
        self._tables.heartbeats.start(self._layout, self._txn, self._on_lost, table_id=self._table_id)
        self.is_open = True
        if self._creates:
            self._tables.creations.begin(self._layout, self._txn, self._table_id)

    def data(self) -> str:
        """The URI to write new files to."""
        self.open()
        return self._layout.data_of(self._txn)

    def side_data(self, kind: str) -> str:
        """The URI to write side data of a kind to."""
        self.open()
        return self._layout.sidecar_of(kind, self._txn)

    def tell(self, version: StagedVersion) -> None:
        """Let other processes know what the transaction would make, until :meth:`close`."""
        self._tables.files.write_text(self._layout.staged_of(self._txn), version.to_json())
        self._is_told = True

    def delete(self, more: Iterable[str] = ()) -> None:
        """Remove what was staged, and more files of the transaction. Vacuum removes what cannot be removed now."""
        sidecars = (self._layout.sidecar_of(kind, self._txn) for kind in SIDECARS)
        try:
            for path in (self._layout.data_of(self._txn), *sidecars, *more):
                self._tables.files.delete(path)
        except StorageError as error:  # what ended the transaction matters more
            _LOG.log(log_level(error), "Files of an aborted transaction could not be removed: %s", error)

    def close(self, *, stays_told: bool = False) -> None:
        """End the heartbeat.

        Args:
            stays_told: whether the record of what the transaction would make stays, for other processes to find.
        """
        if self.is_open:
            if self._creates:
                self._tables.creations.end(self._layout, self._txn)
            self._tables.heartbeats.stop(self._layout, self._txn)
            self.is_open = False
        if self._is_told and not stays_told:
            self._is_told = False
            try:
                self._tables.files.delete(self._layout.staged_of(self._txn))
            except StorageError as error:  # vacuum removes it
                _LOG.log(log_level(error), "The record of a staged version could not be removed: %s", error)
