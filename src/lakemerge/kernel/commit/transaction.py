"""One commit: what was read, what was staged, and its publication."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from lakemerge.errors import InvalidTransactionState
from lakemerge.kernel.commit.commit import Commit, doubt
from lakemerge.kernel.commit.committer import Committer
from lakemerge.kernel.commit.draft import SideDataMode
from lakemerge.kernel.commit.staging_area import StagingArea
from lakemerge.kernel.commit.table_commit import TableCommit
from lakemerge.kernel.commit.updates import (
    ChangeSideData,
    DescribeSideData,
    Fence,
    ReplaceAll,
    SetParameters,
    SetReference,
    SetSchema,
    Unit,
    WritePartitions,
)
from lakemerge.kernel.ports.metastore import HiveColumn
from lakemerge.kernel.ports.names import TableName
from lakemerge.kernel.ports.system import new_transaction_id
from lakemerge.kernel.protocol.staging import staged_partitions
from lakemerge.kernel.table.definition import TableDefinition
from lakemerge.kernel.table.manifest import Manifest, Reference
from lakemerge.kernel.table.overlay import Overlay
from lakemerge.kernel.table.state import TableState
from lakemerge.kernel.tables import Tables

# Once side data has this many folders, the next commit that adds to them writes them as one.
_MANY_SIDECARS = 10


class Transaction:
    """Builds the commit of one table: reads, stages, and hands it over to be decided.

    Made by :meth:`Kernel.begin` and :meth:`Kernel.create`; not for two threads.
    """

    def __init__(
        self,
        tables: Tables,
        name: TableName,
        operation: str,
        state: TableState | None,
        base: Manifest | None,
        definition: TableDefinition | None,
        *,
        data_change: bool = True,
    ) -> None:
        self.txn = new_transaction_id(tables.clock, tables.host)
        self.name = name
        self.operation = operation
        self._state, self._pid = "open", tables.host.pid
        #: The manifest of the version that the commit made; ``None`` until it stands.
        self.made: Manifest | None = None
        self._tables = tables
        self._table = state
        self._data_change = data_change
        found = state or definition
        assert found is not None, "it is there, or is made"
        self.layout = tables.layout_of(found)
        self._commit = TableCommit(
            table=name,
            txn=self.txn,
            table_id=tables.host.token(),
            operation=operation,
            layout=self.layout,
            base=base,
            definition=definition,
            had_commit_column=found.commit_column,
            properties=dict(base.properties) if base else {},
            writer=tables.writer,
        )
        table_id = base.table_id if base else self._commit.table_id
        self._staging = StagingArea(tables, self.layout, self.txn, table_id=table_id, creates=base is None)

    @property
    def state(self) -> str:
        """How far it has come. A forked child may do nothing with its parent's transactions, not even abort them."""
        return self._state if self._tables.host.pid == self._pid else "another process's"

    @state.setter
    def state(self, state: str) -> None:
        self._state = state

    @property
    def base(self) -> Manifest | None:
        """The manifest of the version that this transaction builds on; ``None`` when it makes the table."""
        return self._commit.base

    @property
    def metrics(self) -> dict[str, int]:
        """Counts to record, such as ``inserted``."""
        return self._commit.metrics

    @property
    def properties(self) -> dict[str, Any]:
        """What later commits need to know; lists are united when another commit came between."""
        return self._commit.properties

    @properties.setter
    def properties(self, properties: dict[str, Any]) -> None:
        self._commit.properties = properties

    @property
    def overlay(self) -> Overlay | None:
        """The view that readers see the table through; ``None`` where they read the table itself."""
        return self.base.overlay if self.base else None

    @property
    def replaces_all(self) -> bool:
        """Whether nothing of the version before stays."""
        return self._commit.replaces_all

    @property
    def commit_column(self) -> str:
        """The last partition column of a table of the append kind; empty for other tables."""
        return self._commit.schema.commit_column

    # -- reading -------------------------------------------------------------------------------

    def read(self, names: Iterable[str] | None = None, *, missing: bool = False) -> None:
        """Declare that partitions (``None``: the whole table) are about to be read.

        What other programs changed in them is taken in first, as a version of its own. Later changes conflict.

        Args:
            missing: whether others were looked for. One that a commit adds is a conflict, unless each commit adds some.

        Raises:
            CommitConflict: the table has moved on since an earlier read of this transaction, or is another one by now.
            ForeignWrite: other programs changed them and the policy is ``fail``.
        """
        self._require_open()
        if self._table is None or self.base is None:
            return
        wanted = None if names is None else frozenset(names)
        reads = self._commit.reads
        state, _ = self._tables.commit_external_changes(self.name, reads.unread(wanted), missing=missing)
        if state.txn != self.base.txn:
            if reads:
                raise self._commit.conflict(f"that version {state.version} came first")
            newest = self._tables.manifest(state)
            if newest.table_id != self.base.table_id:
                raise self._commit.is_made_again()
            if newest.overlay != self.base.overlay:
                raise self._commit.conflict(f"that version {state.version} has given it another write_mode")
            if self._staging.is_open:  # what it has staged may be gone, and the new base would hide that
                self._commit.check_not_fenced(self._tables.files, state, newest)
                if not newest.same_shape(self.base):  # and it has other columns, or is in other partitions
                    raise self._commit.conflict(f"that version {state.version} has changed its columns")
            self._table, self._commit.base = state, newest
            self.properties = dict(self.base.properties)
        reads.add_partitions(self.base, wanted, missing=missing and not self.commit_column)

    def read_side_data(self, kind: str, names: Iterable[str] | None = None) -> None:
        """Declare that this work depends on the side data of a kind, whether there is any or not.

        A commit that changes it meanwhile is a conflict, even one that touches no partition.

        Args:
            names: the partitions whose side data it depends on (``None``: all).
        """
        self._require_open()
        self._commit.reads.add_side_data(kind, names)

    def let_rows_move(self) -> None:
        """Let commits that only move rows come between, even rows of partitions that this one reads.

        For a commit that writes and removes no partition, such as a delta: where rows lie does not matter to it.
        """
        self._require_open()
        self._commit.reads.places = False

    def follow_same_rows(self) -> None:
        """Make every commit that changes rows or side data a conflict, whatever partitions it touches.

        For work that depends on more than the partitions that it reads, such as on partitions that are not there.
        Commits that only move rows may come between.
        """
        self._require_open()
        self._commit.reads.rows = True

    def move_in_units(self, units: Iterable[Unit]) -> None:
        """Let this commit leave out those of its partitions that others change first, a whole unit at a time.

        Each partition that it reads, writes or removes belongs to one unit. Only for a commit that changes no row: what
        is left of it is right whatever the others did.

        Raises:
            InvalidTransactionState: the transaction changes rows.
        """
        self._require_open()
        if self._data_change:
            raise InvalidTransactionState(
                expected="a transaction that only moves rows",
                found="one that changes them, and cannot do without a part",
                action="Begin it with data_change=False.",
            )
        self._commit.units = list(units)

    @property
    def left_out(self) -> list[Unit]:
        """The units that this commit did without; known when it is committed, or has failed."""
        return list(self._commit.left_out)

    # -- staging -------------------------------------------------------------------------------

    def watch_lease(self, on_lost: Callable[[str], None]) -> None:
        """Have a listener called when other processes may take this transaction for dead and delete what it has staged.

        Call it before anything is staged.

        Args:
            on_lost: gets the reason, in the thread that writes heartbeats, once.
        """
        self._require_open()
        self._staging.watch(on_lost)

    def lease_loss(self) -> str | None:
        """Why other processes may take this transaction for dead; ``None`` while it lives. Only for a watched one."""
        return self._staging.loss()

    @property
    def stage_directory(self) -> str:
        """The URI to write the new files to: partition directories in it, or the files of the whole table."""
        self._require_open()
        return self._staging.data()

    def sidecar_directory(self, kind: str) -> str:
        """The URI to write this commit's side data of a kind to."""
        self._require_open()
        return self._staging.side_data(kind)

    def add_staged(self, name_of: Callable[[str], str] = str) -> list[str]:
        """Take what lies in the stage directory as the new content of its partitions; returns their names.

        In a table of the append kind, a null in the commit column stands for the version that will be made.

        Args:
            name_of: gives a partition's name for its directory's, if other programs spell the values differently.
        """
        self._require_open()
        directory = self.layout.data_of(self.txn)
        if not self._commit.keys:
            self._tables.files.make_directory(directory)
        staged = staged_partitions(self._tables.files, directory, [key.name for key in self._commit.keys])
        states = self._tables.external.examine_all(self.layout, list(staged.values()))
        by_name = dict(zip(map(name_of, staged), states, strict=True))
        self._commit.updates.append(WritePartitions(by_name, self._data_change))
        return list(by_name)

    def remove(self, names: Iterable[str]) -> None:
        """Drop partitions; what was staged for them by then is not written."""
        self._require_open()
        self._commit.add_removal(frozenset(names), self._data_change)

    def replace_all(self) -> None:
        """Drop every partition that is not staged; what other commits do meanwhile is replaced too."""
        self._require_open()
        self._commit.updates.append(ReplaceAll())
        self.properties.clear()

    def set_schema(
        self,
        columns: Sequence[HiveColumn],
        partition_columns: Sequence[HiveColumn] | None = None,
        file_format: str | None = None,
        commit_column: str | None = None,
    ) -> None:
        """Give the table other columns; anything else than these changes only together with :meth:`replace_all`."""
        self._require_open()
        now = self._commit.schema
        keys = now.partition_columns if partition_columns is None else tuple(partition_columns)
        commit_column = now.commit_column if commit_column is None else commit_column
        schema = SetSchema(tuple(columns), keys, file_format or now.file_format, commit_column)
        self._commit.updates.append(schema)

    def replace_view(self, replaces: bool) -> None:
        """Let a view that has the name of the table that this transaction makes give way to it."""
        self._commit.replaces_view = replaces

    def set_parameters(self, parameters: Mapping[str, str]) -> None:
        """Set table parameters (such as ``comment``) in the same change."""
        self._require_open()
        self._commit.updates.append(SetParameters(dict(parameters)))

    def add_sidecar(self, kind: str, directory: str, *, concerns: Iterable[str] | None = None) -> None:
        """Record a folder of side data beside those of the version before.

        Args:
            concerns: the partitions whose readers it may matter to (``None``: all).
        """
        self._change_side_data(kind, [directory], "add", concerns)

    def set_sidecars(
        self,
        kind: str,
        directories: Iterable[str],
        *,
        keep_later: bool = False,
        concerns: Iterable[str] | None = None,
    ) -> None:
        """Record folders as all the side data of a kind; another commit that changed it is then a conflict.

        There is one exception: if ``keep_later`` is set and that commit only added folders, these stay beside the
        recorded ones.

        Args:
            concerns: as for :meth:`add_sidecar`, for what is new in the folders.
        """
        self._change_side_data(kind, directories, "fold" if keep_later else "set", concerns)

    def drop_sidecars(self, kind: str, directories: Iterable[str]) -> None:
        """Record that folders of side data are gone; a folder may be gone already."""
        self._change_side_data(kind, directories, "drop", None)

    def forget_side_data(self, kind: str) -> None:
        """Take back what this transaction was to change in the side data of a kind, to ask for something else.

        A commit that was refused keeps all that it was asked for.
        """
        self._require_open()
        updates = self._commit.updates
        updates[:] = [one for one in updates if not (isinstance(one, ChangeSideData) and one.kind == kind)]

    def has_many_sidecars(self, kind: str) -> bool:
        """Whether side data of a kind has so many folders that this commit should write them as one."""
        base = None if self.replaces_all else self.base
        return len(base.sidecars.get(kind, ()) if base else ()) >= _MANY_SIDECARS

    def _change_side_data(
        self, kind: str, directories: Iterable[str], mode: SideDataMode, concerns: Iterable[str] | None
    ) -> None:
        self._require_open()
        paths = tuple(self.layout.relative(directory) for directory in directories)
        whom = None if concerns is None else frozenset(concerns)
        self._commit.updates.append(ChangeSideData(kind, paths, mode, whom))

    def set_reference(self, name: str, txn: str | None, *, expires_at: str = "", table: str = "") -> None:
        """Let a name stand for a version, which vacuum then keeps.

        Args:
            txn: the version's transaction: this one's own, or one of the table's history; ``None`` takes the name away.
            expires_at, table: as of :class:`Reference`.

        Raises:
            CorruptTable: the version is vacuumed.
        """
        self._require_open()
        if self._table is not None and txn not in (None, self.txn):
            self._tables.manifest(self._table, txn)
        reference = None if txn is None else Reference(txn, expires_at, table)
        self._commit.updates.append(SetReference(name, reference))

    def fence(self, transactions: Iterable[str]) -> None:
        """Keep transactions that are taken for dead from committing, so that their files may be deleted."""
        self._require_open()
        self._commit.updates.append(Fence(frozenset(transactions)))

    def describe_side_data(self, kind: str, purpose: Mapping[str, Any] | None) -> None:
        """Record what the side data of a kind is made for, from this commit on, as :attr:`Manifest.side_data_for`.

        It stays as long as the side data, whoever commits. A commit that has recorded something else meanwhile is a
        conflict.

        Args:
            purpose: an object for JSON; ``None`` to record nothing.
        """
        self._require_open()
        self._commit.updates.append(DescribeSideData(kind, purpose))

    def require(self, check: Callable[[Manifest | None], None]) -> None:
        """Have a check made right before the claim, on the manifest that this commit will follow.

        The claim succeeds only while that manifest is the newest, so what the check found still holds then. The check
        raises an error if the commit must not be made. It gets ``None`` if the table is yet to be made.
        """
        self._require_open()
        self._commit.requirements.append(check)

    # -- the end -------------------------------------------------------------------------------

    def commit(self) -> int:
        """Publish what was staged, all together.

        Returns:
            The version that this commit made.

        Raises:
            CommitConflict: what this transaction read has changed since; nothing was published.
            ClaimHeld: another writer did not finish in time; nothing was published.
            CommitUnfinished: the commit stands, but could not be finished; it must not be redone.
            CommitInDoubt: the claim, or the table's creation, had no answer: the commit may stand, or come to stand.
                The state is then ``in doubt``.
            MetastoreError: the metastore could not be reached, or refused the commit; nothing was published.
        """
        (version,) = commit_together([self])
        return version

    def abort(self) -> None:
        """Give up, and remove what was staged. Does nothing after the end of the transaction.

        Nor does it do anything if the outcome of the claim is in doubt: a committed version may need the files.
        """
        if self.state != "open":
            return
        self.state = "aborted"
        known: list[str] = []
        if not self._commit.claim_sent:
            known = [self.layout.manifest_of(self.txn), *self._group_record()]
        try:
            self._staging.delete(known)
        finally:
            self._staging.close()

    def __enter__(self) -> Transaction:
        return self

    def __exit__(self, *_: object) -> None:
        """Give up what the block has not committed, so that no heartbeat stays behind."""
        self.abort()

    def _group_record(self) -> list[str]:
        return [self.layout.group_of(self.txn)] if self._commit.group else []

    def _require_open(self) -> None:
        if self.state != "open":
            raise InvalidTransactionState(
                expected="an open transaction",
                found=f"one that is {self.state}",
                action="Begin another one.",
            )


