"""Commits, from their updates to settled versions: each table is prepared, the claim decides, the swap settles."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace

from lakemerge.errors import (
    ClaimHeld,
    CommitConflict,
    CommitUnfinished,
    CorruptTable,
    LakemergeError,
    MetastoreError,
    StorageError,
)
from lakemerge.kernel.commit.acceptance import require_accepted
from lakemerge.kernel.commit.commit import Commit
from lakemerge.kernel.commit.group_claims import GroupClaims, in_claim_order
from lakemerge.kernel.commit.new_rows import NewRows
from lakemerge.kernel.commit.prepared import Prepared
from lakemerge.kernel.commit.table_commit import TableCommit
from lakemerge.kernel.commit.updates import WritePartitions
from lakemerge.kernel.ports.metastore import HiveTable, Refused
from lakemerge.kernel.ports.system import timestamp
from lakemerge.kernel.protocol.claims import claimed_row
from lakemerge.kernel.protocol.drops import Leftovers
from lakemerge.kernel.protocol.groups import Member
from lakemerge.kernel.protocol.rebuild import makes_row_anew, old_name
from lakemerge.kernel.protocol.versions import LostRace, lost_race
from lakemerge.kernel.table.definition import (
    ROOT,
    TABLE_ID,
    TRANSACTION,
    VERSION,
    moved,
    new_table,
    settled_value,
)
from lakemerge.kernel.table.manifest import WHOLE_TABLE, Manifest
from lakemerge.kernel.table.manifests import lineage, read_commit, read_manifest, write_manifest
from lakemerge.kernel.table.overlay import has_base
from lakemerge.kernel.table.state import TableState
from lakemerge.kernel.tables import Tables

# For this long, a look at the files that were read also counts for the next try of a claim: the commits that the claim
# lost to have not changed these files, and on many systems a look takes as long as this.
_LOOK_SECONDS = 1.0


class Committer:
    """Decides commits and settles them."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._files = tables.files
        self._metastore = tables.metastore
        self._new_rows = NewRows(tables)

    def decide(self, commit: Commit) -> None:
        """Make a commit stand, on whatever versions are the newest; from then on it cannot be undone.

        Raises:
            CommitConflict: what it depends on has changed since; nothing was published.
            ClaimHeld: other writers did not finish in time, or were first each time; nothing was published.
            MetastoreError: the metastore went silent; whether the commit stands may then be in doubt.
        """
        if len(commit.tables) > 1:
            claims = GroupClaims(self._tables, self._prepare, self._look_again, self._in_history)
            commit.tables = in_claim_order(commit.tables)
            commit.manifests = [part.manifest for part in claims.decide(commit)]
            return
        self._leave_group(commit.tables[0])
        commit.manifests = self._tables.retried(
            lambda: self._attempt(commit), LostRace, first=0.01, longest=0.5
        )

    def settle(self, commit: Commit) -> None:
        """Roll a commit that stands forward, until readers see it; every step of this may be done again.

        Raises:
            CommitUnfinished: the commit stands, but could not be finished.
        """
        unfinished: CommitUnfinished | None = None
        for table, manifest in zip(commit.tables, commit.manifests, strict=True):
            try:
                self._tables.retried(
                    lambda table=table, manifest=manifest: self._roll_forward(table, manifest),  # type: ignore[misc]
                    StorageError,
                    MetastoreError,
                    first=0.1,
                    longest=2,
                    attempts=4,
                )
            except CommitConflict:
                raise  # it was undone
            except LakemergeError as error:
                unfinished = unfinished or CommitUnfinished(
                    expected=f"to finish version {manifest.version} of {table.table}, which is claimed and stands",
                    found=error.found,
                    action=_what_to_do(error),
                )
                unfinished.__cause__ = unfinished.__cause__ or error
        if unfinished is not None:
            raise unfinished

    def _roll_forward(self, table: TableCommit, manifest: Manifest) -> None:
        if manifest.group not in (None, manifest.txn):
            # it is confirmed by now, unless the first table of the group was dropped just after the decision
            self._tables.groups.confirm(
                Member(table.table, manifest.table_id, table.layout.root, manifest.txn)
            )
        try:
            settled = self._tables.roll_forward.run(table.table, table.layout, manifest)
        except CorruptTable:
            # a drop may have deleted what was to be read
            self._tables.roll_forward.rebuilds.require_settled(table.table, manifest)
            raise
        if not settled and self._is_undone(table, manifest):
            raise table.conflict(
                f"that version {manifest.version} was undone, because the metastore refused it"
            )

    def _is_undone(self, table: TableCommit, manifest: Manifest) -> bool:
        """Whether an operator has had a version undone; see :meth:`Releases.undo`."""
        with contextlib.suppress(CorruptTable):  # the table was dropped with its manifests
            for layout, newest in self._tables.roll_forward.rebuilds.newest_of(
                table.table, manifest.table_id
            ):
                for commit in lineage(self._files, layout, read_manifest(self._files, layout, newest)):
                    if commit.version <= manifest.version:
                        return manifest.txn in commit.fenced and commit.version == manifest.version
        return False

    def _attempt(self, commit: Commit) -> list[Manifest]:
        """Try once; another writer may be faster (:class:`LostRace`)."""
        prepared = [self._prepare(table) for table in commit.tables]
        for part in prepared:
            if part.parent is None:
                self._create(commit, part)
            else:
                self._claim(commit, part)
        return [part.manifest for part in prepared]

    def _leave_group(self, table: TableCommit) -> None:
        """Make a commit one of its own, which was refused as part of a group."""
        # whoever finds a claim that was sent for the group needs the record
        if table.group is not None and not table.claim_sent:
            self._files.delete(table.layout.group_of(table.txn))
        table.group = None

    # -- preparing -----------------------------------------------------------------------------

    def _prepare(self, commit: TableCommit) -> Prepared:
        """Check what a table's part depends on, and write its manifest. Readers see nothing of this."""
        state, parent = (None, None) if commit.base is None else self._tables.settled(commit.table)
        if state is not None and parent is not None:
            self._tables.roll_forward.put_right(state)
            commit.check_follows(self._files, state, parent)
            self._check_files(commit, state, parent)
        for check in commit.requirements:
            check(parent)
        return Prepared(commit, state, parent, self._write_manifest(commit, state, parent))

    def _look_again(self, part: Prepared) -> None:
        """Look once more at what was read, because other writers may have been waited for since."""
        if part.state is not None and part.parent is not None:
            self._check_files(part.table, part.state, part.parent)

    def _check_files(self, commit: TableCommit, state: TableState, parent: Manifest) -> None:
        """Make sure that no other program has changed what was read. After a lost race, a recent look counts."""
        now = self._tables.clock.monotonic()
        if not commit.reads.has_partitions or now < commit.looked_at + _LOOK_SECONDS:
            return
        wanted = None if commit.reads.everything else commit.reads.partitions
        commit.check_found(self._tables.external.inspect(state, parent, wanted).present)
        commit.looked_at = now

    def _write_manifest(
        self, commit: TableCommit, state: TableState | None, parent: Manifest | None
    ) -> Manifest:
        present: list[str] = []
        if commit.replaces_all and state is not None and state.table.partitioned:
            present = self._tables.external.partition_names(state.table.name)
        if not commit.keys and (parent is None or commit.replaces_all) and not commit.writes_whole_table:
            empty = self._tables.external.examine(commit.layout, commit.layout.data_of(commit.txn))
            commit.updates.append(WritePartitions({WHOLE_TABLE: empty}))
        manifest = commit.manifest_after(
            parent,
            present,
            committed_at=timestamp(self._tables.clock),
            writer=commit.writer,
            lease_seconds=self._tables.settings.lease_seconds,
        )
        self._tables.roll_forward.overlays.require_room(commit.table, manifest)
        require_accepted(self._tables, commit, state, parent, manifest)
        manifest = write_manifest(self._files, commit.layout, manifest, parent)
        self._tables.step("manifest written")
        return manifest

    # -- deciding ------------------------------------------------------------------------------

    def _claim(self, commit: Commit, part: Prepared) -> None:
        """Claim the next version; for an unpartitioned table this publishes it."""
        table, manifest, parent = part.table, part.manifest, part.parent
        assert parent is not None
        rebuilt = makes_row_anew(parent, manifest)
        # then all that readers see is in one row; otherwise the claim comes first
        whole = not (table.keys or rebuilt or parent.overlay or manifest.overlay)
        value = (
            settled_value(manifest.version, manifest.table_id) if whole else f"{manifest.version}:{table.txn}"
        )
        # the settled transaction's id moves with the version, so a claim leaves it alone
        parameters = {VERSION: value, **({TRANSACTION: table.txn} if whole else {})}

        def change(row: HiveTable) -> HiveTable:
            row = claimed_row(row, manifest, parent, table.parameters)
            return (
                moved(row, table.layout.absolute(manifest.partitions[WHOLE_TABLE].location)) if whole else row
            )

        if whole:
            self._metastore.delete_table_column_statistics(part.row)
        commit.in_doubt = True
        versions, table_id = self._tables.versions, manifest.table_id
        try:
            advanced = versions.compare_and_swap(
                part.row, table_id, part.expected, parameters, change, part.seen
            )
        except (Refused, ClaimHeld):
            commit.in_doubt = False
            raise
        if not advanced and not self._in_history(table):
            commit.in_doubt = False
            raise lost_race(table.table)

    def _create(self, commit: Commit, part: Prepared) -> None:
        """Make the table; an unpartitioned one is complete with it."""
        table, manifest = part.table, part.manifest
        assert table.definition is not None
        location = table.layout.root
        if not table.keys:
            location = table.layout.absolute(manifest.partitions[WHOLE_TABLE].location)
        else:
            self._files.make_directory(location)
        own = {
            VERSION: f"1:{table.txn}" if table.keys else settled_value(1, manifest.table_id),
            TRANSACTION: table.txn,
            TABLE_ID: manifest.table_id,
            ROOT: table.layout.root,
        }
        row = new_table(table.definition, table.layout.root, location)
        row = claimed_row(row, manifest, None, {**table.parameters, **own})
        commit.in_doubt = True
        try:
            # others may have committed to it since, and may be making its row anew
            self._new_rows.put(table, row, lambda: self._is_made(table))
        except (CommitConflict, Refused):
            commit.in_doubt = False
            raise
        # the name is missing for a moment when another table of this name gets a view, or gives it up
        in_a_gap = has_base(self._metastore, table.table)
        if not in_a_gap and self._tables.creations.is_open(table.layout, table.txn):
            return
        removed = self._withdraw(table, own)
        if removed and in_a_gap:
            commit.in_doubt = False
            raise table.is_made_by_another()
        # if others have committed to the table, or have dropped it as an existing table, it stands, or has stood;
        # a process that has taken the writer for dead deletes its heartbeat and its manifest with all other files
        kept = (table.layout.heartbeat_of(table.txn), table.layout.manifest_of(table.txn))
        if removed or not any(map(self._files.exists, kept)):
            commit.in_doubt = False
            raise table.was_silent()

    def _withdraw(self, table: TableCommit, own: Mapping[str, str]) -> bool:
        """Remove a table, unless it is at another version by now. Its row goes aside first: a drop cannot compare."""
        aside = old_name(table.table, table.txn)
        left = Leftovers(own[TABLE_ID], table.layout.root, whole=False, aside=aside.name)

        def move_aside() -> bool:
            return self._tables.versions.compare_and_swap(
                table.table,
                own[TABLE_ID],
                own[VERSION],
                {VERSION: f"{own[VERSION]}:replaced"},
                lambda row: moved(replace(row, name=aside), table.layout.empty_of(table.txn)),
            )

        return self._tables.drops.remove_row(table.table, left, move_aside)

    def _is_made(self, table: TableCommit) -> bool:
        return bool(self._tables.roll_forward.rebuilds.newest_of(table.table, table.table_id))

    def _in_history(self, table: TableCommit) -> bool:
        """Whether a version is there although its claim seemed lost: a rescuer may have settled it, or be about to."""
        base = table.base
        table_id, base_txn = (base.table_id, base.txn) if base else (table.table_id, None)
        for layout, newest in self._tables.roll_forward.rebuilds.newest_of(table.table, table_id):
            txn: str | None = newest
            while txn and txn != base_txn:
                if txn == table.txn:
                    return True
                commit = read_commit(self._files, layout, txn)
                txn = commit.parent if base is None or commit.version > base.version else None
        return False


def _what_to_do(error: LakemergeError) -> str:
    if isinstance(error, Refused):
        return (
            "Do not rerun. Correct what the message names; then the next commit, or lakemerge_recover, finishes it. If "
            "that cannot be corrected, lakemerge_recover with undo_refused ends it."
        )
    return "Do not rerun: the next commit, or lakemerge_recover, finishes it."
