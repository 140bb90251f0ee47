"""What a commit did, as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class CommitResult:
    """What a piece of work did to its table.

    Attributes:
        operation: what the commit is called in the table's history.
        version: the version that was made; ``None`` if nothing had to be written, and while it waits (``is_staged``).
        counts: rows by what became of them: ``inserted``, ``updated``, ``deleted``; ``ignored`` are changes that change
            nothing: late, repeated, or deletes of keys that are not there; ``upserted`` are rows of a merge on read,
            which does not distinguish inserts from updates. Other operations have counts of their own.
        remarks: what else a reader should know, in words.
        is_staged: whether the version is complete and waits to be published.
        others: the counts and the version of tables that were committed with this one, by table.
        left: how many versions of the table that it follows a consumer has left to later runs.
    """

    operation: str
    version: int | None
    counts: Mapping[str, int]
    remarks: tuple[str, ...] = ()
    is_staged: bool = False
    others: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    left: int = 0

    @classmethod
    def of_all(cls, commits: Sequence[CommitResult], left: int) -> CommitResult:
        """What the commits of one piece of work did together, the oldest first."""
        counts = Counter[str]()
        for one in commits:
            counts.update(one.counts)
        versions = [one.version for one in commits if one.version is not None]
        remarks = tuple(dict.fromkeys(remark for one in commits for remark in one.remarks))
        return cls(commits[-1].operation, max(versions, default=None), dict(counts), remarks, left=left)

    @property
    def inserted(self) -> int:
        """Rows that were added; of a replacement, all that were written."""
        return self.counts.get("inserted", self.counts.get("rows", 0))

    @property
    def updated(self) -> int:
        return self.counts.get("updated", 0)

    @property
    def deleted(self) -> int:
        return self.counts.get("deleted", 0)

    @property
    def ignored(self) -> int:
        return self.counts.get("ignored", 0)

    @property
    def upserted(self) -> int:
        return self.counts.get("upserted", 0)
