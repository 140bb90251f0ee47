"""Which of the available partitions a run takes: oldest first, within limits, failed ones in smaller groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lakemerge.consumer.items import Item


@dataclass(frozen=True)
class Candidate:
    """An available item.

    Attributes:
        failures: how often it has failed.
        together: in a group of how many it failed last.
    """

    item: Item
    failures: int = 0
    together: int = 0


def choose(
    candidates: Sequence[Candidate], limit: int | None, max_bytes: int | None, *, max_retries: int
) -> list[Item]:
    """The items of one run.

    Those that have failed are not mixed with new ones, and are taken in half as large a group each time, at last alone,
    so that one bad partition does not drag others with it.

    Args:
        candidates: the oldest first.
        limit, max_bytes: not more of them; ``None`` for no limit. One item is always taken.
    """
    if not candidates:
        return []
    first = candidates[0]
    group = [one for one in candidates if bool(one.failures) == bool(first.failures)]
    if first.failures:
        half = 1 if first.failures >= max_retries else max(1, first.together // 2)
        limit = half if limit is None else min(limit, half)
    chosen: list[Item] = []
    size = 0
    for candidate in group:
        size += candidate.item.bytes
        full = limit is not None and len(chosen) >= limit
        if chosen and (full or (max_bytes is not None and size > max_bytes)):
            break
        chosen.append(candidate.item)
    return chosen
