"""What a commit does to a table: a list of updates.

They are values, made before the commit is decided and applied to whatever version it turns out to follow. What each of
them touches, side data included, is recorded in the :class:`Draft`: other commits are checked against that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from lakemerge.kernel.commit.draft import Draft, SideDataMode
from lakemerge.kernel.ports.metastore import HiveColumn
from lakemerge.kernel.protocol.staging import partitions_of_version
from lakemerge.kernel.table.manifest import PartitionState, Reference
from lakemerge.kernel.table.overlay import Overlay


@dataclass(frozen=True)
class Update:
    """One change of a table.

    Attributes:
        rank: when it is applied, whatever the order in which the updates of a commit were given.
    """

    rank: ClassVar[int] = 9

    def apply(self, draft: Draft) -> None:
        """Change the version that is being made. Does nothing for what the manifest does not hold."""

    def without(self, names: Set[str]) -> Update:
        """This update with nothing done to these partitions."""
        return self


@dataclass(frozen=True)
class Unit:
    """Partitions whose rows a commit only moves, and which it can do without.

    If another commit or program changes one of them first, the unit is left out, and the rest of the commit stands.

    Attributes:
        partitions: the names of all that are read, written or removed for it.
        metrics: what it adds to the commit's counts.
    """

    partitions: frozenset[str]
    metrics: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class ReplaceAll(Update):
    """Let nothing stay of the version before: neither partitions nor side data."""

    rank: ClassVar[int] = 0

    def apply(self, draft: Draft) -> None:
        draft.clear()


@dataclass(frozen=True)
class SetSchema(Update):
    """Give the table these columns, format and (of a table of the append kind) commit column."""

    rank: ClassVar[int] = 1

    columns: tuple[HiveColumn, ...]
    partition_columns: tuple[HiveColumn, ...]
    file_format: str
    commit_column: str


@dataclass(frozen=True)
class RemovePartitions(Update):
    """Drop partitions.

    Attributes:
        data_change: whether rows change; if not, their rows are in partitions that are written.
    """

    rank: ClassVar[int] = 2

    names: frozenset[str]
    data_change: bool = True

    def apply(self, draft: Draft) -> None:
        draft.remove(sorted(self.names), data_change=self.data_change)

    def without(self, names: Set[str]) -> RemovePartitions:
        return replace(self, names=self.names - names)


@dataclass(frozen=True)
class WritePartitions(Update):
    """Add partitions, or replace their content.

    Attributes:
        states: by name; a null in the commit column stands for the version that will be made.
        data_change: whether rows change, or only how they lie in files.
    """

    rank: ClassVar[int] = 3

    states: Mapping[str, PartitionState]
    data_change: bool = True

    def in_version(self, commit_column: str, version: int) -> WritePartitions:
        """This update by the names that its partitions have in a version."""
        return replace(self, states=partitions_of_version(self.states, commit_column, version))

    def apply(self, draft: Draft) -> None:
        draft.write(self.states, data_change=self.data_change)

    def without(self, names: Set[str]) -> WritePartitions:
        return replace(self, states={name: one for name, one in self.states.items() if name not in names})


@dataclass(frozen=True)
class ChangeSideData(Update):
    """Add, set, fold or drop folders of side data.

    Attributes:
        paths: relative to the table's root.
        mode: how they relate to the existing ones.
        concerns: the partitions to whose readers the change may matter; ``None`` for any.
    """

    rank: ClassVar[int] = 4

    kind: str
    paths: tuple[str, ...]
    mode: SideDataMode
    concerns: frozenset[str] | None

    def apply(self, draft: Draft) -> None:
        draft.change_side_data(self.kind, self.paths, self.mode, self.concerns)


@dataclass(frozen=True)
class SetReference(Update):
    """Let a name stand for a version, whose files vacuum then keeps.

    Attributes:
        reference: of the version, which may be this commit's own; ``None`` takes the name away.
    """

    rank: ClassVar[int] = 5

    name: str
    reference: Reference | None

    def apply(self, draft: Draft) -> None:
        draft.set_reference(self.name, self.reference)


@dataclass(frozen=True)
class SetOverlay(Update):
    """Let readers see the table through a view over its base and its deltas; ``None``: let them read the table."""

    rank: ClassVar[int] = 5

    overlay: Overlay | None

    def apply(self, draft: Draft) -> None:
        draft.set_overlay(self.overlay)


@dataclass(frozen=True)
class Fence(Update):
    """Keep transactions that are taken for dead from committing."""

    rank: ClassVar[int] = 6

    transactions: frozenset[str]

    def apply(self, draft: Draft) -> None:
        draft.fenced |= self.transactions


@dataclass(frozen=True)
class DescribeSideData(Update):
    """Record what side data is made for. The record stays with the side data, whoever commits.

    Attributes:
        purpose: an object for JSON; ``None`` to leave it unknown.
    """

    rank: ClassVar[int] = 4

    kind: str
    purpose: Mapping[str, Any] | None

    def apply(self, draft: Draft) -> None:
        draft.describe_side_data(self.kind, self.purpose)


@dataclass(frozen=True)
class SetParameters(Update):
    """Set parameters of the metastore's row, such as ``comment``."""

    parameters: Mapping[str, str]


def in_order(updates: Iterable[Update]) -> list[Update]:
    """Updates in the order in which they are applied."""
    return sorted(updates, key=lambda update: update.rank)
