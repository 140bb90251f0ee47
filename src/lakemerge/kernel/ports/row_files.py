"""The port to ORC files that are written row by row, or copied together, without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from lakemerge.kernel.ports.metastore import HiveColumn


class RowFile(Protocol):
    """One file under way. Rows come as texts in the form of Hive's text tables.

    Attributes:
        rows: how many have been written.
    """

    rows: int

    def write(self, texts: Sequence[str | None]) -> None:
        """Add a row. Raises StorageError."""

    def close(self) -> None:
        """Finish the file. Raises StorageError."""

    def abandon(self) -> None:
        """Let go of a file that is going to be deleted; what is not written yet does not matter."""


class RowFiles(Protocol):
    """Makes ORC files."""

    def create(self, path: str, columns: Sequence[HiveColumn]) -> RowFile:
        """Begin a file. Raises StorageError."""

    def concatenate(self, paths: Sequence[str], target: str) -> list[str]:
        """Copy the stripes of files into one new file, without decoding them.

        Returns:
            The files that were not copied, because they have another compression or schema.

        Raises:
            StorageError: one of them cannot be read.
        """
