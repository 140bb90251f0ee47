"""One commit: what was read, what was staged, and its publication."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from lakemerge.errors import (
    CommitConflict,
    CommitUnfinished,
    CorruptTable,
    InvalidTransactionState,
    LakemergeError,
    MetastoreError,
    StorageError,
)
from lakemerge.kernel.definition import (
    COMMIT_COLUMN,
    ROOT,
    TABLE_ID,
    TRANSACTION,
    VERSION,
    TableDefinition,
    moved,
    new_table,
    stored_as,
    with_parameters,
    with_statistics,
    without_spark_schema,
)
from lakemerge.kernel.layout import SIDECARS, Layout
from lakemerge.kernel.manifest import WHOLE_TABLE, Manifest, PartitionState
from lakemerge.kernel.metastore import HiveColumn, HiveTable, Refused, ReplyLost
from lakemerge.kernel.names import TableName
from lakemerge.kernel.properties import replaced_meanwhile, united_properties, united_sidecars
from lakemerge.kernel.reads import Reads
from lakemerge.kernel.retries import retried
from lakemerge.kernel.rollforward import makes_row_anew
from lakemerge.kernel.staging import partitions_of_version, staged_partitions, state_after
from lakemerge.kernel.state import TableState, look_at, read_manifest
from lakemerge.kernel.system import new_transaction_id, timestamp
from lakemerge.kernel.versions import LostRace, lost_race

if TYPE_CHECKING:
    from lakemerge.kernel.kernel import Kernel

_LOG = logging.getLogger("lakemerge")


class Transaction:
    """Stage, claim, swap, settle. Made by :meth:`Kernel.begin` and :meth:`Kernel.create`; not for two threads.

    Attributes:
        base: the manifest of the version that this transaction builds on; ``None`` when it makes the table.
        metrics: counts to record, such as ``inserted``.
        properties: what later commits need to know; lists are united when another commit came between.
        replaces_all: whether nothing of the version before stays.
        commit_column: of a table of the append kind, the last partition column; else empty.
    """

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
        self._table_id = kernel.host.token()  # of the table that this transaction makes, if it makes one
        self.name = name
        self.operation = operation
        self.base = base
        self.metrics: dict[str, int] = {}
        self.properties: dict[str, Any] = dict(base.properties) if base else {}
        self.state = "open"
        self._kernel = kernel
        self._table = state
        self._definition = definition
        self._columns = base.columns if base else definition.columns if definition else ()
        self._keys = base.partition_columns if base else definition.partition_columns if definition else ()
        self._format = base.file_format if base else definition.file_format if definition else "orc"
        self.commit_column = state.commit_column if state else definition.commit_column if definition else ""
        self._reads = Reads()
        self._written: dict[str, PartitionState] = {}
        self._removed: set[str] = set()
        self.replaces_all = False
        self._sidecars: dict[str, tuple[list[str], Literal["add", "set", "fold"]]] = {}
        self._side_data_touched: dict[str, tuple[str, ...] | None] = {}
        self._parameters: dict[str, str] = {}
        self._beating = False
        self._requirements: list[Callable[[Manifest | None], None]] = []
        self._in_doubt = False  # whether a claim was sent whose outcome is not known
        self.layout = state.layout if state else Layout(self._root())

    def _root(self) -> str:
        assert self._definition is not None
        if self._definition.root:
            return self._kernel.files.qualify(self._definition.root)
        return self._kernel.default_root(self.name)

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
        state, changed = self._kernel.take_in_foreign(self.name, wanted)
        if state.txn != self.base.txn:
            if self._reads:
                raise self._conflict(f"version {state.version} ({', '.join(sorted(changed)[:3])})")
            self._table, self.base = state, self._kernel.manifest(state)
            self.properties = dict(self.base.properties)
            self._columns, self._keys = self.base.columns, self.base.partition_columns
            self._format = self.base.file_format
        self._reads.add_partitions(self.base, wanted)

    def read_side_data(self, kind: str, names: Iterable[str] | None = None) -> None:
        """Declare that this work hangs on the side data of a kind, be there any or not.

        A commit that changes it meanwhile is a conflict, even one that touches no partition.

        Args:
            names: the partitions whose side data it hangs on (``None``: all).
        """
        self._require_open()
        self._reads.add_side_data(kind, names)

    def follow_directly(self) -> None:
        """Let every commit that comes between be a conflict, whatever partitions it touches.

        For work that depends on more than the partitions that it reads: on side data, on partitions that are not
        there, on the number of the version that it makes.
        """
        self._require_open()
        self._reads.directly = True

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
        if not self._keys:
            self._kernel.files.make_directory(directory)
        staged = staged_partitions(self._kernel.files, directory, [key.name for key in self._keys])
        for name, path in staged.items():
            self._written[name] = self._kernel.foreign.examine(self.layout, path)
        return list(staged)

    def remove(self, names: Iterable[str]) -> None:
        """Drop partitions."""
        self._require_open()
        self._removed |= set(names)

    def replace_all(self) -> None:
        """Drop every partition that is not staged; what other commits do meanwhile is replaced too."""
        self._require_open()
        self.replaces_all = True
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
            self.commit_column = self._parameters[COMMIT_COLUMN] = commit_column
        self._columns = tuple(columns)
        self._keys = self._keys if partition_columns is None else tuple(partition_columns)
        self._format = file_format or self._format

    def set_parameters(self, parameters: Mapping[str, str]) -> None:
        """Set table parameters (such as ``comment``) in the same change."""
        self._require_open()
        self._parameters.update(parameters)

    def add_sidecar(self, kind: str, directory: str, *, concerns: Iterable[str] | None = None) -> None:
        """Record a folder of side data beside those of the version before.

        Args:
            concerns: the partitions whose readers it may matter to (``None``: all).
        """
        self._require_open()
        self._touch_side_data(kind, concerns)
        self._sidecars[kind] = ([self.layout.relative(directory)], "add")

    def _touch_side_data(self, kind: str, concerns: Iterable[str] | None) -> None:
        self._side_data_touched[kind] = None if concerns is None else tuple(sorted(concerns))

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
        self._sidecars[kind] = (paths, "fold" if keep_later else "set")

    def require(self, check: Callable[[Manifest | None], None]) -> None:
        """Have a check made right before the claim, on the manifest that this commit will follow.

        The claim succeeds only while that manifest is the newest, so what the check found still holds then. It
        raises where the commit must not be; ``None`` is what it gets where the table is yet to be made.
        """
        self._require_open()
        self._requirements.append(check)

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
        try:
            manifest = retried(
                self._kernel.clock,
                self._kernel.host,
                self._create if self._table is None else self._claim,
                LostRace,
                first=0.01,
                longest=0.5,
                seconds=self._kernel.settings.claim_timeout,
            )
        except BaseException:
            if self._in_doubt:
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
                found=str(error),
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

    # -- claiming ------------------------------------------------------------------------------

    def _claim(self) -> Manifest:
        """One attempt to claim the next version; for an unpartitioned table this publishes it."""
        state, parent = self._kernel.settled(self.name)
        self._check(state, parent)
        self._check_pins(state, parent)
        for check in self._requirements:
            check(parent)
        manifest = self._manifest(state, parent)
        self._kernel.files.write_text(self.layout.manifest_of(self.txn), manifest.to_json())
        self._kernel.step("manifest written")
        rebuilt = makes_row_anew(parent, manifest)
        whole = not self._keys and not rebuilt
        value = str(manifest.version) if whole else f"{manifest.version}:{self.txn}"
        # the settled transaction's id moves with the version, so a claim leaves it alone
        parameters = {VERSION: value, **({TRANSACTION: self.txn} if whole else {})}

        def change(table: HiveTable) -> HiveTable:
            table = with_parameters(table, self._parameters)
            if rebuilt:
                return table
            if manifest.columns != parent.columns or manifest.file_format != parent.file_format:
                table = without_spark_schema(stored_as(table, manifest.columns, self._format))
            if whole:
                table = moved(table, self.layout.absolute(manifest.partitions[WHOLE_TABLE].location))
            return self._with_statistics(table, manifest)

        if whole:
            self._kernel.metastore.delete_table_column_statistics(self.name)
        self._in_doubt = True
        advanced = self._kernel.versions.advance(self.name, state.version_value, parameters, change)
        if not advanced and not self._in_history():
            self._in_doubt = False
            raise lost_race(self.name)
        return manifest

    def _create(self) -> Manifest:
        """One attempt to make the table; an unpartitioned one is complete with it."""
        assert self._definition is not None
        for check in self._requirements:
            check(None)
        manifest = self._manifest(None, None)
        self._kernel.files.write_text(self.layout.manifest_of(self.txn), manifest.to_json())
        self._kernel.step("manifest written")
        location = self.layout.root
        if not self._keys:
            location = self.layout.absolute(manifest.partitions[WHOLE_TABLE].location)
        else:
            self._kernel.files.make_directory(location)
        table = new_table(self._definition, self.layout.root, location)
        value = "1" if not self._keys else f"1:{self.txn}"
        own = {VERSION: value, TRANSACTION: self.txn, TABLE_ID: manifest.table_id, ROOT: self.layout.root}
        table = self._with_statistics(with_parameters(table, {**self._parameters, **own}), manifest)
        self._in_doubt = True
        try:
            self._kernel.metastore.create_table(table)
        except (ReplyLost, Refused) as error:
            self._resolve_creation(error, manifest)
        return manifest

    @staticmethod
    def _with_statistics(table: HiveTable, manifest: Manifest) -> HiveTable:
        return with_statistics(
            table,
            files=manifest.total_files,
            size=manifest.total_bytes,
            rows=manifest.properties.get("rows"),
            with_spark=True,
        )

    def _resolve_creation(self, error: LakemergeError, manifest: Manifest) -> None:
        """Whether a creation that ended in an error has happened all the same."""
        table = self._kernel.metastore.get_table(self.name)
        if table is not None and table.parameters.get(TABLE_ID) == manifest.table_id:
            return
        if isinstance(error, ReplyLost) and table is None:
            raise lost_race(self.name) from error
        self._in_doubt = False
        if table is not None:
            raise self._conflict("that the table has been made meanwhile") from error
        raise error

    def _in_history(self) -> bool:
        """Whether this transaction is committed although its claim seemed lost: a rescuer may have settled it."""
        sight = look_at(self._kernel.metastore, self._kernel.files, self.name)
        state = sight.state if sight else None
        if state is None or self.base is None or state.table_id != self.base.table_id:
            return False
        txn: str | None = state.claim or state.txn
        while txn and txn != self.base.txn:
            if txn == self.txn:
                return True
            txn = read_manifest(self._kernel.files, state.layout, txn).parent
        return False

    # -- conflicts -----------------------------------------------------------------------------

    def _check(self, state: TableState, parent: Manifest) -> None:
        """Whether this transaction may follow on the newest version."""
        assert self.base is not None
        if parent.txn == self.base.txn:
            return
        if parent.table_id != self.base.table_id:
            raise self._conflict("that the table was dropped and made again")
        if self.replaces_all and not self._reads:
            return
        step = parent
        while True:
            if self._reads.meets(step) or not step.same_shape(self.base) or step.parent is None:
                author = step.writer.get("node", step.txn)
                raise self._conflict(f"version {step.version} ({step.operation} by {author})")
            if step.parent == self.base.txn:
                return
            try:
                step = read_manifest(self._kernel.files, state.layout, step.parent)
            except CorruptTable as error:
                raise self._conflict("that versions since then are vacuumed") from error

    def _check_pins(self, state: TableState, parent: Manifest) -> None:
        """Whether what was read is still the same; other programs do not claim before they write.

        Locations are looked at besides files: a partition may have been added, dropped or moved by hand.
        """
        reads = self._reads
        if not reads.has_partitions:
            return
        wanted = None if reads.everything else reads.partitions
        found = self._kernel.foreign.inspect(state, parent, wanted).present
        for name in reads.partitions | (set(found) if reads.everything else set()):
            if found.get(name) != reads.states.get(name):
                raise self._conflict(f"that another program wrote into {name or 'the table'} meanwhile")

    def _conflict(self, found: str) -> CommitConflict:
        version = self.base.version if self.base else 0
        return CommitConflict(
            expected=f"{self.name} to be as it was read, at version {version}",
            found=found,
            action="The work has to be redone on the newer version.",
        )

    # -- the manifest --------------------------------------------------------------------------

    def _manifest(self, state: TableState | None, parent: Manifest | None) -> Manifest:
        version = parent.version + 1 if parent else 1
        written = partitions_of_version(self._written, self.commit_column, version)
        removed = set(self._removed)
        if self.replaces_all and state is not None:
            removed |= set(parent.partitions if parent else ())
            if state.table.partitioned:
                removed |= set(self._kernel.metastore.partition_names(self.name))
        removed -= set(written)
        partitions = state_after(parent, written, removed)
        if not self._keys and WHOLE_TABLE not in partitions:
            partitions = {
                WHOLE_TABLE: self._kernel.foreign.examine(self.layout, self.layout.data_of(self.txn))
            }
        return Manifest(
            txn=self.txn,
            version=version,
            parent=parent.txn if parent else None,
            table_id=parent.table_id if parent else self._table_id,
            operation=self.operation,
            columns=self._columns,
            partition_columns=self._keys,
            file_format=self._format,
            partitions=partitions,
            written=tuple(sorted(written)),
            removed=tuple(sorted(removed - {WHOLE_TABLE})),
            committed_at=timestamp(self._kernel.clock),
            metrics=dict(self.metrics),
            properties=united_properties(self.properties, self.base, None if self.replaces_all else parent),
            sidecars=self._united_sidecars(parent),
            side_data_touched={**self._forgotten_side_data(parent), **self._side_data_touched},
            writer=self._kernel.writer,
            lease_seconds=self._kernel.settings.lease_seconds,
        )

    def _forgotten_side_data(self, parent: Manifest | None) -> dict[str, None]:
        return dict.fromkeys(parent.sidecars) if parent and self.replaces_all else {}

    def _united_sidecars(self, parent: Manifest | None) -> dict[str, tuple[str, ...]]:
        parent = None if self.replaces_all else parent
        if replaced := replaced_meanwhile(self._sidecars, self.base, parent):
            raise self._conflict(f"another commit's {replaced}")
        return united_sidecars(self._sidecars, self.base, parent)

    def _require_open(self) -> None:
        if self.state != "open":
            raise InvalidTransactionState(
                expected="an open transaction",
                found=f"one that is {self.state}",
                action="Begin another one.",
            )
