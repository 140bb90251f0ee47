"""What compactions have done, or are doing: one small file each beside the table, which outlives a process that dies.

The log is for people. No commit depends on it: a record that is lost, or that could not be written, is only missing
from the log.
"""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lakemerge.errors import StorageError, TableNotFound
from lakemerge.kernel.kernel import Kernel
from lakemerge.kernel.maintenance.history import commits_of
from lakemerge.kernel.ports.filesystem import log_level
from lakemerge.kernel.ports.names import TableName
from lakemerge.kernel.ports.system import new_transaction_id, timestamp
from lakemerge.kernel.table.layout import Layout

_LOG = logging.getLogger("lakemerge")
# Records beyond this number are removed, the oldest first.
_MOST_RECORDS = 1000
_OVER = ("done", "failed")


@dataclass(frozen=True)
class CompactionRecord:
    """One run of a compaction over one table.

    Attributes:
        id: sorts roughly by time.
        action: what is done, such as ``small_files`` or ``sort``.
        state: ``requested``, ``running``, ``done`` or ``failed``.
        reason: what it was started by: ``threshold`` or ``auto`` (a merge that chose to rewrite) after a commit, or
            ``operation``.
        requested_by: the node and the invocation of dbt.
        requested_at, started_at, ended_at: ISO 8601 in UTC, to the millisecond; empty for what has not happened yet.
        order: the columns that rows are sorted by; empty where they stay as they lie.
        versions: the versions that its commits made.
        txns: the transactions of its commits, including the one that is under way.
        groups: how many parts were planned, each of which is done or left alone independently of the others.
        done: how many of them are compacted.
        left: how many were left alone, because others changed them first. For deltas: the number of partitions for
            which a delta stays, because they are out of bounds.
        files_before, bytes_before, files_after, bytes_after: of what is compacted.
        rows: how many rows were rewritten.
        error: why it failed.
    """

    id: str
    table: str
    action: str
    state: str
    reason: str
    requested_by: Mapping[str, str]
    requested_at: str
    started_at: str = ""
    ended_at: str = ""
    order: tuple[str, ...] = ()
    versions: tuple[int, ...] = ()
    txns: tuple[str, ...] = ()
    groups: int = 0
    done: int = 0
    left: int = 0
    files_before: int = 0
    bytes_before: int = 0
    files_after: int = 0
    bytes_after: int = 0
    rows: int = 0
    error: str = ""

    @property
    def is_over(self) -> bool:
        return self.state in _OVER

    @property
    def seconds(self) -> float | None:
        """How long it ran; ``None`` while it has not begun or not ended."""
        if not self.started_at or not self.ended_at:
            return None
        ran = datetime.fromisoformat(self.ended_at) - datetime.fromisoformat(self.started_at)
        return ran.total_seconds()

    def as_dict(self) -> dict[str, Any]:
        """All that the record says, by name."""
        return {**dataclasses.asdict(self), "seconds": self.seconds}


class CompactionLog:
    """The records of one table."""

    def __init__(self, kernel: Kernel, table: TableName) -> None:
        """
        Raises:
            TableNotFound: there is no such table, or it has no versions yet.
        """
        self._kernel = kernel
        self._files = kernel.files
        self.table = table
        state = kernel.current_state(table)
        if state is None:
            raise TableNotFound(
                expected=f"a table {table} with versions",
                found="none that lakemerge has committed to",
                action="Give the name of a table that a model writes.",
            )
        self._layout = state.layout

    def request(self, action: str, reason: str, order: tuple[str, ...] = ()) -> CompactionRecord:
        """Log that a compaction is to come. From here until :meth:`end`, this process keeps a heartbeat for it."""
        record = CompactionRecord(
            id=new_transaction_id(self._kernel.clock, self._kernel.host),
            table=str(self.table),
            action=action,
            state="requested",
            reason=reason,
            requested_by=dict(self._kernel.settings.writer),
            requested_at=self._now(),
            order=order,
        )
        self._kernel.heartbeats.start(self._layout, record.id)
        self.write(record)
        self._remove_oldest()
        return record

    def begin(self, record: CompactionRecord, **known: Any) -> CompactionRecord:
        """Log that it runs."""
        return self.write(dataclasses.replace(record, state="running", started_at=self._now(), **known))

    def end(self, record: CompactionRecord, error: str = "") -> CompactionRecord:
        """Log how it ended."""
        state = "failed" if error else "done"
        try:
            return self.write(dataclasses.replace(record, state=state, ended_at=self._now(), error=error))
        finally:
            self._kernel.heartbeats.stop(self._layout, record.id)

    def _now(self) -> str:
        # most compactions take only a few seconds or less
        return timestamp(self._kernel.clock, "milliseconds")

    def write(self, record: CompactionRecord) -> CompactionRecord:
        """Log how far it is. If the record cannot be written, there is a message about that, and nothing fails."""
        text = json.dumps(dataclasses.asdict(record), indent=1, ensure_ascii=False) + "\n"
        try:
            self._files.write_text(_path(self._layout, record.id), text)
        except StorageError as error:
            _LOG.log(log_level(error), "A compaction of %s could not be logged: %s", self.table, error)
        return record

    def records(self, limit: int | None = None) -> list[CompactionRecord]:
        """What was and is being done, the newest first. What a dead process was doing is ``failed``."""
        entries = [
            entry for entry in self._files.list(self._layout.compactions) if not entry.name.startswith(".")
        ]
        newest = sorted(entries, key=lambda entry: entry.name, reverse=True)[:limit]
        found = [record for entry in newest if (record := self._read(entry.path)) is not None]
        return [self._today(record) for record in found]

    def _read(self, path: str) -> CompactionRecord | None:
        """A record; ``None`` if it is removed or rewritten at this moment, or another program's."""
        try:
            body = json.loads(self._files.read_text(path))
            known = {field.name for field in dataclasses.fields(CompactionRecord)}
            for name in ("order", "versions", "txns"):
                body[name] = tuple(body.get(name, ()))
            return CompactionRecord(**{name: value for name, value in body.items() if name in known})
        except (FileNotFoundError, StorageError, ValueError, TypeError, AttributeError):
            return None

    def _today(self, record: CompactionRecord) -> CompactionRecord:
        """A record as it stands now: if its process died, it is ``failed``, with those of its commits that stand."""
        lease = self._kernel.settings.lease_seconds
        if record.is_over or self._kernel.heartbeats.alive(self._layout, record.id, lease):
            return record
        again = self._read(_path(self._layout, record.id))  # it may have ended between the two looks
        if again is not None and again.is_over:
            return again
        commits = {commit.txn: commit.version for commit in commits_of(self._kernel, self.table)}
        versions = tuple(commits[txn] for txn in record.txns if txn in commits)
        stands = f"; {len(versions)} of its commits stand" if versions else ""
        return dataclasses.replace(
            record, state="failed", versions=versions, error=f"its process died{stands}"
        )

    def _remove_oldest(self) -> None:
        try:
            names = sorted(entry.path for entry in self._files.list(self._layout.compactions))
            for path in names[:-_MOST_RECORDS]:
                self._files.delete(path)
        except StorageError as error:
            _LOG.log(log_level(error), "Old records of %s could not be removed: %s", self.table, error)


def _path(layout: Layout, record: str) -> str:
    return f"{layout.compactions}/{record}.json"
