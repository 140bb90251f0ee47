"""What an attempt to publish reads and writes beside the rows: ledgers, deltas, quarantined records."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from lakemerge.engine.layout.data_files import DataFiles
from lakemerge.kernel import SIDE_TABLES, Transaction

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class SideData:
    """The side data of a transaction's table, by kind."""

    def __init__(
        self, transaction: Transaction, files: DataFiles, own_files: DataFiles, *, keeps: bool
    ) -> None:
        """
        Args:
            files: how rows like the table's, such as deltas, are written.
            own_files: how other rows are written.
            keeps: whether the commit keeps what the table has; false where the table is made or replaced.
        """
        self._transaction = transaction
        self._files = files
        self._own_files = own_files
        self._keeps = keeps
        self._concerned: dict[str, list[str] | None] = {}

    def folders(self, kind: str) -> list[str]:
        """The URIs of a kind's folders in the version that this one builds on."""
        base = self._transaction.base
        folders = base.sidecars.get(kind, ()) if self._keeps and base else ()
        return [self._transaction.layout.absolute(folder) for folder in folders]

    def has_many_folders(self, kind: str) -> bool:
        """Whether a kind has so many folders that this commit should rewrite it."""
        return self._keeps and self._transaction.has_many_sidecars(kind)

    def read(self, kind: str, names: Iterable[str] | None) -> None:
        """Declare that the work depends on the side data of a kind, for these partitions (``None``: all).

        See :meth:`Transaction.read_side_data`. What this commit writes of that kind concerns the same partitions.
        """
        self._concerned[kind] = None if names is None else list(names)
        self._transaction.read_side_data(kind, names)

    def add(self, kind: str, rows: DataFrame, *, file_format: str | None = None) -> None:
        """Write rows beside the existing side data of a kind; see :meth:`write`."""
        directory = self.write(kind, rows, file_format=file_format)
        self._transaction.add_sidecar(kind, directory, concerns=self._concerned.get(kind))

    def replace(self, kind: str, rows: DataFrame, *, file_format: str | None = None) -> None:
        """Write rows in the place of all existing side data of a kind; see :meth:`write`."""
        directory = self.write(kind, rows, file_format=file_format)
        self._transaction.set_sidecars(kind, [directory], concerns=self._concerned.get(kind))

    def clear(self, kind: str) -> None:
        """Leave no side data of a kind."""
        self._transaction.set_sidecars(kind, [])

    def write(self, kind: str, rows: DataFrame, *, file_format: str | None = None) -> str:
        """Write rows of a kind, for the commit to record; returns their folder's URI.

        Args:
            file_format: of the files; ``None`` for that of the kind.
        """
        directory = self._transaction.sidecar_directory(kind)
        published = SIDE_TABLES.get(kind)
        files = self._files if published and published.like_main else self._own_files
        if file_format is not None:
            files = self._files if file_format == self._files.file_format else self._own_files
        files.write(rows, directory)
        return directory
