"""What dbt shows of a commit, and of an ingest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dbt.adapters.contracts.connection import AdapterResponse

from lakemerge.engine.publish.result import CommitResult

# What is counted of a source.
_UNITS = ("files", "offsets")
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
    def of(cls, done: CommitResult) -> CommitResponse:
        """The response of one commit."""
        counts = done.counts
        known = ("inserted", "updated", "upserted", "deleted", "ignored")
        parts = [f"{counts[key]} {key}" for key in known if key in counts] or [
            f"{count} {key}" for key, count in counts.items()
        ]
        return cls(
            _message=message_of(done, parts),
            code=done.operation.upper(),
            rows_affected=sum(
                counts.get(key, 0) for key in ("inserted", "updated", "upserted", "deleted", "rows")
            ),
            unpublished=done.is_staged or None,
            version=done.version or 0,
            inserted=counts.get("inserted", 0),
            updated=done.updated,
            deleted=done.deleted,
            ignored=done.ignored,
            upserted=done.upserted,
        )


def message_of(done: CommitResult, counts: Sequence[str]) -> str:
    """What dbt's result line says of a commit: the operation, counts in words, remarks, and the version."""
    where = "nothing to write" if done.version is None else f"version {done.version}"
    where = STAGED if done.is_staged and done.version is None else where
    return f"{done.operation.upper()} ({', '.join([*counts, *done.remarks, where])})"


@dataclass
class IngestResponse(CommitResponse):
    """The outcome of an ingest, in dbt's result line and in ``run_results.json``.

    Attributes:
        quarantined, dropped: numbers of rejected records by outcome.
        files: how many were read.
        offsets: of topics, how many were read.
        backlog: files or offsets that are left for a later run, because this one reached its limits.
        changed: files that changed after they were read.
        routed: what became of the records in the tables of their routes: counts and the version, by table.
    """

    quarantined: int = 0
    dropped: int = 0
    files: int = 0
    offsets: int = 0
    backlog: int = 0
    changed: int = 0
    routed: dict[str, dict[str, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, done: CommitResult) -> IngestResponse:
        """The response of one commit, or of all those of a run."""
        counts = done.counts
        shown = [f"{done.inserted} inserted"]
        shown += [
            f"{count} {key}" for key, count in counts.items() if count and key not in ("inserted", *_UNITS)
        ]
        shown.append(next((f"{counts[unit]} {unit}" for unit in _UNITS if unit in counts), "replayed"))
        return cls(
            _message=message_of(done, shown),
            code=done.operation.upper(),
            rows_affected=done.inserted,
            version=done.version or 0,
            inserted=done.inserted,
            quarantined=counts.get("quarantined", 0),
            dropped=counts.get("dropped", 0),
            files=counts.get("files", 0),
            offsets=counts.get("offsets", 0),
            backlog=counts.get("backlog", 0),
            changed=counts.get("changed", 0),
            routed={table: dict(found) for table, found in done.others.items()},
        )
