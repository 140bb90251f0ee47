"""The working set: which partitions are available, in progress, processed or discarded, in a table people can query.

It is a small text table of lakemerge's own beside the output, written by commits like any other, so two runs can never
take the same partition. It is for coordination and inspection only: what is processed is decided by the output's
commits alone.
"""

from __future__ import annotations

import datetime
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from lakemerge.consumer.progress import Key
from lakemerge.errors import CommitConflict, LakemergeError
from lakemerge.kernel import (
    TEXT,
    WHOLE_TABLE,
    HiveColumn,
    Kernel,
    Layout,
    TableDefinition,
    TableName,
    Transaction,
    drop,
    vacuum,
)

_LOG = logging.getLogger("lakemerge")

AVAILABLE, IN_PROGRESS, PROCESSED, DISCARDED = "available", "in_progress", "processed", "discarded"

_TYPES = {"version": "bigint", "bytes": "bigint", "failures": "int", "batch_size": "int", "deaths": "int"}
# After every ``_VACUUM_EVERY`` versions the older ones are removed; a reader of one of them has ``_READING`` for it.
_VACUUM_EVERY = 25
_READING = datetime.timedelta(hours=1)


@dataclass(frozen=True)
class Row:
    """A partition of a source as a consumer sees it.

    Attributes:
        version: of the source that wrote it, where it has versions.
        content: identity of the content, as in :class:`Item`.
        bytes: size of its files.
        state: available, in_progress, processed or discarded.
        failures: how many runs have failed with it, or taken too long.
        batch_size: the size of the group that it was last taken in.
        reason: why it failed last.
        run: the run that has it in progress, or had it last.
        changed_at: when the state became this, ISO 8601 in UTC.
        deaths: how many runs have died with it.
    """

    source: str
    consumer: str
    partition: str
    version: int | None
    content: str
    bytes: int
    state: str
    failures: int = 0
    batch_size: int = 0
    reason: str = ""
    run: str = ""
    changed_at: str = ""
    deaths: int = 0

    @property
    def key(self) -> Key:
        return self.source, self.consumer

    def age(self, now: datetime.datetime) -> datetime.timedelta:
        """Time since the state changed, by the clocks of the process that looks and the one that changed it."""
        return now - datetime.datetime.fromisoformat(self.changed_at)

    @property
    def suspicion(self) -> int:
        """How suspect it is: its failures, and its deaths except the first.

        A process that is killed says little about its partitions: hosts are shut down, containers are moved. One that
        makes every run die does so again.
        """
        return self.failures + max(0, self.deaths - 1)

    def failed(self, reason: str, max_retries: int, at: str) -> Row:
        """After a run that failed with it."""
        return replace(self, failures=self.failures + 1)._free(reason, max_retries, at)

    def died(self, reason: str, max_retries: int, at: str) -> Row:
        """After a run that died with it."""
        return replace(self, deaths=self.deaths + 1)._free(reason, max_retries, at)

    def _free(self, reason: str, max_retries: int, at: str) -> Row:
        """Available again, or discarded if it is too suspect and was tried alone last."""
        # any of several partitions may be to blame: try them in smaller groups first
        state = DISCARDED if self.suspicion > max_retries and self.batch_size <= 1 else AVAILABLE
        return replace(self, state=state, reason=reason, changed_at=at)


COLUMNS = tuple(HiveColumn(field.name, _TYPES.get(field.name, "string")) for field in fields(Row))

Rows = Mapping[str, Row]


@dataclass(frozen=True)
class Contents:
    """The working set of all consumers of one output.

    Attributes:
        rows: by consumer and partition.
        started: what a consumer's last run has started from: its progress as JSON, ``where`` and ``on_rewrite``.
    """

    rows: Mapping[Key, Rows]
    started: Mapping[str, Any]

    def with_rows(self, key: Key, rows: Rows) -> Contents:
        return replace(self, rows={**self.rows, key: dict(rows)})

    def without(self, key: Key) -> Contents:
        return Contents(
            {other: rows for other, rows in self.rows.items() if other != key},
            {other: one for other, one in self.started.items() if other != started_key(key)},
        )


def started_key(key: Key) -> str:
    """A consumer's name among ``started``."""
    return " ".join(key)


