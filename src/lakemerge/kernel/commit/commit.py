"""A commit: a list of changes of tables that become visible together or not at all."""

from __future__ import annotations

from dataclasses import dataclass, field

from lakemerge.kernel.commit.table_commit import TableCommit
from lakemerge.kernel.table.manifest import Manifest


@dataclass
class Commit:
    """A commit and how far it has come.

    Attributes:
        tables: what it does, each table at most once.
        manifests: of the versions that it makes, table by table; empty before it is decided.
        in_doubt: whether a claim was sent whose outcome is not known.
    """

    tables: list[TableCommit]
    manifests: list[Manifest] = field(default_factory=list)
    in_doubt: bool = False
