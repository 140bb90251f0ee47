"""What one commit does to one table, and what it depends on."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from lakemerge.errors import CommitConflict, CorruptTable, InvalidTransactionState
from lakemerge.kernel.commit.draft import Draft, ReplacedMeanwhile
from lakemerge.kernel.commit.new_partitions import require_sound_names
from lakemerge.kernel.commit.properties import united_properties
from lakemerge.kernel.commit.reads import Reads
from lakemerge.kernel.commit.updates import (
    RemovePartitions,
    ReplaceAll,
    SetParameters,
    SetSchema,
    Unit,
    Update,
    WritePartitions,
    in_order,
)
from lakemerge.kernel.ports.filesystem import FileSystem
from lakemerge.kernel.ports.metastore import HiveColumn, HiveTable
from lakemerge.kernel.ports.names import TableName
from lakemerge.kernel.table.definition import COMMIT_COLUMN, TableDefinition
from lakemerge.kernel.table.layout import Layout
from lakemerge.kernel.table.manifest import GROUPS, WHOLE_TABLE, Manifest, PartitionState
from lakemerge.kernel.table.manifests import read_commit
from lakemerge.kernel.table.overlay import DELTAS, FOLDED, MERGE_ON_READ
from lakemerge.kernel.table.state import TableState

#: A check made right before a claim, on the manifest that the commit will follow (``None``: the table is to be made).
Requirement = Callable[["Manifest | None"], None]


@dataclass
class TableCommit:
    """A commit of one table, before it is decided: what it read, what must still hold, and what it changes.

    Attributes:
        txn: its transaction.
        table_id: of the table that it makes, if it makes one.
        base: the manifest of the version that the work was done on; ``None`` when it makes the table.
        definition: of the table that it makes.
        had_commit_column: the last partition column of a table of the append kind before this commit; otherwise empty.
        reads: what the work depends on.
        requirements: further checks; each raises an error if what it requires does not hold.
        updates: what it changes.
        units: what it moves and can do without, each unit by itself; none for a commit that is all or nothing.
        left_out: the units that others changed first.
        metrics: counts for people.
        properties: what later commits need to know; lists are united when another commit came between.
        group: the id of the group, for a commit of several tables.
        writer: who has made it, as manifests record it.
        replaces_view: whether a view that has the name of the table that it makes gives way to the table.
        removed_view: that view, once it is removed.
        accepted, accepted_names: rows, and names of partitions, that are sent after the claim; the metastore has been
            found to take them.
        claim_sent: whether a claim was sent that says that nothing is decided: whoever finds it needs the manifest.
        looked_at: when the files that were read were last found unchanged, by the process's own clock.
    """

    table: TableName
    txn: str
    table_id: str
    operation: str
    layout: Layout
    base: Manifest | None
    definition: TableDefinition | None
    had_commit_column: str
    reads: Reads = field(default_factory=Reads)
    requirements: list[Requirement] = field(default_factory=list)
    updates: list[Update] = field(default_factory=list)
    units: list[Unit] = field(default_factory=list)
    left_out: list[Unit] = field(default_factory=list)
    metrics: dict[str, int] = field(default_factory=dict)
    properties: dict[str, Any] = field(default_factory=dict)
    group: str | None = None
    writer: Mapping[str, str] = field(default_factory=dict)
    replaces_view: bool = False
    removed_view: HiveTable | None = None
    accepted: list[HiveTable] = field(default_factory=list)
    accepted_names: set[str] = field(default_factory=set)
    claim_sent: bool = False
    looked_at: float = -math.inf

    def add_removal(self, names: frozenset[str], data_change: bool) -> None:
        """Drop partitions, also those that it was to write: when updates are applied, writes come after removals."""
        kept = (one.without(names) for one in self.updates)
        self.updates = [*kept, RemovePartitions(names, data_change)]

    # -- what the updates make of it -----------------------------------------------------------

    @property
    def schema(self) -> SetSchema:
        """The schema that the table will have."""
        for update in reversed(self.updates):
            if isinstance(update, SetSchema):
                return update
        shape = self.base or self.definition
        assert shape is not None, "a commit follows on a version, or makes a table"
        return SetSchema(shape.columns, shape.partition_columns, shape.file_format, self.had_commit_column)

    @property
    def keys(self) -> tuple[HiveColumn, ...]:
        """The partition columns."""
        return self.schema.partition_columns

    @property
    def replaces_all(self) -> bool:
        """Whether nothing of the version before stays."""
        return any(isinstance(update, ReplaceAll) for update in self.updates)

    @property
    def writes_whole_table(self) -> bool:
        """Whether it gives an unpartitioned table its content."""
        return any(
            isinstance(update, WritePartitions) and WHOLE_TABLE in update.states for update in self.updates
        )

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters that it sets in the metastore's row."""
        found: dict[str, str] = {}
        if self.schema.commit_column != self.had_commit_column:
            found[COMMIT_COLUMN] = self.schema.commit_column
        for update in self.updates:
            if isinstance(update, SetParameters):
                found.update(update.parameters)
        return found

    # -- whether it may be ---------------------------------------------------------------------

    def check_follows(self, files: FileSystem, state: TableState, parent: Manifest) -> None:
        """Make sure that it may follow the newest version, given what other commits have done since its base.

        Raises:
            CommitConflict: they have changed something that it depends on.
        """
        assert self.base is not None
        if parent.txn == self.base.txn:
            return
        if parent.table_id != self.base.table_id:
            raise self.is_made_again()
        if parent.overlay != self.base.overlay:
            raise self.conflict(
                f"that the table has been given another write_mode by version {parent.version}"
            )
        hangs_on = bool(self.reads) or not self.replaces_all
        rewrites = self._rewrites
        moved: set[str] = set()
        for step in self._steps_since_base(files, state, parent):
            self._check_fence(step)
            self._leave_out(step.touched, f"version {step.version} ({step.operation})")
            # what moves into the base of a table that is merged on read may be rows of deltas, which this has not read
            meets = self.reads.meets(step, rewrites=rewrites and step.overlay is None)
            if hangs_on and (meets or not step.same_shape(self.base) or step.parent is None):
                author = step.writer.get("node", step.txn)
                raise self.conflict(f"that version {step.version} came first ({step.operation} by {author})")
            moved.update(step.rewritten)
        if rewrites or not self.reads.places:
            self.reads.follow_moves(moved, parent)

    @property
    def _rewrites(self) -> bool:
        """Whether it moves no rows itself: every partition that it writes or removes, if any, changes its rows."""
        return not any(
            isinstance(update, WritePartitions | RemovePartitions) and not update.data_change
            for update in self.updates
        )

    def check_not_fenced(self, files: FileSystem, state: TableState, parent: Manifest) -> None:
        """Make sure that no vacuum since its base has taken it for dead, and its files for garbage.

        Raises:
            CommitConflict: one has.
        """
        for step in self._steps_since_base(files, state, parent):
            self._check_fence(step)

    def _check_fence(self, step: Manifest) -> None:
        if self.txn in step.fenced:
            raise self.conflict(
                f"that it was silent for longer than its lease and version {step.version} has taken it for dead"
            )

    def _steps_since_base(self, files: FileSystem, state: TableState, parent: Manifest) -> Iterator[Manifest]:
        """The commits that other writers have made since its base, the newest first."""
        assert self.base is not None
        step = parent
        while step.txn != self.base.txn:
            yield step
            if step.parent is None or step.parent == self.base.txn:
                return
            try:
                step = read_commit(files, state.layout, step.parent)
            except CorruptTable as error:
                raise self.conflict("that versions since then are vacuumed") from error

    def check_found(self, found: Mapping[str, PartitionState]) -> None:
        """Make sure that what was read is still the same; other programs do not claim before they write.

        Locations are compared as well as files: a partition may have been added, dropped or moved by hand.

        Args:
            found: the partitions that were read (or all), as they are now.

        Raises:
            CommitConflict: one of them has changed.
        """
        names = self.reads.partitions | (set(found) if self.reads.everything else set())
        changed = {name for name in names if found.get(name) != self.reads.states.get(name)}
        self._leave_out(changed, "another program")
        for name in sorted(changed):
            if name in self.reads.partitions or self.reads.everything:
                raise self.conflict(f"that another program wrote into {name or 'the table'} meanwhile")

    def _leave_out(self, names: Set[str], who: str) -> None:
        """Leave out the units that have one of these partitions. A second call finds no such unit any more.

        Args:
            who: what has changed them, for the message.

        Raises:
            CommitConflict: that leaves nothing of the commit.
        """
        hit = [unit for unit in self.units if not unit.partitions.isdisjoint(names)]
        if not hit:
            return
        self.units = [unit for unit in self.units if unit not in hit]
        self.left_out += hit
        gone = frozenset().union(*(unit.partitions for unit in hit))
        self.reads.forget_partitions(gone)
        self.updates = [update.without(gone) for update in self.updates]
        if not self.units:
            raise self.conflict(f"that {who} was first to change every partition that it was to move")

    def conflict(self, found: str) -> CommitConflict:
        """The error that says what came in between."""
        version = self.base.version if self.base else 0
        return CommitConflict(
            expected=f"{self.table} to be as it was read, at version {version}",
            found=found,
            action="The work has to be redone on the newer version.",
        )

    def is_made_again(self) -> CommitConflict:
        """The error that says that the table is another one by now, which only has the same name."""
        return self.conflict("that the table was dropped and made again")

    def is_made_by_another(self) -> CommitConflict:
        """The error of a commit that was to make the table."""
        return self.conflict("that another writer made the table meanwhile")

    def was_silent(self) -> CommitConflict:
        """The error that says that others have ended this commit in its writer's place."""
        return self.conflict(
            "that its writer was silent for longer than the lease, and was taken for dead by another process"
        )

    # -- the version that it makes -------------------------------------------------------------

    def manifest_after(
        self,
        parent: Manifest | None,
        present: Iterable[str],
        *,
        committed_at: str,
        writer: Mapping[str, str],
        lease_seconds: int,
    ) -> Manifest:
        """The manifest of this commit on top of a version (``None``: as the first).

        Args:
            present: the partitions that the metastore has; none of them stays when everything is replaced.

        Raises:
            CommitConflict: another commit has changed side data or a reference that this one replaces.
            UnsupportedTable: it makes partitions whose names not every metastore can hold.
        """
        version = parent.version + 1 if parent else 1
        schema = self.schema
        draft = self._draft(parent, present, version)
        self._check_overlay(parent, draft, schema)
        require_sound_names(self.table, parent.partitions if parent else (), draft.written, draft.removed)
        if not self.reads.places and draft.written | draft.removed:
            raise InvalidTransactionState(
                expected=f"a commit to {self.table} that leaves partitions where they are, as it has said",
                found="that it writes or removes some",
                action="Do not let rows be moved meanwhile (Transaction.let_rows_move).",
            )
        # if rows only moved into other files, it builds on the properties that others have recorded meanwhile
        replaced_whole = not schema.partition_columns and WHOLE_TABLE in draft.written - draft.rewritten
        return Manifest(
            txn=self.txn,
            version=version,
            parent=parent.txn if parent else None,
            table_id=parent.table_id if parent else self.table_id,
            operation=self.operation,
            columns=schema.columns,
            partition_columns=schema.partition_columns,
            file_format=schema.file_format,
            partitions=draft.partitions,
            written=tuple(sorted(draft.written)),
            removed=tuple(sorted(draft.removed - {WHOLE_TABLE})),
            rewritten=tuple(sorted(draft.rewritten)),
            committed_at=committed_at,
            metrics=self._all_metrics(),
            properties=united_properties(self.properties, self.base, None if replaced_whole else draft.kept),
            sidecars=draft.sidecars,
            side_data_touched=draft.side_data_touched,
            references=draft.references,
            fenced=tuple(sorted(draft.fenced)),
            side_data_for=draft.side_data_for,
            writer=writer,
            lease_seconds=lease_seconds,
            group=self.group,
            unread=self.reads.lacks(draft.written | draft.removed),
            overlay=draft.overlay,
            reader_features=(MERGE_ON_READ,) if draft.overlay else (),
            writer_features=((MERGE_ON_READ,) if draft.overlay else ()) + ((GROUPS,) if self.group else ()),
        )

    def _check_overlay(self, kept: Manifest | None, draft: Draft, schema: SetSchema) -> None:
        """Make sure that no change of rows or columns comes below deltas, which would hide it or not fit it.

        Nor may a commit with such a change put the view in place or take it away: then no partition moves.

        Raises:
            InvalidTransactionState: one does.
        """
        if draft.overlay != (kept.overlay if kept else None) and draft.written | draft.removed:
            raise InvalidTransactionState(
                expected=f"a commit to {self.table} that only puts its view in its place, or takes it away",
                found="one that changes rows, too",
                action="Make two commits.",
            )
        if kept is None or kept.overlay is None:
            return
        shape = (schema.columns, schema.partition_columns, schema.file_format)
        deltas = kept.sidecars.get(DELTAS) or kept.sidecars.get(FOLDED)
        below = deltas and (draft.written | draft.removed) - draft.rewritten
        if below or self.replaces_all or shape != (kept.columns, kept.partition_columns, kept.file_format):
            raise InvalidTransactionState(
                expected=f"{self.table} to be changed only by delta files while it is merged on read",
                found="a commit that changes its base's rows or columns",
                action="Compact its deltas into the base table and drop the view first "
                "(lakemerge.kernel.remove_overlay).",
            )

    def _all_metrics(self) -> dict[str, int]:
        """The commit's counts and those of the units that it still has."""
        found = Counter(self.metrics)
        for unit in self.units:
            found.update(unit.metrics)
        return dict(found)

    def _draft(self, parent: Manifest | None, present: Iterable[str], version: int) -> Draft:
        draft = Draft(parent, self.base, present)
        for update in in_order(self.updates):
            if isinstance(update, WritePartitions):
                update = update.in_version(self.schema.commit_column, version)
            try:
                update.apply(draft)
            except ReplacedMeanwhile as replaced:
                raise self.conflict(f"that another commit replaced {replaced} meanwhile") from None
        return draft
