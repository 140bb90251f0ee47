"""What a merge must do, in plain Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

Change = dict[str, Any]


@dataclass
class Oracle:
    """A table that changes are applied to one batch after another; ``ts`` orders the changes of ``id``.

    Attributes:
        updates: the columns that an update changes; ``None`` for all.
        ignores_nulls: whether a null in an update leaves what is stored.
        known: the sequence of the newest change of each key that counted.
        horizon: the sequence of the newest truncate.
    """

    updates: Collection[str] | None = None
    ignores_nulls: bool = False
    rows: dict[Any, Change] = field(default_factory=dict)
    known: dict[Any, int] = field(default_factory=dict)
    horizon: int = -1

    def apply(self, batch: Iterable[Change]) -> Counter[str]:
        """Apply a batch in the order of its sequences, whatever its own order is.

        Returns:
            How many rows were inserted, updated and deleted, and how many keys were ignored.
        """
        changes = sorted(batch, key=lambda change: int(change["ts"]))
        known, stored = dict(self.known), set(self.rows)
        self.horizon = max([self.horizon, *(change["ts"] for change in changes if change["op"] == "T")])
        self.rows = {key: row for key, row in self.rows.items() if known[key] > self.horizon}
        ended = stored - set(self.rows)
        met = {change["id"] for change in changes if change["op"] != "T"}
        for change in changes:
            if change["op"] != "T" and change["ts"] > max(self.known.get(change["id"], -1), self.horizon):
                self._apply(change)
        counts: Counter[str] = Counter()
        for key in met:
            counts[self._outcome(key, key in stored, self.known.get(key) != known.get(key))] += 1
        counts["deleted"] += sum(self.known[key] == known[key] for key in ended)
        return counts

    def _apply(self, change: Change) -> None:
        key, row = change["id"], {name: value for name, value in change.items() if name != "op"}
        self.known[key] = change["ts"]
        if change["op"] == "D":
            self.rows.pop(key, None)
        elif key not in self.rows:
            self.rows[key] = row
        else:
            taken = row if self.updates is None else {name: row[name] for name in self.updates}
            kept = {n: v for n, v in taken.items() if not (self.ignores_nulls and v is None)}
            self.rows[key] = {**self.rows[key], **kept}

    def _outcome(self, key: Any, was_stored: bool, is_newer: bool) -> str:
        if not is_newer:
            return "ignored"
        if key in self.rows:
            return "updated" if was_stored else "inserted"
        return "deleted" if was_stored else "ignored"

    def table(self) -> list[Change]:
        """The rows in the order of their keys."""
        return [self.rows[key] for key in sorted(self.rows)]
