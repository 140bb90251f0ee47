"""Which of the available items a run takes: oldest first, within limits, suspects apart, in smaller groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from lakemerge.consumer.items import Item


@dataclass(frozen=True)
class Candidate:
    """An available item.

    Attributes:
        suspicion: see :attr:`Row.suspicion`; 0 if it is not a suspect.
        batch_size: the size of the group that it was last taken in.
    """

    item: Item
    suspicion: int = 0
    batch_size: int = 0


@dataclass(frozen=True)
class Spent:
    """The suspects that a run has taken so far: its limits count all groups of them."""

    items: int = 0
    bytes: int = 0

    def and_then(self, items: Sequence[Item]) -> Spent:
        return Spent(self.items + len(items), self.bytes + sum(item.bytes for item in items))


def choose(candidates: Sequence[Candidate], limit: int | None, max_bytes: int | None) -> list[Item]:
    """The items that are not suspects; they are tried together.

    Args:
        candidates: the oldest first.
        limit, max_bytes: take no more than this; ``None`` for no limit. One item is always taken.
    """
    fresh = [one.item for one in candidates if not one.suspicion]
    return _within(fresh, limit, max_bytes, Spent())


def choose_suspects(
    candidates: Sequence[Candidate], limit: int | None, max_bytes: int | None, spent: Spent
) -> list[Item]:
    """The next group of suspects.

    Any of them may be to blame, so each try halves the group, until a suspect is tried alone. Those with
    the least against them come first: a bad one does not keep others waiting for more than one failure.

    Args:
        candidates: the oldest first.
        limit, max_bytes: take no more than this in a run; ``None`` for no limit.
        spent: what the run has taken so far. Its first group has at least one item.
    """
    suspects = sorted(
        (one for one in candidates if one.suspicion), key=lambda one: (one.suspicion, -one.batch_size)
    )
    if not suspects:
        return []
    first = suspects[0]
    group = [
        one.item for one in suspects if (one.suspicion, one.batch_size) == (first.suspicion, first.batch_size)
    ]
    return _within(group[: max(1, first.batch_size // 2)], limit, max_bytes, spent)


def choose_in_order(
    candidates: Sequence[Candidate],
    limit: int | None,
    max_bytes: int | None,
    spent: Spent,
    *,
    suspects: bool | None = None,
) -> list[Item]:
    """The next items of a consumer that takes none before those ahead of it: a suspect holds up what follows.

    Args:
        candidates: the oldest first.
        limit, max_bytes: take no more than this in a run; ``None`` for no limit.
        spent: what the run has taken so far. Its first group has at least one item.
        suspects: ``False`` to take nothing if a suspect is next.
    """
    if not candidates or (suspects is False and candidates[0].suspicion):
        return []
    first = candidates[0]
    group = [
        one.item for one in takewhile(lambda one: bool(one.suspicion) == bool(first.suspicion), candidates)
    ]
    if first.suspicion:
        group = group[: max(1, first.batch_size // 2)]
    return _within(group, limit, max_bytes, spent)


def _within(items: Sequence[Item], limit: int | None, max_bytes: int | None, spent: Spent) -> list[Item]:
    chosen: list[Item] = []
    for item in items:
        after = spent.and_then([*chosen, item])
        full = limit is not None and after.items > limit
        if after.items > 1 and (full or (max_bytes is not None and after.bytes > max_bytes)):
            break
        chosen.append(item)
    return chosen
