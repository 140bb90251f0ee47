"""What a history must be, in plain Python: a function of all changes ever delivered, whatever their order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

Change = dict[str, Any]


def history(changes: Iterable[Change], tracked: Sequence[str]) -> list[Change]:
    """The versions of each ``id``, ordered by ``ts``; ``op`` is U, D, or T for a truncate of all.

    Returns:
        Rows of the changes' columns with ``__start_at`` and ``__end_at``, in the order of key and beginning.
    """
    delivered = {(change["id"], change["ts"], change["op"]): change for change in changes}.values()
    truncates = sorted(change["ts"] for change in delivered if change["op"] == "T")
    rows = []
    for key in sorted({change["id"] for change in delivered if change["op"] != "T"}):
        # a truncate comes after the changes of its place in the order, which are void with it
        ends = [{"id": key, "ts": ts, "op": "T"} for ts in truncates]
        own = [change for change in delivered if change["id"] == key and change["ts"] not in truncates]
        rows += _versions(sorted([*own, *ends], key=lambda change: change["ts"]), tracked)
    return rows


def _versions(events: list[Change], tracked: Sequence[str]) -> list[Change]:
    versions: list[Change] = []
    current: Change | None = None
    for event in events:
        if event["op"] == "U" and current and all(event[name] == current[name] for name in tracked):
            current.update({name: value for name, value in event.items() if name != "op"})
            continue
        if current:
            current["__end_at"] = event["ts"]
            current = None
        if event["op"] == "U":
            current = {**event, "__start_at": event["ts"], "__end_at": None}
            del current["op"]
            versions.append(current)
    return versions
