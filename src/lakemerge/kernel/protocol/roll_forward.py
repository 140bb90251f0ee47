"""From a claim to a settled version: the second half of a commit, the same for its writer and for a rescuer.

Every step may be done twice, and by two processes at the same time, with the same result. So if a writer dies
anywhere after its claim, whoever comes next finishes its commit.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from lakemerge.errors import CorruptTable, MetastoreError, StorageError, TableNotFound
from lakemerge.kernel.ports import Ports
from lakemerge.kernel.ports.metastore import HiveTable, Refused
from lakemerge.kernel.ports.names import TableName
from lakemerge.kernel.protocol.groups import Groups
from lakemerge.kernel.protocol.overlays import Overlays
from lakemerge.kernel.protocol.rebuild import Rebuilds, makes_row_anew
from lakemerge.kernel.protocol.removals import Removals
from lakemerge.kernel.protocol.repairs import Late, Repairs, renamed
from lakemerge.kernel.protocol.staging import only_adds
from lakemerge.kernel.protocol.swaps import Swaps
from lakemerge.kernel.protocol.trials import Trials
from lakemerge.kernel.protocol.versions import Versions
from lakemerge.kernel.table.definition import (
    COMMIT_COLUMN,
    TABLE_ID,
    TRANSACTION,
    VERSION,
    moved,
    needs_new_row,
    same_keys,
    settled_value,
)
from lakemerge.kernel.table.layout import Layout
from lakemerge.kernel.table.manifest import RELEASE, WHOLE_TABLE, Manifest
from lakemerge.kernel.table.manifests import read_commit, read_manifest
from lakemerge.kernel.table.overlay import DELTAS, find_row
from lakemerge.kernel.table.side_tables import SideTables
from lakemerge.kernel.table.state import TableState, current_table

_LOG = logging.getLogger("lakemerge")


class RollForward:
    """Finishes claimed commits."""

    def __init__(self, ports: Ports, versions: Versions, step: Callable[[str], None]) -> None:
        self._metastore = ports.metastore
        self._files = ports.files
        self._clock = ports.clock
        self._versions = versions
        self._step = step
        #: Transactions of which a call has failed in this process, and may take effect late.
        self._unsure: set[str] = set()
        self.repairs = Repairs(ports, versions)
        self.removals = Removals(ports, versions)
        self.trials = Trials(ports, self.removals)
        self.swaps = Swaps(ports, step, self._unsure.add)
        self.rebuilds = Rebuilds(ports, versions, self.removals, self.swaps, step)
        self.overlays = Overlays(ports, versions, self.removals, self.trials, step)
        self.groups = Groups(ports, versions, self.rebuilds)
        self.side_tables = SideTables(ports.metastore, ports.files, self.removals.drop_if)

    def run(self, name: TableName, layout: Layout, manifest: Manifest, *, for_another: bool = False) -> bool:
        """Bring the metastore to the state that a claimed manifest describes, and settle it.

        If another process has settled it already, and this is a retry after an error, it mends what the first try may
        have done too late.

        Returns:
            Whether it is surely settled as this manifest says. Otherwise another process has done so, or has ended it.

        Args:
            for_another: whether this finishes the commit of another process, which may have calls on their way.

        Raises:
            MetastoreError: another program's table has the name.
        """
        try:
            settled = self._run(name, layout, manifest, for_another)
        except (MetastoreError, StorageError):
            self._unsure.add(manifest.txn)
            raise
        self._unsure.discard(manifest.txn)
        return settled

    def _run(self, name: TableName, layout: Layout, manifest: Manifest, for_another: bool) -> bool:
        table = find_row(self._metastore, name)
        if self._is_over(table, name, layout, manifest):
            return table is not None and table.parameters.get(TRANSACTION) == manifest.txn
        self.overlays.require_free(name, manifest)
        if self.groups.confirm_others(layout, manifest):
            self._step("confirmed")
        parent = self._shown_before(layout, manifest)
        if self._publish_sidecars(name, layout, manifest, parent):
            now = find_row(self._metastore, name)
            if now is not None and not self._holds_claim(now, manifest):
                # settled by others; what this process sent and waited for may have come after what they published since
                self._mend(name, layout, manifest)
                return False
        if table is not None and (for_another or manifest.txn in self._unsure):
            self._expect_late_calls(table, layout, manifest)
        if table is None or _needs_exchange(table, parent, manifest):
            self.rebuilds.run(name, layout, manifest)
            return False
        if manifest.overlay != parent.overlay:
            self._change_overlay(name, layout, manifest, parent)
            return False
        return self._move(name, table, layout, manifest, parent)

    def _move(
        self, name: TableName, table: HiveTable, layout: Layout, manifest: Manifest, parent: Manifest
    ) -> bool:
        """Move what a version has written, show its deltas and settle it; then look whether any of it came too late."""
        moves = table.partitioned and _moves_partitions(manifest, parent)
        adds = moves and only_adds(manifest, parent, table.parameters.get(COMMIT_COLUMN, ""))
        holds = partial(self._still_holds_claim, table.name, manifest)
        added = adds and self.swaps.add(table, layout, manifest, holds)
        if moves and not added and not self.swaps.swap(table, layout, manifest, parent, holds):
            # a call that was sent and never answered may have come too late all the same
            self._mend(name, layout, manifest)
            return False
        # the view must name a delta until the base has its rows; an unpartitioned base has them when it is settled
        waits = not table.partitioned and _folds(manifest, parent)
        if not waits:
            self._show(name, manifest)
        # what was done while the claim was held came before any other commit
        now = find_row(self._metastore, name) if moves else None
        in_time = not moves or self._holds_claim(now, manifest)
        if manifest.txn in self._unsure:  # by now
            self._expect_late_calls(table, layout, manifest)
        settled = self._settle(table, layout, manifest, now)
        self._step("settled")
        if waits:
            self._show(name, manifest)
        if not in_time:
            self._mend(name, layout, manifest)
        return settled

    # -- steps ---------------------------------------------------------------------------------

    def _is_over(self, table: HiveTable | None, name: TableName, layout: Layout, manifest: Manifest) -> bool:
        """Whether another process has settled a commit already."""
        if table is None:
            if self.rebuilds.has_begun(name, manifest.txn):
                return False
            self.rebuilds.require_settled(name, manifest)
            return True
        if self._holds_claim(table, manifest):
            return False
        self.overlays.require_named(name, table, manifest)
        if manifest.txn in self._unsure:
            self._mend(name, layout, manifest)
        return True

    def _publish_sidecars(
        self, name: TableName, layout: Layout, manifest: Manifest, parent: Manifest
    ) -> bool:
        """Show the side data that people query, before the rows that it belongs to; whether any was not shown yet."""

        def mine() -> bool:
            return self._still_holds_claim(name, manifest)

        published = self.side_tables.publish(name, layout, manifest, parent, mine)
        if published:
            self._step("side data published")
        return published

    def _show(self, name: TableName, manifest: Manifest) -> None:
        """Let readers see a version's deltas, if the table has a view."""
        if manifest.overlay is not None:
            self.overlays.show(name, manifest)
            self._step("deltas shown")

    def _change_overlay(self, name: TableName, layout: Layout, manifest: Manifest, parent: Manifest) -> None:
        """Put a view in the table's place, or take it away; no partition moves with that."""
        if manifest.overlay is not None:
            self.overlays.lay(name, layout, manifest)
        else:
            assert parent.overlay is not None, "one of the two has a view"
            self.overlays.take(name, layout, manifest, parent.overlay)
        self._step("settled")

    def _shown_before(self, layout: Layout, manifest: Manifest) -> Manifest:
        """What the metastore may show already before a version is rolled forward.

        That is the version before it; of one that restores that version, what the undone claim may have done.
        """
        if manifest.operation == RELEASE:
            return read_manifest(self._files, layout, manifest.fenced[0])
        return read_manifest(self._files, layout, manifest.parent) if manifest.parent else manifest

    def _settle(self, table: HiveTable, layout: Layout, manifest: Manifest, seen: HiveTable | None) -> bool:
        """Settle the version; the same call points an unpartitioned table to its files.

        Args:
            seen: the row as it was read before.
        """
        expected = f"{manifest.version}:{manifest.txn}"
        settled = {VERSION: settled_value(manifest.version, manifest.table_id), TRANSACTION: manifest.txn}
        whole = manifest.partitions.get(WHOLE_TABLE)
        if whole:
            self._metastore.delete_table_column_statistics(table.name)

        def change(row: HiveTable) -> HiveTable:
            return moved(row, layout.absolute(whole.location)) if whole else row

        return self._versions.compare_and_swap(table.name, manifest.table_id, expected, settled, change, seen)

    def _mend(self, name: TableName, layout: Layout, manifest: Manifest) -> None:
        """Undo this process's swap where it came too late, after another commit had moved the same partitions.

        That other commit may also belong to the next table of the name, which has the same partitions again.

        The metastore cannot compare before it moves partitions, so a pause longer than the lease remains possible
        between the fence and the move. The newest manifest says where each partition belongs.
        """
        while (state := self._moved_on(name, manifest)) is not None:
            if state.claim is not None and not state.undecided:
                # claimed by a writer that sleeps or is dead: it may have swapped before this one, and not look again
                claimed = read_manifest(self._files, state.layout, state.claim)
                self.run(name, state.layout, claimed, for_another=True)
                continue
            newest = read_manifest(self._files, state.layout, state.txn)
            late = self._late(layout, manifest)
            removed = renamed(manifest.removed, newest)
            self.repairs.repair(state, renamed(late.partitions, newest), restore=removed, late=[late])
            self.show_side_data(state)
            # a repair may come too late as well; what it did counts only if nothing has changed since
            if self.repairs.is_at(state):
                return

    def _expect_late_calls(self, table: HiveTable, layout: Layout, manifest: Manifest) -> None:
        """Note in a table's row, while it is claimed, that calls of the claim's commit may come after later commits."""
        if table.partitioned or manifest.sidecars:
            self.repairs.expect(table.name, manifest.table_id, [self._late(layout, manifest)])

    def _late(self, layout: Layout, manifest: Manifest) -> Late:
        """What calls of a commit may still do. One that changes columns sends all partitions, as they were then."""
        try:
            before = manifest.fenced[0] if manifest.operation == RELEASE else manifest.parent
            shown = read_commit(self._files, layout, before) if before else manifest
            return Late(layout, manifest, everywhere=shown.columns != manifest.columns)
        except CorruptTable:  # it is vacuumed
            return Late(layout, manifest, everywhere=True)

    def put_right(self, state: TableState) -> None:
        """Undo what calls without an answer have done to a settled table, as long as they may still be carried out."""
        if self.repairs.put_right(state):
            self.show_side_data(state)

    def _moved_on(self, name: TableName, manifest: Manifest) -> TableState | None:
        """The state of a table that has later commits than this one, or of the next of its name; ``None`` if neither.

        A claimed table is waited for, as long as a lease: the claim's swap may come before this process's, or after it.
        """
        deadline = self._clock.monotonic() + manifest.lease_seconds
        while True:
            current = current_table(self._metastore, self._files, name)
            if current is None or current.state is None:
                return None
            if current.state.txn == manifest.txn and current.state.claim is None:
                return None
            if current.state.claim is None or self._clock.monotonic() > deadline:
                return current.state
            self._clock.sleep(0.1)

    def show_side_data(self, state: TableState) -> bool:
        """Show the side data of a settled version that people query, and no other; true if that changed anything.

        Does nothing when the table has moved on from ``state``: a claim's side data is shown while the claim is held.
        """
        if state.claim is not None and not state.undecided:
            return False
        manifest = read_manifest(self._files, state.layout, state.txn)
        try:
            changed = self.side_tables.publish(
                state.name, state.layout, manifest, manifest, partial(self.repairs.is_at, state)
            )
        except (Refused, TableNotFound):
            if self.repairs.is_at(state):
                raise
            changed = False  # a later version has dropped the table
        # the view may have gone meanwhile, with the table of its deltas; then the call above has made that table again
        return self._clear_deltas(state.name) or changed

    def _clear_deltas(self, name: TableName) -> bool:
        """Drop a table of deltas whose view is gone; whether there was one.

        The table of deltas is read before the version: if a later version makes one after that, it is another one.
        """
        made_by = self.overlays.deltas_made_by(name)
        current = current_table(self._metastore, self._files, name) if made_by else None
        if made_by is None or current is None or current.state is None or current.state.claim is not None:
            return False
        if read_manifest(self._files, current.state.layout, current.state.txn).overlay is not None:
            return False
        self.overlays.drop_deltas(name, made_by)
        return True

    # -- helpers -------------------------------------------------------------------------------

    def _still_holds_claim(self, name: TableName, manifest: Manifest) -> bool:
        return self._holds_claim(find_row(self._metastore, name), manifest)

    @staticmethod
    def _holds_claim(table: HiveTable | None, manifest: Manifest) -> bool:
        return (
            table is not None
            and table.parameters.get(VERSION) == f"{manifest.version}:{manifest.txn}"
            and table.parameters.get(TABLE_ID) == manifest.table_id
        )


def _needs_exchange(table: HiveTable, parent: Manifest, manifest: Manifest) -> bool:
    """Whether a table's row has to be made anew; a claim that is undone may not have come so far."""
    if manifest.operation == RELEASE and same_keys(table.partition_columns, manifest.partition_columns):
        return needs_new_row(table.columns, manifest.columns)
    return makes_row_anew(parent, manifest)


def _moves_partitions(manifest: Manifest, parent: Manifest) -> bool:
    """Whether a commit changes rows of partitions in the metastore, and not only what it keeps beside them."""
    return bool(manifest.touched) or manifest.columns != parent.columns


def _folds(manifest: Manifest, parent: Manifest) -> bool:
    """Whether a version no longer has all the deltas that the version before has."""
    return not set(parent.sidecars.get(DELTAS, ())) <= set(manifest.sidecars.get(DELTAS, ()))
