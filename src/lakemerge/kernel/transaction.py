"""One commit: what was read, what was staged, and its publication."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lakemerge.errors import (
    CommitUnfinished,
    InvalidTransactionState,
    LakemergeError,
    MetastoreError,
    StorageError,
)
from lakemerge.kernel.committer import Committer
from lakemerge.kernel.definition import (
    COMMIT_COLUMN,
    TableDefinition,
)
from lakemerge.kernel.layout import SIDECARS, Layout
from lakemerge.kernel.manifest import Manifest
from lakemerge.kernel.metastore import HiveColumn
from lakemerge.kernel.names import TableName
from lakemerge.kernel.retries import retried
from lakemerge.kernel.staging import staged_partitions
from lakemerge.kernel.state import TableState
from lakemerge.kernel.system import new_transaction_id
from lakemerge.kernel.table_commit import TableCommit
from lakemerge.kernel.versions import LostRace

if TYPE_CHECKING:
    from lakemerge.kernel.kernel import Kernel

_LOG = logging.getLogger("lakemerge")


class Transaction:
    """Stage, claim, swap, settle. Made by :meth:`Kernel.begin` and :meth:`Kernel.create`; not for two threads."""

    def __init__(
        self,
        kernel: Kernel,
        name: TableName,
        operation: str,
        state: TableState | None,
        base: Manifest | None,
        definition: TableDefinition | None,
    ) -> None:
        self.txn = new_transaction_id(kernel.clock, kernel.host)
        self.name = name
        self.operation = operation
        self.state = "open"
        self._kernel = kernel
        self._table = state
        self._beating = False
        shape = base or definition
        assert shape is not None, "a transaction builds on a version, or makes a table"
        self.layout = state.layout if state else Layout(_root(kernel, definition))
        self._commit = TableCommit(
            table=name,
            txn=self.txn,
            table_id=kernel.host.token(),
            operation=operation,
            layout=self.layout,
            base=base,
            definition=definition,
            columns=shape.columns,
            keys=shape.partition_columns,
            file_format=shape.file_format,
            commit_column=state.commit_column if state else definition.commit_column if definition else "",
            properties=dict(base.properties) if base else {},
        )

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
    def replaces_all(self) -> bool:
        """Whether nothing of the version before stays."""
        return self._commit.replaces_all

    @property
    def commit_column(self) -> str:
        """Of a table of the append kind, the last partition column; else empty."""
        return self._commit.commit_column

    # -- reading -------------------------------------------------------------------------------

    def read(self, names: Iterable[str] | None = None) -> None:
        """Declare that partitions (``None``: the whole table) are about to be read.

        What other programs changed in them is taken in first, as a version of its own. From here on a change of
        theirs is a conflict.

        Raises:
            CommitConflict: the table has moved on since an earlier read of this transaction.
            ForeignWrite: other programs changed them and the policy is ``fail``.
        """
        self._require_open()
        if self._table is None or self.base is None:
            return
        wanted = None if names is None else frozenset(names)
        state, _ = self._kernel.take_in_foreign(self.name, wanted)
        if state.txn != self.base.txn:
            if self._commit.reads:
                raise self._commit.conflict(f"that version {state.version} came first")
            self._table, self._commit.base = state, self._kernel.manifest(state)
            self.properties = dict(self.base.properties)
            self._commit.columns, self._commit.keys = self.base.columns, self.base.partition_columns
            self._commit.file_format = self.base.file_format
        self._commit.reads.add_partitions(self.base, wanted)

    def read_side_data(self, kind: str, names: Iterable[str] | None = None) -> None:
        """Declare that this work hangs on the side data of a kind, be there any or not.

        A commit that changes it meanwhile is a conflict, even one that touches no partition.

        Args:
            names: the partitions whose side data it hangs on (``None``: all).
        """
        self._require_open()
        self._commit.reads.add_side_data(kind, names)

    def follow_directly(self) -> None:
        """Let every commit that comes between be a conflict, whatever partitions it touches.

        For work that depends on more than the partitions that it reads: on side data, on partitions that are not
        there, on the number of the version that it makes.
        """
        self._require_open()
        self._commit.reads.directly = True

    # -- staging -------------------------------------------------------------------------------

    @property
    def stage_directory(self) -> str:
        """The URI to write the new files to: partition directories in it, or the files of the whole table."""
        self._require_open()
        self._beat()
        return self.layout.data_of(self.txn)

    def sidecar_directory(self, kind: str) -> str:
        """The URI to write this commit's side data of a kind to."""
        self._require_open()
        self._beat()
        return self.layout.sidecar_of(kind, self.txn)

    def _beat(self) -> None:
        if not self._beating:
            self._kernel.heartbeats.start(self.layout, self.txn)
            self._beating = True

    def add_staged(self) -> list[str]:
        """Take what lies in the stage directory as the new content of its partitions; returns their names.

        In a table of the append kind, a null in the commit column stands for the version that will be made.
        """
        self._require_open()
        directory = self.layout.data_of(self.txn)
        if not self._commit.keys:
            self._kernel.files.make_directory(directory)
        staged = staged_partitions(self._kernel.files, directory, [key.name for key in self._commit.keys])
        for name, path in staged.items():
            self._commit.written[name] = self._kernel.foreign.examine(self.layout, path)
        return list(staged)

    def remove(self, names: Iterable[str]) -> None:
        """Drop partitions."""
        self._require_open()
        self._commit.removed |= set(names)

    def replace_all(self) -> None:
        """Drop every partition that is not staged; what other commits do meanwhile is replaced too."""
        self._require_open()
        self._commit.replaces_all = True
        self.properties.clear()

    def set_schema(
        self,
        columns: Sequence[HiveColumn],
        partition_columns: Sequence[HiveColumn] | None = None,
        file_format: str | None = None,
        commit_column: str | None = None,
    ) -> None:
        """Give the table other columns; all but these only together with :meth:`replace_all`."""
        self._require_open()
        if commit_column is not None and commit_column != self.commit_column:
            self._commit.commit_column = self._commit.parameters[COMMIT_COLUMN] = commit_column
        self._commit.columns = tuple(columns)
        self._commit.keys = self._commit.keys if partition_columns is None else tuple(partition_columns)
        self._commit.file_format = file_format or self._commit.file_format

    def set_parameters(self, parameters: Mapping[str, str]) -> None:
        """Set table parameters (such as ``comment``) in the same change."""
        self._require_open()
        self._commit.parameters.update(parameters)

    def add_sidecar(self, kind: str, directory: str, *, concerns: Iterable[str] | None = None) -> None:
        """Record a folder of side data beside those of the version before.

        Args:
            concerns: the partitions whose readers it may matter to (``None``: all).
        """
        self._require_open()
        self._touch_side_data(kind, concerns)
        self._commit.side_data[kind] = ([self.layout.relative(directory)], "add")

    def _touch_side_data(self, kind: str, concerns: Iterable[str] | None) -> None:
        self._commit.side_data_touched[kind] = None if concerns is None else tuple(sorted(concerns))

    def set_sidecars(
        self,
        kind: str,
        directories: Iterable[str],
        *,
        keep_later: bool = False,
        concerns: Iterable[str] | None = None,
    ) -> None:
        """Record folders as all the side data of a kind; another commit that changed it is then a conflict, but where
        it only added some and ``keep_later`` is set: these stay beside them.

        Args:
            concerns: as of :meth:`add_sidecar`, of what is new in them.
        """
        self._require_open()
        self._touch_side_data(kind, concerns)
        paths = [self.layout.relative(directory) for directory in directories]
        self._commit.side_data[kind] = (paths, "fold" if keep_later else "set")

    def require(self, check: Callable[[Manifest | None], None]) -> None:
        """Have a check made right before the claim, on the manifest that this commit will follow.

        The claim succeeds only while that manifest is the newest, so what the check found still holds then. It
        raises where the commit must not be; ``None`` is what it gets where the table is yet to be made.
        """
        self._require_open()
        self._commit.requirements.append(check)

    # -- the end -------------------------------------------------------------------------------

    def commit(self) -> int:
        """Publish what was staged, all at once.

        Returns:
            The version that this commit made.

        Raises:
            CommitConflict: what this transaction read has changed since; nothing was published.
            ClaimHeld: another writer did not finish in time; nothing was published.
            CommitUnfinished: the commit stands, but could not be finished; it must not be redone.
            MetastoreError: the metastore went silent. The state is then ``in doubt`` if the claim had been sent.
        """
        self._require_open()
        self._beat()
        self._kernel.step("staged")
        committer = Committer(self._kernel)
        try:
            manifest = retried(
                self._kernel.clock,
                self._kernel.host,
                lambda: (
                    committer.create(self._commit) if self._table is None else committer.claim(self._commit)
                ),
                LostRace,
                first=0.01,
                longest=0.5,
                seconds=self._kernel.settings.claim_timeout,
            )
        except BaseException:
            if self._commit.in_doubt:
                self.state = "in doubt"
                self._close()
            raise
        self.state = "committed"
        self._kernel.step("claimed")
        self._finish(manifest)
        return manifest.version

    def _finish(self, manifest: Manifest) -> None:
        """Roll the claimed version forward; every step of it may be done again."""
        try:
            retried(
                self._kernel.clock,
                self._kernel.host,
                lambda: self._kernel.roll_forward.run(self.name, self.layout, manifest),
                StorageError,
                MetastoreError,
                first=0.1,
                longest=2,
                attempts=4,
            )
        except LakemergeError as error:
            raise CommitUnfinished(
                expected=f"to finish version {manifest.version} of {self.name}, which is claimed and stands",
                found=error.found,
                action="Do not run the same work again: the next commit, or lakemerge_recover, finishes it.",
            ) from error
        finally:
            self._close()

    def abort(self) -> None:
        """Give up, and remove what was staged. Does nothing after the end of the transaction.

        Nor does it when the outcome of the claim is in doubt, for a committed version may need the files.
        """
        if self.state != "open":
            return
        self.state = "aborted"
        sidecars = (self.layout.sidecar_of(kind, self.txn) for kind in SIDECARS)
        try:
            for path in (self.layout.data_of(self.txn), *sidecars, self.layout.manifest_of(self.txn)):
                self._kernel.files.delete(path)
        except StorageError as error:  # what ended the transaction matters more; vacuum removes what stays
            _LOG.warning("Files of an aborted transaction could not be removed: %s", error)
        finally:
            self._close()

    def _close(self) -> None:
        if self._beating:
            self._kernel.heartbeats.stop(self.layout, self.txn)
            self._beating = False

    def _require_open(self) -> None:
        if self.state != "open":
            raise InvalidTransactionState(
                expected="an open transaction",
                found=f"one that is {self.state}",
                action="Begin another one.",
            )


def _root(kernel: Kernel, definition: TableDefinition | None) -> str:
    assert definition is not None
    return kernel.files.qualify(definition.root) if definition.root else kernel.default_root(definition.name)
