"""What dbt shows of a commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dbt.adapters.contracts.connection import AdapterResponse

_NO_VERSION = "nothing to write"
#: Ends the message of a node whose version waits to be published.
STAGED = "staged"


@dataclass
class NodeResponse(AdapterResponse):
    """What a node did.

    Attributes:
        unpublished: true while what the node made waits for the end of the run; ``None`` otherwise.
    """

    unpublished: bool | None = None


@dataclass
class CommitResponse(NodeResponse):
    """What a commit did, in dbt's result line and in ``run_results.json``.

    Attributes:
        version: the version that the commit made; 0 if nothing had to be written.
        inserted, updated, deleted, ignored: rows of a merge by what became of their change; ``ignored`` are
            those that change nothing: late, repeated, or deletes of keys that are not there.
        upserted: rows of a merge on read, which does not distinguish inserts from updates.
        left: how many partitions a model that consumes leaves to a later run.
    """

    version: int = 0
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    ignored: int = 0
    upserted: int = 0
    left: int = 0

    @classmethod
    def of(
        cls, operation: str, version: int | None, counts: Mapping[str, int], remarks: Sequence[str] = ()
    ) -> CommitResponse:
        """The response of an operation.

        Args:
            version: ``None`` if nothing had to be written.
            counts: of a merge by the names above; of others by names of their own.
            remarks: shown after the counts.
        """
        known = ("inserted", "updated", "upserted", "deleted", "ignored")
        parts = [f"{counts[key]} {key}" for key in known if key in counts] or [
            f"{count} {key}" for key, count in counts.items()
        ]
        where = _NO_VERSION if version is None else f"version {version}"
        return cls(
            _message=f"{operation.upper()} ({', '.join([*parts, *remarks, where])})",
            code=operation.upper(),
            rows_affected=sum(
                counts.get(key, 0) for key in ("inserted", "updated", "upserted", "deleted", "rows")
            ),
            version=version or 0,
            inserted=counts.get("inserted", 0),
            updated=counts.get("updated", 0),
            deleted=counts.get("deleted", 0),
            ignored=counts.get("ignored", 0),
            upserted=counts.get("upserted", 0),
        )

    def staged(self) -> CommitResponse:
        """The response of the same work, whose version waits to be published."""
        return replace(self, _message=self._message.replace(_NO_VERSION, STAGED), unpublished=True)
