"""Which partitions a compaction moves deltas into, where it may not write all of them again."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass

from lakemerge.engine.macros import Macros
from lakemerge.engine.merge_on_read.bounds import BYTES_OF_A_LOT, Bounds
from lakemerge.engine.publish.node_transaction import NodeTransaction
from lakemerge.engine.publish.queries import Queries
from lakemerge.kernel import Group, within

# Each commit that leaves partitions to a later one reads the base's keys once more, so there are few such commits.
_MOST_LOTS = 8


@dataclass(frozen=True)
class Share:
    """The partitions that the deltas change, by name.

    Attributes:
        taken: those that this commit writes again.
        left: those that it leaves to later commits, and for which deltas stay.
        bytes: of the partitions taken.
        lot: how many bytes such a commit takes at most, unless it takes a single partition.
        goes_on: whether the next commit has more to take, within the bounds.
    """

    taken: list[str]
    left: list[str]
    bytes: int = 0
    lot: int = 0
    goes_on: bool = False


def share_of(
    txn: NodeTransaction, bounds: Bounds, macros: Macros, queries: Queries, lot: int | None = None
) -> Share:
    """Choose partitions within bounds: first those that take the most keys out of the deltas for their bytes.

    A key that moves to another partition stays in the deltas until both of its partitions are written. So that each
    commit makes progress, the partition that the key comes from is written first. Partitions that take out no key
    before others are written come last: only if all others are chosen.

    Args:
        lot: that of the commits before; ``None`` for the first.
    """
    if not bounds and lot is None:
        rows = queries.rows(macros.lakemerge_delta_partitions_sql(txn))
        names = txn.partitions.names_of(row.partition_text for row in rows)
        size = txn.partitions.amount(names).bytes
        lot = max(BYTES_OF_A_LOT, size // _MOST_LOTS)
        if size <= lot:
            return Share(names, [], size, lot)
    ends: Counter[tuple[str, ...]] = Counter()
    for row in queries.rows(macros.lakemerge_delta_ends_sql(txn)):
        ends[tuple(txn.partitions.names_of([row.partition_text]))] += row.ends
    every = {name for names in ends for name in names}
    matching = bounds.matching(every, txn.partitions.columns, queries)
    groups = {names: _group(txn, names) for names in ends}
    ending = sorted((names for names in ends if ends[names]), key=lambda one: groups[one].bytes / ends[one])
    chosen = within([groups[names] for names in ending if matching.issuperset(names)], bounds.max_bytes)
    if len(chosen) == len(ending):
        waiting = [groups[names] for names in ends if not ends[names] and matching.issuperset(names)]
        chosen += within(waiting, bounds.without(sum(group.bytes for group in chosen)).max_bytes)
    if lot is None:
        lot = max(BYTES_OF_A_LOT, sum(group.bytes for group in chosen) // _MOST_LOTS)
    first = _first_of(chosen, lot)
    taken = {name for group in first for name in group.members}
    size = sum(group.bytes for group in first)
    return Share(sorted(taken), sorted(every - taken), size, lot, len(first) < len(chosen))


def _first_of(groups: list[Group], lot: int) -> list[Group]:
    """The first groups, in order, that together have at most ``lot`` bytes; at least one."""
    sizes = itertools.accumulate(group.bytes for group in groups)
    fitting = sum(1 for size in sizes if size <= lot)
    return groups[: max(1, fitting)]


def _group(txn: NodeTransaction, names: tuple[str, ...]) -> Group:
    amount = txn.partitions.amount(names)
    return Group(names, amount.files, amount.bytes)
