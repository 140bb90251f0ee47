"""What is known of a table while its metastore row is made anew: for a moment the metastore knows nothing of it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass

from lakemerge.errors import CorruptTable
from lakemerge.kernel.filesystem import FileSystem
from lakemerge.kernel.layout import Layout
from lakemerge.kernel.metastore import Metastore
from lakemerge.kernel.names import TableName


@dataclass(frozen=True)
class Rebuild:
    """A table whose row is being made anew.

    Attributes:
        txn: the transaction that does it.
        root: the table's, which need not be the default one.
        parameters: those of the row that was dropped.
    """

    txn: str
    root: str
    external: bool
    owner: str
    parameters: Mapping[str, str]


class Rebuilds:
    """One file for each table under way, where it is found by the table's name alone."""

    def __init__(self, metastore: Metastore, files: FileSystem) -> None:
        self._metastore = metastore
        self._files = files

    def default_root(self, name: TableName) -> str:
        """The directory of a table that names none: in the database's."""
        database = self._metastore.database_location(name.schema)
        return self._files.qualify(f"{database.rstrip('/')}/{name.name}")

    def _path(self, name: TableName) -> str:
        return Layout(self.default_root(name)).rebuild

    def begin(self, name: TableName, rebuild: Rebuild) -> None:
        """Write down what the row's dropping would lose."""
        self._files.write_text(self._path(name), json.dumps(dataclasses.asdict(rebuild)))

    def find(self, name: TableName) -> Rebuild | None:
        """What was written down; ``None`` where no rebuild is under way.

        Raises:
            CorruptTable: the file cannot be read.
        """
        path = self._path(name)
        try:
            return Rebuild(**json.loads(self._files.read_text(path)))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError) as error:
            raise CorruptTable(
                expected=f"the description of a table in {path}",
                found=f"{type(error).__name__}: {error}",
                action="Remove the file; if the table is missing, create it again.",
            ) from error

    def end(self, name: TableName, txn: str) -> None:
        """Forget a transaction's rebuild, not another's."""
        rebuild = self.find(name)
        if rebuild is not None and rebuild.txn == txn:
            self._files.delete(self._path(name))
