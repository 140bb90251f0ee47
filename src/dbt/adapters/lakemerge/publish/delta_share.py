"""Which partitions a compaction moves deltas into, where it may not write all of them again."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from dbt.adapters.lakemerge.publish.bounds import Bounds
from dbt.adapters.lakemerge.publish.macros import Macros
from dbt.adapters.lakemerge.publish.node_transaction import NodeTransaction
from dbt.adapters.lakemerge.publish.queries import Queries

from lakemerge.kernel import Group, within


@dataclass(frozen=True)
class Share:
    """The partitions that the deltas change, by name.

    Attributes:
        taken: those that this commit writes again.
        left: those that it leaves to later ones, and for which deltas stay.
    """

    taken: list[str]
    left: list[str]


def share_of(txn: NodeTransaction, bounds: Bounds, macros: Macros, queries: Queries) -> Share:
    """Choose partitions within bounds, those first that take the most keys out of the deltas for their bytes.

    A key that moves to another partition leaves the deltas with the later one of its two. So that each run gets on, the
    one that it comes from goes first; partitions that only wait for others are left, unless nothing else is.
    """
    if not bounds:
        rows = queries.rows(macros.lakemerge_delta_partitions_sql(txn))
        return Share(txn.partitions.names_of(row.partition_text for row in rows), [])
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
    taken = {name for group in chosen for name in group.members}
    return Share(sorted(taken), sorted(every - taken))


def _group(txn: NodeTransaction, names: tuple[str, ...]) -> Group:
    amount = txn.partitions.amount(names)
    return Group(names, amount.files, amount.bytes)
