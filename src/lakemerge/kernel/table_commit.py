"""What one commit does to one table, and what it hangs on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from lakemerge.errors import CommitConflict, CorruptTable
from lakemerge.kernel.definition import TableDefinition
from lakemerge.kernel.filesystem import FileSystem
from lakemerge.kernel.layout import Layout
from lakemerge.kernel.manifest import WHOLE_TABLE, Manifest, PartitionState
from lakemerge.kernel.metastore import HiveColumn
from lakemerge.kernel.names import TableName
from lakemerge.kernel.properties import replaced_meanwhile, united_properties, united_sidecars
from lakemerge.kernel.reads import Reads
from lakemerge.kernel.staging import partitions_of_version, state_after
from lakemerge.kernel.state import TableState, read_manifest

#: Asked right before a claim, of the manifest that the commit will follow (``None``: the table is yet to be made).
Requirement = Callable[["Manifest | None"], None]


@dataclass
class TableCommit:
    """A commit of one table, before it is decided.

    Attributes:
        table_id: of the table that it makes, if it makes one.
        base: the manifest of the version that the work was done on; ``None`` when it makes the table.
        definition: of the table that it makes.
        keys: the partition columns.
        commit_column: of a table of the append kind, the last partition column; else empty.
        reads: what the work hangs on.
        requirements: what must hold besides; each raises where it does not.
        written, removed: partitions.
        replaces_all: whether nothing of the version before stays.
        side_data: folders by kind, and what they are to those that there are.
        side_data_touched: by kind, the partitions that the change concerns; ``None`` for any.
        parameters: table parameters to set.
        metrics: counts for people.
        properties: what later commits need to know; lists are united when another commit came between.
        in_doubt: whether a claim was sent whose outcome is not known.
    """

    table: TableName
    txn: str
    table_id: str
    operation: str
    layout: Layout
    base: Manifest | None
    definition: TableDefinition | None
    columns: tuple[HiveColumn, ...]
    keys: tuple[HiveColumn, ...]
    file_format: str
    commit_column: str
    reads: Reads = field(default_factory=Reads)
    requirements: list[Requirement] = field(default_factory=list)
    written: dict[str, PartitionState] = field(default_factory=dict)
    removed: set[str] = field(default_factory=set)
    replaces_all: bool = False
    side_data: dict[str, tuple[list[str], Literal["add", "set", "fold"]]] = field(default_factory=dict)
    side_data_touched: dict[str, tuple[str, ...] | None] = field(default_factory=dict)
    parameters: dict[str, str] = field(default_factory=dict)
    metrics: dict[str, int] = field(default_factory=dict)
    properties: dict[str, Any] = field(default_factory=dict)
    in_doubt: bool = False

    def check_follows(self, files: FileSystem, state: TableState, parent: Manifest) -> None:
        """Make sure that it may follow on the newest version, by what other commits have done since its base.

        Raises:
            CommitConflict: they have changed something that it hangs on.
        """
        assert self.base is not None
        if parent.txn == self.base.txn:
            return
        if parent.table_id != self.base.table_id:
            raise self.conflict("that the table was dropped and made again")
        if self.replaces_all and not self.reads:
            return
        step = parent
        while True:
            if self.reads.meets(step) or not step.same_shape(self.base) or step.parent is None:
                author = step.writer.get("node", step.txn)
                raise self.conflict(f"that version {step.version} came first ({step.operation} by {author})")
            if step.parent == self.base.txn:
                return
            try:
                step = read_manifest(files, state.layout, step.parent)
            except CorruptTable as error:
                raise self.conflict("that versions since then are vacuumed") from error

    def check_found(self, found: Mapping[str, PartitionState]) -> None:
        """Make sure that what was read is still the same; other programs do not claim before they write.

        Locations are looked at besides files: a partition may have been added, dropped or moved by hand.

        Args:
            found: the partitions that were read (or all), as they are now.

        Raises:
            CommitConflict: one of them is another.
        """
        for name in self.reads.partitions | (set(found) if self.reads.everything else set()):
            if found.get(name) != self.reads.states.get(name):
                raise self.conflict(f"that another program wrote into {name or 'the table'} meanwhile")

    def conflict(self, found: str) -> CommitConflict:
        """The error that says what came in between."""
        version = self.base.version if self.base else 0
        return CommitConflict(
            expected=f"{self.table} to be as it was read, at version {version}",
            found=found,
            action="The work has to be redone on the newer version.",
        )

    def manifest_after(
        self,
        parent: Manifest | None,
        present: set[str],
        *,
        committed_at: str,
        writer: Mapping[str, str],
        lease_seconds: int,
    ) -> Manifest:
        """The manifest of this commit on top of a version (``None``: as the first).

        Args:
            present: the partitions that the metastore has, of which nothing is to stay when all is replaced.

        Raises:
            CommitConflict: another commit has changed side data that this one replaces.
        """
        version = parent.version + 1 if parent else 1
        written = partitions_of_version(self.written, self.commit_column, version)
        removed = set(self.removed) | present
        if self.replaces_all and parent is not None:
            removed |= set(parent.partitions)
        removed -= set(written)
        kept = None if self.replaces_all else parent
        replaced_whole = kept is not None and not self.keys and WHOLE_TABLE in written
        return Manifest(
            txn=self.txn,
            version=version,
            parent=parent.txn if parent else None,
            table_id=parent.table_id if parent else self.table_id,
            operation=self.operation,
            columns=self.columns,
            partition_columns=self.keys,
            file_format=self.file_format,
            partitions=state_after(parent, written, removed),
            written=tuple(sorted(written)),
            removed=tuple(sorted(removed - {WHOLE_TABLE})),
            committed_at=committed_at,
            metrics=dict(self.metrics),
            properties=united_properties(self.properties, self.base, None if replaced_whole else kept),
            sidecars=self._side_data_after(kept),
            side_data_touched={**self._forgotten_side_data(parent), **self.side_data_touched},
            writer=writer,
            lease_seconds=lease_seconds,
        )

    def _forgotten_side_data(self, parent: Manifest | None) -> dict[str, None]:
        return dict.fromkeys(parent.sidecars) if parent and self.replaces_all else {}

    def _side_data_after(self, kept: Manifest | None) -> dict[str, tuple[str, ...]]:
        if replaced := replaced_meanwhile(self.side_data, self.base, kept):
            raise self.conflict(f"that another commit replaced {replaced} meanwhile")
        return united_sidecars(self.side_data, self.base, kept)