def commit_together(transactions: Sequence[Transaction]) -> list[int]:
    """Publish what transactions of several tables have staged, all of it or nothing.

    A single transaction is committed as by :meth:`Transaction.commit`.

    Returns:
        The versions that they made.

    Raises:
        InvalidTransactionState: one is not open, two are of one table, or they are of several processes.
        CommitConflict, ClaimHeld, CommitUnfinished, CommitInDoubt, MetastoreError: as for :meth:`Transaction.commit`,
            for all of them.
    """
    for transaction in transactions:
        transaction._require_open()
    if not transactions:
        return []
    tables = transactions[0]._tables
    if any(not transaction._tables.same_process(tables) for transaction in transactions):
        raise InvalidTransactionState(
            expected="transactions of kernels on the same ports, to commit them together",
            found="some of another one",
            action="Begin all of them with the same kernel, or with kernels on the same ports.",
        )
    for transaction in transactions:
        transaction._staging.open()
    tables.step("staged")
    committer, commit = Committer(tables), Commit([transaction._commit for transaction in transactions])
    _decide(committer, commit, transactions)
    made = {manifest.txn: manifest for manifest in commit.manifests}
    for transaction in transactions:
        transaction.state, transaction.made = "committed", made[transaction.txn]
    tables.step("claimed")
    try:
        committer.settle(commit)
    finally:
        _end(transactions, "committed")
    for transaction in transactions:
        if transaction.base is not None:
            tables.late.after(transaction.name, transaction.layout, transaction.base, made[transaction.txn])
    return [made[transaction.txn].version for transaction in transactions]


def _decide(committer: Committer, commit: Commit, transactions: Sequence[Transaction]) -> None:
    try:
        committer.decide(commit)
    except BaseException as error:
        if commit.in_doubt:
            _end(transactions, "in doubt")
            # whatever ended it: that nothing was published can no longer be said
            if isinstance(error, Exception):
                raise doubt(commit, error) from error
        raise


def _end(transactions: Iterable[Transaction], state: str) -> None:
    for transaction in transactions:
        transaction.state = state
        transaction._staging.close()
