"""Which of a table's files should be rewritten, decided from its manifest alone.

There are two rules, whose findings have one form (:class:`Group`): a partition that has many small files gets few, and
small partitions of many commits become one.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass

from lakemerge.kernel.commit.updates import Unit
from lakemerge.kernel.maintenance.tiers import tier_of
from lakemerge.kernel.table.manifest import Manifest, PartitionState

#: The most that one commit of a compaction takes on: so it holds its claim for only a second or two, and its filter
#: stays short.
MOST_GROUPS = 50
_MOST_MEMBERS = 500


@dataclass(frozen=True)
class Group:
    """Partitions whose rows are rewritten together, into the place of the newest of them.

    Attributes:
        members: their names, in the order of their commits; only one where a partition gets new files in its own place.
        files, bytes: what they hold together.
    """

    members: tuple[str, ...]
    files: int
    bytes: int

    @property
    def target(self) -> str:
        """The partition that all rows are in afterwards."""
        return self.members[-1]

    @property
    def commit(self) -> int | None:
        """The newest commit's number if several partitions become one; ``None`` for a single partition."""
        return int(self.target.rpartition("=")[2]) if len(self.members) > 1 else None

    @property
    def unit(self) -> Unit:
        """The group as a unit of a commit, which can do without it."""
        counts = {"compacted": len(self.members), "files_before": self.files, "bytes_before": self.bytes}
        return Unit(frozenset(self.members), counts)


@dataclass(frozen=True)
class SmallFiles:
    """When a partition has too many files.

    Attributes:
        target: bytes that a file should have.
        files: fewer than this many are few enough, however small they are.
        surplus: up to this many times the files that its bytes ask for are few enough.
    """

    target: int
    files: int = 2
    surplus: int = 1

    def fitting(self, size: int) -> int:
        """How many files this many bytes ask for."""
        return max(1, math.ceil(size / self.target))

    def packed(self, size: int) -> int:
        """How many files packing leaves at most.

        Two files that lie next to each other in the packing do not fit into one, so files are at least half full on
        average. A partition with no more files than this is never rewritten, whatever else is asked for.
        """
        return 1 if size <= self.target else 2 * self.fitting(size)

    def has_many(self, state: PartitionState) -> bool:
        """Whether a partition should be packed."""
        needed = max(self.packed(state.bytes), self.surplus * self.fitting(state.bytes))
        return state.files >= self.files and state.files > needed


def groups_to_merge(manifest: Manifest, commit_column: str, *, after: int, below: int) -> list[Group]:
    """The groups of small partitions that are large enough to be merged.

    Args:
        commit_column: the last partition column, whose number distinguishes the partitions of commits. 0 belongs to no
            commit.
        after: how many partitions of one tier make a group; 0 for never.
        below: the size in bytes from which a partition is no longer small.
    """
    if not after:
        return []
    tiers: dict[tuple[str, int], list[tuple[int, str]]] = defaultdict(list)
    for name, state in manifest.partitions.items():
        others, _, last = name.rpartition("/")
        column, _, value = last.partition("=")
        if column == commit_column and value.isdigit() and int(value) and state.bytes < below:
            tiers[others, tier_of(state.bytes)].append((int(value), name))
    groups = []
    for _, members in sorted(tiers.items()):
        if len(members) >= after:
            chosen = sorted(members)[:_MOST_MEMBERS]
            groups.append(group_of(manifest, [name for _, name in chosen]))
    return groups[:MOST_GROUPS]


def partitions_to_pack(
    manifest: Manifest, rule: SmallFiles, names: Iterable[str] | None = None
) -> list[Group]:
    """The partitions with too many small files; those that lose the most files for their bytes come first.

    Args:
        names: which are looked at; all if ``None``.
    """
    looked_at = manifest.partitions if names is None else set(names) & set(manifest.partitions)
    found = [group_of(manifest, [name]) for name in looked_at if rule.has_many(manifest.partitions[name])]
    return sorted(
        found, key=lambda one: ((one.files - rule.fitting(one.bytes)) / -(one.bytes + 1), one.target)
    )


def group_of(manifest: Manifest, members: Sequence[str]) -> Group:
    """The group of these partitions, with what they hold."""
    states = [manifest.partitions[name] for name in members]
    return Group(tuple(members), sum(one.files for one in states), sum(one.bytes for one in states))


def beside(groups: Iterable[Group], others: Iterable[Group]) -> list[Group]:
    """The groups, followed by those of ``others`` that share no partition with them."""
    first = list(groups)
    taken: Set[str] = {name for group in first for name in group.members}
    return [*first, *(group for group in others if taken.isdisjoint(group.members))]


def within(groups: Iterable[Group], most_bytes: int | None) -> list[Group]:
    """The groups that a run takes on: in their order, without those that would exceed its bytes."""
    taken, left = [], math.inf if most_bytes is None else most_bytes
    for group in groups:
        if group.bytes <= left:
            taken.append(group)
            left -= group.bytes
    return taken


def batches(groups: Iterable[Group], most_bytes: int) -> Iterator[list[Group]]:
    """The groups in lots, each for a commit of its own.

    Args:
        most_bytes: the most bytes of a lot, unless it is a single group.
    """
    lot: list[Group] = []
    for group in groups:
        if lot and (len(lot) == MOST_GROUPS or sum(one.bytes for one in lot) + group.bytes > most_bytes):
            yield lot
            lot = []
        lot.append(group)
    if lot:
        yield lot


def still_there(groups: Iterable[Group], before: Manifest, now: Manifest) -> list[Group]:
    """The groups none of whose partitions has changed between two versions."""

    def same(name: str) -> bool:
        return now.partitions.get(name) == before.partitions.get(name)

    return [group for group in groups if all(map(same, group.members))]
