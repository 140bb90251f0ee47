"""The kernel's front: begin transactions, recover."""

from __future__ import annotations

from collections.abc import Iterable

from lakemerge.errors import (
    ClaimRefused,
    InvalidTransactionState,
    UnsupportedTable,
)
from lakemerge.kernel.commit.transaction import Transaction, commit_together
from lakemerge.kernel.ports.names import TableName
from lakemerge.kernel.table.definition import TableDefinition, check_supported
from lakemerge.kernel.table.layout import Layout
from lakemerge.kernel.table.manifest import Manifest
from lakemerge.kernel.table.manifests import commits
from lakemerge.kernel.table.overlay import find_row
from lakemerge.kernel.table.state import TableState, current_table, is_reserved
from lakemerge.kernel.tables import Tables


class Kernel(Tables):
    """Commits to plain Hive tables. One for each process; safe for threads."""

    # -- writing -------------------------------------------------------------------------------

    def begin(self, name: TableName, operation: str, *, data_change: bool = True) -> Transaction:
        """Begin a transaction on the table's newest version, as its parameters name it.

        Args:
            data_change: whether it changes rows, or only how they lie in files.

        Raises:
            TableNotFound, UnsupportedTable, ClaimHeld: as :meth:`open`.
        """
        state, manifest = self.settled(name)
        return Transaction(self, state.name, operation, state, manifest, None, data_change=data_change)

    def create(
        self, definition: TableDefinition, operation: str = "create", *, in_place_of_view: bool = False
    ) -> Transaction:
        """Begin a transaction whose commit makes the table, with its rows, in one step.

        Args:
            in_place_of_view: whether a view that has the name gives way to the table. Its row becomes the table's in
                the claim, so that the name is never missing; of a commit over several tables, it goes just before.
        """
        self.drops.finish(definition.name)
        self.roll_forward.overlays.clear(definition.name)
        self._remove_ghost(definition.name)
        transaction = Transaction(self, definition.name, operation, None, None, definition)
        transaction.replace_view(in_place_of_view)
        return transaction

    def commit_together(self, transactions: Iterable[Transaction]) -> dict[TableName, int]:
        """Publish what transactions of several tables have staged: all of it becomes visible, or nothing.

        Each table shows its whole part from one moment on, but not all tables from the same moment;
        :func:`lakemerge.kernel.as_of_group` reads several as they were at one moment. The transactions come from
        :meth:`begin` or :meth:`create`, each for another table. A caller that gives up aborts each of them. What a
        transaction cannot do, such as dropping a table, cannot be part of the commit.

        Returns:
            The versions that were made.

        Raises:
            InvalidTransactionState: one is not open, or two are of one table.
            CommitConflict: what one of them read has changed since; nothing was published.
            ClaimHeld: another writer did not finish in time; nothing was published.
            CommitUnfinished: the commit stands, but could not be finished everywhere; it must not be redone.
            CommitInDoubt: the decision had no answer; the states are then ``in doubt``.
            MetastoreError: the metastore could not be reached, or refused the commit; nothing was published.
        """
        chosen = list(transactions)
        return dict(zip((one.name for one in chosen), commit_together(chosen), strict=True))

    # -- operations ----------------------------------------------------------------------------

    def recover(self, name: TableName, *, undo_refused: bool = False) -> list[str]:
        """Finish a dead writer's commit and take in what other programs wrote.

        Args:
            undo_refused: end a claim that the metastore refuses to show, by a version that restores the one before.
                Of a commit over several tables, this ends the part of this table alone.

        Returns:
            What was done, a line each; empty where all was well.
        """
        done = []
        self.drops.finish(name)
        self.roll_forward.overlays.clear(name)
        if self._waiting(lambda: self._require_row(name)):
            done.append(f"made the metastore row of {name} anew")
        before = current_table(self.metastore, self.files, name)
        if before is None or before.state is None:
            return done
        try:
            state = self.open(name)
            if before.state.claim:
                done.append(self._rescued(before.state, state))
        except ClaimRefused as error:
            if not undo_refused or not self._undo(name):
                raise
            state = self.open(name)
            done.append(f"undid version {state.version}, which the metastore refused: {error.found}")
        found = self.settings.on_foreign_write
        after, changed = self.commit_external_changes(name, None)
        if changed:
            done.append(f"took in {len(changed)} partitions changed by another program ({found})")
        late = self.late.take_in(name, self.late.lately(name))
        if late:
            done.append(f"took in what another program wrote late into {len(late)} partitions")
        if self.roll_forward.show_side_data(after):
            done.append("put right what a writer that came too late had shown beside the table")
        done.extend(self._forget_dead(after))
        return done

    def _undo(self, name: TableName) -> bool:
        """Claim a version that restores the one before a claim that is refused; false if the claim is such a one."""
        current = current_table(self.metastore, self.files, name)
        if current is None or current.state is None or current.state.claim is None:
            return True  # others have ended it
        return self.releases.undo(current.table, current.state)

    def _rescued(self, before: TableState, after: TableState) -> str:
        """What has become of a claim that a dead writer had left."""
        claim, found = before.claim, commits(self.files, after.layout, self.manifest(after))
        if not before.undecided or any(commit.txn == claim for commit in found):
            return f"finished version {before.version + 1} (transaction {claim})"
        return f"released the claim of version {before.version + 1} (transaction {claim}), whose group was not decided"

    def _forget_dead(self, state: TableState) -> list[str]:
        """Remove heartbeats of transactions that died before their claim, and what is left of rebuilds."""
        done = []
        lease = self.settings.lease_seconds
        rebuilds = self.roll_forward.rebuilds
        for rebuild in rebuilds.find(state.name):
            if not self.heartbeats.alive(Layout(rebuild.root), rebuild.txn, lease):
                rebuilds.clear_if_over(state.name, rebuild.txn)
        rebuilds.clear_late_rows(state.name)
        for entry in self.files.list(state.layout.open):
            if self.heartbeats.alive(state.layout, entry.name, lease):
                continue
            self.files.delete(entry.path)
            if not entry.name.startswith("."):  # hidden: a probe of the clock whose process died
                done.append(f"forgot the transaction {entry.name}, which died before its claim")
        return done


