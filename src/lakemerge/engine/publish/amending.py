"""A staged version that is changed before it is published, by what its node's hooks say.

What the version has written is replaced partition by partition: new files are written beside the old ones, and these
are deleted when the change is complete. Until then the version is as it was, so that a change that fails leaves no
trace, and one that other work overtakes can be made again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from lakemerge.engine.layout.data_files import DataFiles
from lakemerge.engine.options.write import WriteConfig
from lakemerge.engine.publish.node_transaction import NodeTransaction
from lakemerge.engine.publish.publisher import Publisher
from lakemerge.engine.publish.side_data import SideData
from lakemerge.engine.relations.file_frames import schema_of
from lakemerge.engine.relations.table_schema import SchemaPlan
from lakemerge.engine.sql_text import quote
from lakemerge.errors import UnsupportedStatement
from lakemerge.kernel import (
    DELETED,
    DELTAS,
    ORDER,
    FileSystem,
    HiveColumn,
    Kernel,
    Manifest,
    Overlay,
    Transaction,
    leave,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakemerge.engine.spark.handle import SessionHandle

C = TypeVar("C", bound=WriteConfig)

_STAGED_DELTA, _NEW_DELTA = "lakemerge_staged_delta", "lakemerge_new_delta"


class _Folder:
    """A folder that a staged version has written to, and that gets more files."""

    def __init__(self, files: FileSystem, path: str) -> None:
        self._files = files
        self.path = path
        self._before = {entry.path for entry in files.walk(path)}

    def delete_old(self, path: str = "") -> bool:
        """Delete the files that it had before, or those of a folder in it; returns whether others are left."""
        there = [entry.path for entry in self._files.walk(path or self.path)]
        for old in self._before.intersection(there):
            self._files.delete(old)
        return not self._before.issuperset(there)

    def delete_new(self) -> None:
        """Delete what it has got since."""
        for entry in [*self._files.walk(self.path)]:
            if entry.path not in self._before:
                self._files.delete(entry.path)


class AmendedSideData(SideData):
    """The side data of a staged version, with what is added to it."""

    def __init__(
        self,
        transaction: Transaction,
        files: DataFiles,
        own_files: DataFiles,
        staged: Manifest,
        system: FileSystem,
    ) -> None:
        super().__init__(transaction, files, own_files, keeps=True)
        self._staged = staged
        self._system = system
        self._written: dict[str, _Folder] = {}
        self._replaced: set[str] = set()
        self._at_end: list[Callable[[], None]] = []

    def folders(self, kind: str) -> list[str]:
        layout = self._transaction.layout
        return [layout.absolute(folder) for folder in self._staged.sidecars.get(kind, ())]

    def own_folder(self, kind: str) -> str | None:
        """The URI of the folder that the staged version itself has written; ``None`` where it has written none."""
        mine = self._transaction.sidecar_directory(kind)
        return mine if mine in self.folders(kind) else None

    def add(self, kind: str, rows: DataFrame, *, file_format: str | None = None) -> None:
        own = self.own_folder(kind)
        directory = self.write(kind, rows, file_format=file_format)
        if own is None:
            concerns = self._concerned.get(kind)
            self._at_end.append(lambda: self._transaction.add_sidecar(kind, directory, concerns=concerns))

    def replace(self, kind: str, rows: DataFrame, *, file_format: str | None = None) -> None:
        directory = self.write(kind, rows, file_format=file_format)
        concerns = self._concerned.get(kind)
        self.replace_own(kind)

        def record() -> None:
            self._transaction.forget_side_data(kind)
            self._transaction.set_sidecars(kind, [directory], concerns=concerns)

        self._at_end.append(record)

    def replace_own(self, kind: str) -> None:
        """Let the rows that are written now stand for those that the staged version has written."""
        self._replaced.add(kind)

    def write(self, kind: str, rows: DataFrame, *, file_format: str | None = None) -> str:
        self._written.setdefault(kind, _Folder(self._system, self._transaction.sidecar_directory(kind)))
        return super().write(kind, rows, file_format=file_format)

    def finish(self) -> None:
        """Delete what is replaced, and let the transaction know what there is."""
        for kind in self._replaced:
            self._written[kind].delete_old()
        for record in self._at_end:
            record()

    def undo(self) -> None:
        """Delete what was written."""
        for folder in self._written.values():
            folder.delete_new()


class AmendedTransaction(NodeTransaction):
    """The transaction of a staged version once more, which reads the rows that the table would have.

    The kernel's transaction has to be resumed before anything is written, and suspended afterwards.
    """

    side_data: AmendedSideData

    def __init__(
        self,
        spark: SparkSession,
        transaction: Transaction,
        config: WriteConfig,
        plan: SchemaPlan,
        *,
        staged: Manifest,
        rows: str,
        files: DataFiles,
        system: FileSystem,
        constraints: Mapping[str, str],
    ) -> None:
        """
        Args:
            staged: the version as it would be now.
            rows: the view of its rows.
            system: where its files are.
        """
        super().__init__(
            spark,
            transaction,
            config,
            plan,
            table=rows,
            files=files,
            rebuilds=False,
            constraints=constraints,
        )
        self.exists = True
        self.side_data = AmendedSideData(transaction, files, files.of_side_data(spark), staged, system)
        self._staged, self._system = staged, system
        self._folder: _Folder | None = None
        self._touched: set[str] = set()
        self._is_over = False

    # -- the staged version in the place of the newest one ---------------------------------------

    @property
    def base(self) -> Manifest | None:
        return self._staged

    @property
    def overlay(self) -> Overlay | None:
        return self._staged.overlay

    @property
    def changes_schema(self) -> bool:
        return False

    @property
    def next_version(self) -> int:
        return self._staged.version

    def read(self, names: Iterable[str] | None = None, *, missing: bool = False) -> None:
        """Nothing is to be said: whatever another commit changes in the table, the staged version is given up."""

    # -- writing ---------------------------------------------------------------------------------

    def stage(
        self,
        sql: str,
        touched: Iterable[str] | None = None,
        *,
        count: bool = True,
        filled: Iterable[str] = (),
    ) -> int:
        self._look()
        return super().stage(sql, touched, count=count, filled=filled)

    def _take_staged(self, touched: Iterable[str] = ()) -> None:
        self._touched.update(touched)

    def remove(self, names: Iterable[str]) -> None:
        self._look()
        self._touched.update(names)

    def stage_delta(self, sql: str) -> None:
        own = self.side_data.own_folder(DELTAS)
        if own is not None:
            assert self.overlay is not None
            schema = schema_of((*self._staged.columns, *self._staged.partition_columns, DELETED, ORDER))
            files = self.spark.read.schema(schema).format(self.file_format).load(own)
            files.createOrReplaceTempView(_STAGED_DELTA)
            new = self.spark.sql(sql)
            new.createOrReplaceTempView(_NEW_DELTA)
            columns = ", ".join(f"staged.{quote(name)}" for name in new.columns)
            same = " and ".join(f"staged.{quote(key)} = new.{quote(key)}" for key in self.overlay.keys)
            sql = (
                f"select * from {_NEW_DELTA} union all "
                f"select {columns} from {_STAGED_DELTA} as staged left anti join {_NEW_DELTA} as new on {same}"
            )
        super().stage_delta(sql)
        self.side_data.replace_own(DELTAS)

    def _look(self) -> None:
        if self._folder is None:
            self._folder = _Folder(self._system, self._transaction.stage_directory)

    # -- the end ---------------------------------------------------------------------------------

    def commit(self, metrics: Mapping[str, int], properties: Mapping[str, Any] | None = None) -> None:
        """Let the staged version be what it is now, with the counts of this work added to its own."""
        transaction = self._transaction
        self._is_over = True
        try:
            self._replace_files()
            self.side_data.finish()
        except BaseException:
            leave(transaction, "a change of it was cut off")
            raise
        for name, count in metrics.items():
            transaction.metrics[name] = transaction.metrics.get(name, 0) + int(count)
        transaction.properties = {k: value for k, value in (properties or {}).items() if value is not None}

    def _replace_files(self) -> None:
        """Delete what the staged version has written of the touched partitions, and take what is there now."""
        if self._folder is None:
            return
        for name in self._touched.intersection(self._staged.written):
            directory = self._transaction.layout.absolute(self._staged.partitions[name].location)
            if not self._folder.delete_old(directory) and self.partitions:
                self._system.delete(directory)
        super()._take_staged(self._touched)

    def abort(self) -> None:
        """Leave the staged version as it was."""
        if not self._is_over:
            self._is_over = True
            self.side_data.undo()
            if self._folder is not None:
                self._folder.delete_new()

    @property
    def is_over(self) -> bool:
        return self._is_over

    @property
    def is_staged(self) -> bool:
        return True


class AmendingPublisher(Publisher[C]):
    """Begins work on a staged version in the place of the newest one."""

    def __init__(
        self,
        handle: SessionHandle,
        kernel: Kernel,
        config: C,
        by: NodeTransaction,
        staged: Manifest,
        rows: str,
        *,
        constraints: Mapping[str, str],
    ) -> None:
        """
        Args:
            by: what has staged the version.
            staged, rows: as of :class:`AmendedTransaction`.
        """
        super().__init__(handle, kernel, by.kernel_transaction.name, config, constraints=constraints)
        self._by, self._staged, self._rows = by, staged, rows

    @property
    def has_view(self) -> bool:
        """No view is taken away before the version is published."""
        return False

    def begin_alteration(
        self,
        operation: str,
        plan_columns: Callable[[Sequence[HiveColumn], Sequence[HiveColumn]], SchemaPlan],
        *,
        changes_rows: bool = False,
    ) -> NodeTransaction:
        staged = self._staged
        plan = plan_columns(staged.columns, staged.partition_columns)
        if [(one.name, one.type) for one in plan.data] != [(one.name, one.type) for one in staged.columns]:
            raise self._refused("one that adds columns", "Add them in the model's query")
        txn = AmendedTransaction(
            self.spark,
            self._by.kernel_transaction,
            self.config,
            plan,
            staged=staged,
            rows=self._rows,
            files=self._by.files,
            system=self.kernel.files,
            constraints=self.constraints if changes_rows else {},
        )
        self._handle.on_release(txn.abort)
        return txn

    def begin_move(self, operation: str) -> NodeTransaction:
        raise self._refused("one on rows that have no key of their own", "Filter them in the model's query")

    def _refused(self, found: str, action: str) -> UnsupportedStatement:
        return UnsupportedStatement(
            expected=f"a statement that changes rows of {self.name} as this run has staged them",
            found=found,
            action=f"{action}, or set publish: at_once on the model.",
        )
