"""A table's part of one attempt to commit."""

from __future__ import annotations

from dataclasses import dataclass

from lakemerge.kernel.commit.table_commit import TableCommit
from lakemerge.kernel.ports.metastore import HiveTable
from lakemerge.kernel.ports.names import TableName
from lakemerge.kernel.table.manifest import Manifest
from lakemerge.kernel.table.state import TableState


@dataclass(frozen=True)
class Prepared:
    """A table's part of one attempt.

    Attributes:
        state: of the table when it was prepared; ``None`` when the commit makes it.
        parent: the manifest of the version that it follows; ``None`` when it makes the table.
        manifest: of the version that it makes, which is written.
    """

    table: TableCommit
    state: TableState | None
    parent: Manifest | None
    manifest: Manifest

    @property
    def row(self) -> TableName:
        """The name of the row that is claimed."""
        return self.state.table.name if self.state is not None else self.table.table

    @property
    def seen(self) -> HiveTable | None:
        """The row that is claimed, as it was then."""
        return self.state.table if self.state is not None else None

    @property
    def expected(self) -> str:
        """The version parameter's value that the claim compares with; empty when it makes the table."""
        return self.state.version_value if self.state is not None else ""