class ReadOnlyKernel(Kernel):
    """A kernel for dry runs: it finds tables as they are, and changes nothing, neither files nor the metastore.

    Where another kernel adopts a plain table, finishes a dead writer's commit or takes in what other programs wrote,
    this one shows the last settled version.
    """

    def settled(self, name: TableName) -> tuple[TableState, Manifest]:
        """The last settled version of a table.

        Raises:
            TableNotFound, UnsupportedTable: there is no such table, or none with versions.
        """
        current = self.current(name)
        check_supported(current.table)
        if current.state is None or current.manifest is None or current.state.is_reserved:
            raise UnsupportedTable(
                expected=f"{name} to have versions",
                found="a table that lakemerge has not written to yet",
                action="Write to it once, or run an operation on it without dry_run: that adopts the table.",
            )
        return current.state, current.manifest

    def exists(self, name: TableName) -> bool:
        """Whether the metastore has the table at this moment."""
        table = find_row(self.metastore, name)
        return table is not None and not is_reserved(table)

    def begin(self, name: TableName, operation: str, *, data_change: bool = True) -> Transaction:
        """Raises InvalidTransactionState."""
        raise _only_reads(name)

    def create(
        self, definition: TableDefinition, operation: str = "create", *, in_place_of_view: bool = False
    ) -> Transaction:
        """Raises InvalidTransactionState."""
        raise _only_reads(definition.name)

    def recover(self, name: TableName, *, undo_refused: bool = False) -> list[str]:
        """Raises InvalidTransactionState."""
        raise _only_reads(name)

    def commit_external_changes(
        self, name: TableName, names: Iterable[str] | None, *, missing: bool = False
    ) -> tuple[TableState, frozenset[str]]:
        """Raises InvalidTransactionState."""
        raise _only_reads(name)


def _only_reads(name: TableName) -> InvalidTransactionState:
    return InvalidTransactionState(
        expected=f"{name} only to be read, in a dry run",
        found="something that would change it",
        action="This is a fault in lakemerge: please report it.",
    )
