"""Which partitions of a table of the append kind are to be merged, for they are small and many."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from lakemerge.kernel.maintenance.tiers import tier_of
from lakemerge.kernel.table.manifest import Manifest

# What one compaction takes on, so that its claim is held for a second or two and its filter stays short.
_MOST_GROUPS = 50
_MOST_MEMBERS = 500


@dataclass(frozen=True)
class Group:
    """Partitions that become one.

    Attributes:
        members: their names, by commit.
        commit: the newest of their commits, whose partition the rows of all move to.
    """

    members: tuple[str, ...]
    commit: int

    @property
    def target(self) -> str:
        return self.members[-1]


def groups_to_merge(manifest: Manifest, commit_column: str, *, after: int, below: int) -> list[Group]:
    """The groups of small partitions that are large enough to be merged.

    Args:
        after: how many partitions of one tier make a group; 0 for none ever.
        below: bytes from which on a partition is not small any more.
    """
    if not after:
        return []
    tiers: dict[tuple[str, int], list[tuple[int, str]]] = defaultdict(list)
    for name, state in manifest.partitions.items():
        others, _, last = name.rpartition("/")
        column, _, value = last.partition("=")
        if column == commit_column and value.isdigit() and state.bytes < below:
            tiers[others, tier_of(state.bytes)].append((int(value), name))
    groups = []
    for _, members in sorted(tiers.items()):
        if len(members) >= after:
            chosen = sorted(members)[:_MOST_MEMBERS]
            groups.append(Group(tuple(name for _, name in chosen), chosen[-1][0]))
    return groups[:_MOST_GROUPS]
