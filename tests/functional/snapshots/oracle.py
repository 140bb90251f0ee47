"""What a history must be, told by a few lines of Python that know nothing of SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

#: A row of the source: its name and the day that it says it changed on, from 1 to 28; None for an unknown one.
Row = tuple[str | None, int | None]
State = Mapping[int, Row]
# A run's time, which is after every day of the source.
_RUN = 1000


@dataclass
class Version:
    """One version of a key; times are days, or ``_RUN`` and the number of a run."""

    name: str | None
    begins: int | None
    ends: int | None = None
    deleted: bool = False


def histories(states: Sequence[State], strategy: str, hard_deletes: str) -> dict[int, list[Version]]:
    """The versions of each key after a snapshot of each state, oldest first."""
    kept: dict[int, list[Version]] = {}
    for number, state in enumerate(states):
        now = _RUN + number
        for key, (name, day) in state.items():
            time = day if strategy == "timestamp" else now
            versions = kept.setdefault(key, [])
            current = versions[-1] if versions and versions[-1].ends is None else None
            if current is None:
                last = versions[-1].ends if versions else None
                in_order = last is None or (time is not None and time >= last)
                versions.append(Version(name, time if in_order else now))
            elif current.deleted or _changed(current, name, time, strategy):
                in_order = time is not None and (current.begins is None or time > current.begins)
                current.ends = time if in_order else now
                versions.append(Version(name, current.ends))
        for key, versions in kept.items():
            current = versions[-1]
            if key in state or current.ends is not None or current.deleted or hard_deletes == "ignore":
                continue
            current.ends = now
            if hard_deletes == "new_record":
                versions.append(Version(current.name, now, deleted=True))
    return kept


def _changed(current: Version, name: str | None, time: int | None, strategy: str) -> bool:
    if strategy == "check":
        return current.name != name
    return time is not None and (current.begins is None or time > current.begins)
