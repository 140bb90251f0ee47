"""The version that a commit makes, while its updates are applied to the one before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from lakemerge.kernel.table.manifest import Manifest, PartitionState, Reference
from lakemerge.kernel.table.overlay import Overlay

#: What happens with the given folders of side data: they are added to the existing ones, replace all of these, replace
#: those of the version that the work was done on, or are removed.
SideDataMode = Literal["add", "set", "fold", "drop"]


class ReplacedMeanwhile(Exception):
    """Another commit has changed what an update replaces; its text says what."""


class Draft:
    """A state to change. Each method changes it and notes what it touched, so that neither is done without the other.

    Attributes:
        partitions, sidecars, references, overlay: the state.
        written, removed: the partitions that are touched.
        rewritten: those of them whose rows stay as they are, and only move to other files.
        side_data_touched: by kind, the partitions that the change concerns; ``None`` for any.
        fenced: transactions that must not commit any more.
        side_data_for: by kind, what it is made for.
        kept: the version before, if anything of it stays; ``None`` if nothing does.
    """

    def __init__(self, parent: Manifest | None, base: Manifest | None, present: Iterable[str]) -> None:
        """
        Args:
            parent: the version before; ``None`` for the first.
            base: the version that the work was done on.
            present: the partitions that the metastore has, besides those that the version before names.
        """
        self._base = base
        self._present = frozenset(present)
        self.kept = parent
        self.partitions = dict(parent.partitions) if parent else {}
        self.sidecars = dict(parent.sidecars) if parent else {}
        self.written: set[str] = set()
        self.removed: set[str] = set()
        self.rewritten: set[str] = set()
        self.side_data_for = dict(parent.side_data_for) if parent else {}
        self.side_data_touched: dict[str, tuple[str, ...] | None] = {}
        self.references = dict(parent.references) if parent else {}
        self.fenced: set[str] = set()
        self.overlay = parent.overlay if parent else None

    def clear(self) -> None:
        """Let nothing of the version before stay."""
        self.remove([*self.partitions, *self._present], data_change=True)
        self.side_data_touched.update(dict.fromkeys(self.sidecars))
        self.sidecars = {}
        self.side_data_for = {}
        self.kept = None

    def remove(self, names: Iterable[str], *, data_change: bool) -> None:
        """Drop partitions, whether they exist or not."""
        for name in names:
            self.partitions.pop(name, None)
            self.written.discard(name)
            self._touch(self.removed, name, data_change)

    def write(self, states: Mapping[str, PartitionState], *, data_change: bool) -> None:
        """Add partitions, or replace their content."""
        for name, state in states.items():
            self.partitions[name] = state
            self.removed.discard(name)
            self._touch(self.written, name, data_change)

    def _touch(self, names: set[str], name: str, data_change: bool) -> None:
        names.add(name)
        if data_change:
            self.rewritten.discard(name)
        else:
            self.rewritten.add(name)

    def change_side_data(
        self, kind: str, paths: Sequence[str], mode: SideDataMode, concerns: Iterable[str] | None
    ) -> None:
        """Add folders of side data, drop some, or replace those that the work was done on.

        Raises:
            ReplacedMeanwhile: the folders that would be replaced have changed meanwhile.
        """
        before = self._base.sidecars.get(kind, ()) if self._base else ()
        now = self.kept.sidecars.get(kind, ()) if self.kept else before
        if (mode == "set" and self._base and now != before) or (
            mode == "fold" and not set(before) <= set(now)
        ):
            raise ReplacedMeanwhile(f"side data ({kind})")
        stay = self.sidecars.get(kind, ())
        later = tuple(path for path in stay if path not in before)
        self.sidecars[kind] = {
            "add": (*stay, *paths),
            "set": tuple(paths),
            "fold": (*paths, *later),
            "drop": tuple(path for path in stay if path not in paths),
        }[mode]
        known = self.side_data_touched.get(kind, ())
        anybody = known is None or concerns is None
        self.side_data_touched[kind] = None if anybody else tuple(sorted({*(known or ()), *(concerns or ())}))

    def set_overlay(self, overlay: Overlay | None) -> None:
        """Put a view in the table's place, or take it away."""
        self.overlay = overlay

    def set_reference(self, name: str, reference: Reference | None) -> None:
        """Let a name stand for a version; ``None`` takes the name away.

        Raises:
            ReplacedMeanwhile: it stands for another version than when the work was started.
        """
        before = self._base.references.get(name) if self._base else None
        if self._base and self.references.get(name) != before:
            raise ReplacedMeanwhile(f"the reference {name}")
        if reference is None:
            self.references.pop(name, None)
        else:
            self.references[name] = reference

    def describe_side_data(self, kind: str, purpose: Mapping[str, Any] | None) -> None:
        """Say what side data is made for; ``None`` leaves that unknown.

        Raises:
            ReplacedMeanwhile: another commit has made it for something else since the work was done.
        """
        known = self._base.side_data_for.get(kind) if self._base else None
        if self.kept and self.kept.side_data_for.get(kind) not in (known, purpose):
            raise ReplacedMeanwhile(kind)
        self.side_data_for.pop(kind, None)
        if purpose is not None:
            self.side_data_for[kind] = purpose