def started_consumer(text: str) -> Key:
    """The inverse of :func:`started_key`; the names of tables have no blanks."""
    source, _, name = text.partition(" ")
    return source, name


class WorkingSet:
    """The working set of one output."""

    def __init__(self, kernel: Kernel, output: TableName) -> None:
        self.name = TableName(output.schema, f"{output.name}__consumers")
        self._kernel = kernel

    @cached_property
    def layout(self) -> Layout:
        """Where the table keeps its files, and runs their heartbeats; asked for once: a run must be able to end
        its own heartbeat when the metastore no longer answers.
        """
        return Layout(self._kernel.default_root(self.name))

    def read(self) -> Contents:
        """What it holds now; empty where there is no table yet."""
        if not self._kernel.exists(self.name):
            return Contents({}, {})
        transaction = self._kernel.begin(self.name, "read")
        return self._contents(transaction)

    def consumers(self) -> dict[Key, Mapping[str, Any]]:
        """The consumers that have ever taken anything for this output, with what their last run has started from."""
        return {started_consumer(text): start for text, start in sorted(self.read().started.items())}

    def update(self, change: Callable[[Contents], Contents]) -> Contents:
        """Change it in one commit; ``change`` is called again if another run was first.

        Returns:
            What it holds then.
        """
        return self._kernel.retried(lambda: self._update(change), CommitConflict, first=0.05, longest=2)

    def _update(self, change: Callable[[Contents], Contents]) -> Contents:
        with self._begin() as transaction:
            before = self._contents(transaction)
            after = change(before)
            if after == before and transaction.base is not None:
                return after
            text = "".join(_line(row) for rows in after.rows.values() for row in rows.values())
            self._kernel.files.write_text(f"{transaction.stage_directory}/rows.txt", text)
            transaction.add_staged()
            transaction.set_schema(COLUMNS)  # an earlier release may have created it with fewer
            transaction.properties = {"started": dict(after.started)}
            version = transaction.commit()
        if version % _VACUUM_EVERY == 0:
            self._vacuum()
        return after

    def _vacuum(self) -> None:
        try:
            vacuum(self._kernel, self.name, retention=_READING, dry_run=False, allow_short_retention=True)
        except LakemergeError as error:
            _LOG.warning("%s: old versions were not removed; a later run tries again: %s", self.name, error)

    def _begin(self) -> Transaction:
        if self._kernel.exists(self.name):
            transaction = self._kernel.begin(self.name, "consume")
            transaction.read()
            return transaction
        return self._kernel.create(TableDefinition(self.name, COLUMNS, file_format=TEXT), "consume")

    def _contents(self, transaction: Transaction) -> Contents:
        base = transaction.base
        if base is None:
            return Contents({}, {})
        directory = transaction.layout.absolute(base.partitions[WHOLE_TABLE].location)
        rows: dict[Key, dict[str, Row]] = {}
        for entry in self._kernel.files.list(directory):
            if entry.name[:1] not in "_.":
                for row in _rows(self._kernel.files.read_text(entry.path)):
                    rows.setdefault(row.key, {})[row.partition] = row
        return Contents(rows, base.properties.get("started", {}))

    def drop(self) -> None:
        """Drop the table."""
        drop(self._kernel, self.name)


_NULL, _FIELD = "\\N", "\x01"


def _line(row: Row) -> str:
    values = [getattr(row, field.name) for field in fields(Row)]
    return _FIELD.join(_NULL if value is None else _plain(str(value)) for value in values) + "\n"


def _plain(text: str) -> str:
    """The text in one line without the separator: Hive's text tables have no escapes by default."""
    for taken in (_FIELD, "\n", "\r"):
        text = text.replace(taken, " ")
    return text.encode(errors="replace").decode()


def _rows(text: str) -> list[Row]:
    # not splitlines(): an error's text may hold a form feed, U+0085 or U+2028, which end no line for Hive either
    return [_row(line) for line in text.split("\n") if line]


def _row(line: str) -> Row:
    values: dict[str, Any] = {}
    # a row of an earlier release has fewer fields; the others have their defaults
    for field, text in zip(fields(Row), line.split(_FIELD), strict=False):
        value = None if text == _NULL else text
        values[field.name] = int(value) if value is not None and field.name in _TYPES else value
    return Row(**values)
