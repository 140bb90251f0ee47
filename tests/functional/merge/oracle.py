"""What a merge must do, in plain Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

Change = dict[str, Any]


@dataclass
class Oracle:
    """A table that changes are applied to one batch after another; ``ts`` orders the changes of ``id``."""

    rows: dict[Any, Change] = field(default_factory=dict)
    known: dict[Any, int] = field(default_factory=dict)
    horizon: int = -1

    def apply(self, batch: Iterable[Change]) -> Counter[str]:
        """Apply a batch; returns how many rows were inserted, updated, deleted, and how many changes ignored."""
        counts: Counter[str] = Counter()
        latest: dict[Any, Change] = {}
        for change in batch:
            if change["op"] == "T":
                self.horizon = max(self.horizon, change["ts"])
            elif change["id"] not in latest or change["ts"] > latest[change["id"]]["ts"]:
                latest[change["id"]] = change
        for key, change in latest.items():
            kept, newer = key in self.rows, change["ts"] > max(self.known.get(key, -1), self.horizon)
            if newer:
                self.known[key] = change["ts"]
            if not newer or (change["op"] == "D" and not kept):
                counts["ignored"] += 1
            elif change["op"] == "D":
                del self.rows[key]
                counts["deleted"] += 1
            else:
                self.rows[key] = {name: value for name, value in change.items() if name != "op"}
                counts["updated" if kept else "inserted"] += 1
        ended = [key for key, row in self.rows.items() if row["ts"] <= self.horizon]
        for key in ended:
            del self.rows[key]
            counts["deleted"] += 1
        return counts

    def table(self) -> list[Change]:
        """The rows in the order of their keys."""
        return [self.rows[key] for key in sorted(self.rows)]
