"""A commit: a list of changes of tables that become visible together or not at all."""

from __future__ import annotations

from dataclasses import dataclass, field

from lakemerge.errors import CommitInDoubt, LakemergeError
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


def doubt(commit: Commit, error: Exception) -> CommitInDoubt:
    """The error of a commit of which nobody knows whether it stands.

    Args:
        error: what ended it.
    """
    ids = ", ".join(f"{table.txn} of {table.table}" for table in commit.tables)
    return CommitInDoubt(
        expected=f"the metastore to say whether the commit stands ({ids})",
        found=error.found if isinstance(error, LakemergeError) else f"{type(error).__name__}: {error}",
        action="Look whether the table's history has it, and do the work again only if not.",
    )
