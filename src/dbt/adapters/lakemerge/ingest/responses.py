"""What dbt shows of an ingest."""

from __future__ import annotations

from dataclasses import dataclass, field

from dbt.adapters.lakemerge.publish.responses import CommitResponse, message_of
from dbt.adapters.lakemerge.publish.result import CommitResult

# What is counted of a source.
_UNITS = ("files", "offsets")


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
