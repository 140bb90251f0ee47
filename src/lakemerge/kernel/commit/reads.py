"""What a transaction has read, and whether what other commits have changed since is any of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from lakemerge.kernel.table.manifest import Manifest, PartitionState
from lakemerge.kernel.table.overlay import FOLDED


@dataclass
class Reads:
    """Everything that the work of a transaction depends on.

    Attributes:
        partitions: names of those that were read, whether they are there or not.
        everything: whether all partitions were read, including those that later commits add.
        known: all partitions there were, if those that later commits add were looked for, and not found; ``None`` if
            they were not.
        states: of those that exist, the states in which they were read.
        side_data: by kind, the partitions whose side data was read; ``None`` for that of all.
        rows: whether any commit that changes rows, whatever partitions it touches, is in conflict with the work; a
            commit that only moves rows is not.
        places: whether the work depends on where the rows of the partitions lie; if not, a commit that only moves rows
            may come between.
    """

    partitions: set[str] = field(default_factory=set)
    everything: bool = False
    known: frozenset[str] | None = None
    states: dict[str, PartitionState] = field(default_factory=dict)
    side_data: dict[str, frozenset[str] | None] = field(default_factory=dict)
    rows: bool = False
    places: bool = True

    def __bool__(self) -> bool:
        return bool(self.partitions or self.everything or self.side_data or self.rows)

    @property
    def has_partitions(self) -> bool:
        return bool(self.partitions) or self.everything

    def unread(self, names: frozenset[str] | None) -> frozenset[str] | None:
        """Those of some partitions (``None``: all) that nobody has looked at yet for this transaction."""
        if self.everything:
            return frozenset()
        return None if names is None else names - self.partitions

    def add_partitions(self, base: Manifest, names: frozenset[str] | None, *, missing: bool = False) -> None:
        """Note partitions of a version (``None``: all) as read, even missing ones: they may be made meanwhile.

        Args:
            missing: whether others were looked for, whatever their names.
        """
        known = base.partitions
        self.partitions |= set(known) if names is None else names
        present = known if names is None else names & set(known)
        self.states.update({name: known[name] for name in present})
        self.everything = self.everything or names is None
        if missing:
            self.known = frozenset(known)

    def add_side_data(self, kind: str, names: Iterable[str] | None) -> None:
        """Note the side data of a kind that concerns these partitions (``None``: all) as read."""
        before = self.side_data.get(kind, frozenset())
        self.side_data[kind] = None if names is None or before is None else before | frozenset(names)

    def follow_moves(self, moved: Iterable[str], newest: Manifest) -> None:
        """Regard partitions that others have only moved as read at their places in a later version."""
        for name in moved:
            if self.everything or name in self.partitions:
                self.states.pop(name, None)
                if name in newest.partitions:
                    self.states[name] = newest.partitions[name]

    def forget_partitions(self, names: Iterable[str]) -> None:
        """Let the work no longer depend on these partitions, because what was made of them is left out."""
        for name in names:
            self.partitions.discard(name)
            self.states.pop(name, None)

    def lacks(self, names: Iterable[str]) -> tuple[str, ...] | None:
        """Those of these partitions that were not read; ``None`` where none was."""
        if not self.has_partitions:
            return None
        return () if self.everything else tuple(sorted(set(names) - self.partitions))

    def meets(self, later: Manifest, *, rewrites: bool) -> bool:
        """Whether a later commit has changed anything that was read.

        Args:
            rewrites: whether the work gives partitions new rows, made from those that it read. Then it does not matter
                which files hold the old rows by now, as long as each partition still has its own rows.
        """
        moved = frozenset(later.rewritten)
        if self.places:
            moved = moved & frozenset(later.written) & self.states.keys() if rewrites else frozenset()
        touched = later.touched - moved
        if self.known is not None and not (later.touched - set(later.rewritten)) <= self.known:
            return True
        if (self.rows and changes_rows(later)) or touched & self.partitions or (self.everything and touched):
            return True
        return any(
            _overlap(names, later.side_data_touched[kind])
            for kind, names in self.side_data.items()
            if kind in later.side_data_touched
        )


def changes_rows(later: Manifest) -> bool:
    """Whether a commit has other rows than the one before it, in its partitions or by its side data."""
    moves = not later.touched or later.only_moves_rows
    concerned = {kind: names for kind, names in later.side_data_touched.items() if kind != FOLDED}
    return not moves or any(_overlap(None, names) for names in concerned.values())


def _overlap(one: frozenset[str] | None, other: tuple[str, ...] | None) -> bool:
    """Whether two sets of partitions share any; ``None`` is all of them."""
    if other is not None and not other:
        return False
    if one is None or other is None:
        return True
    return not one.isdisjoint(other)
