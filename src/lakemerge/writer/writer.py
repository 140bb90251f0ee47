"""A writer: begin, write, commit or abort, any number of times, on one table."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from functools import partial
from types import TracebackType
from typing import Any

from lakemerge.consumer.progress import KIND, Done, Progress, read_progress, write_progress
from lakemerge.errors import (
    CommitConflict,
    InvalidConfig,
    InvalidTransactionState,
    LakemergeError,
    UnsupportedTable,
    WriterFenced,
    shown,
)
from lakemerge.kernel import (
    DEFAULT_PARTITION,
    HiveColumn,
    Kernel,
    Layout,
    Manifest,
    RowFile,
    TableName,
    Transaction,
    escape,
)
from lakemerge.writer.compaction import compact
from lakemerge.writer.records import Reader
from lakemerge.writer.values import key_converter

_BATCH = "batch"


def open(
    table: str,
    kernel: Kernel,
    *,
    format: str = "rows",
    partition: Mapping[str, Any] | None = None,
    name: str | None = None,
    delimiter: str = ",",
    null: str = "\\N",
) -> Writer:
    """Open a writer to a table of the append kind (``append_layout: commit_partitioned``), in ORC.

    Its commits are followed by compactions like the model's own, unless the model has ``compaction: off``.

    Args:
        table: ``schema.table``.
        format: what records are; see :data:`lakemerge.writer.FORMATS`.
        partition: values of the table's partition columns for all records (static); without it, the records have
            them as their last fields (dynamic). A null or an empty one is Hive's default partition.
        name: the writer's name. One writer of a name is open at a time: opening it again fences the one that had it.
        delimiter, null: of delimited records.

    Raises:
        TableNotFound, UnsupportedTable: there is no such table, or it is of another kind.
        InvalidConfig: ``table`` is no name of a table, ``partition`` does not name the partition columns or has a value
            that does not fit, or the format is not known.
        MetastoreError, StorageError: they may be retried.
    """
    return Writer(
        kernel,
        TableName.parse(table, "default"),
        format,
        partition,
        name,
        delimiter,
        null,
    )


class _AlreadyCommitted(Exception):
    """The batch is in the table already: an earlier commit of it succeeded although its reply was lost."""


class _Overtaken(Exception):
    """Another writer of this name has committed, or was opened, while this one was being opened."""


class Writer:
    """See :func:`open`. Not for two threads at the same time; open one for each.

    Attributes:
        last_batch: the number of the last batch that the writer of this name has committed; ``None`` for none.
    """

    def __init__(
        self,
        kernel: Kernel,
        table: TableName,
        format: str,
        partition: Mapping[str, Any] | None,
        name: str | None,
        delimiter: str,
        null: str,
    ) -> None:
        self._kernel = kernel
        self._table = table
        manifest = self._manifest_of_append_table()
        self._columns = manifest.columns
        self._keys = manifest.partition_columns[:-1]
        self._static = None if partition is None else _static_values(self._keys, partition)
        fields = self._columns if partition is not None else (*self._columns, *self._keys)
        self._reader = Reader(
            fields, format, delimiter, null, keys=0 if partition is not None else len(self._keys)
        )
        self._transaction: Transaction | None = None
        self._files: dict[str, RowFile] = {}
        self._closed = False
        self.last_batch: int | None = None
        self._progress: Progress | None = None
        self._key = ("stream", name or "")
        if name:
            self._take_over()

    def _manifest_of_append_table(self) -> Manifest:
        state, manifest = self._kernel.settled(self._table)
        if not state.commit_column or manifest.file_format != "orc":
            raise UnsupportedTable(
                expected=f"{self._table} to be an ORC table with a commit column",
                found=f"a table in {manifest.file_format} {'with' if state.commit_column else 'without'} one",
                action="Create it by a model with append_layout: commit_partitioned.",
            )
        return manifest

    # -- the writer's name ---------------------------------------------------------------------

    def _take_over(self) -> None:
        """Make this writer the newest of its name: later commits of older ones are refused."""
        while True:
            with (
                contextlib.suppress(_Overtaken),
                self._kernel.begin(self._table, "open writer") as transaction,
            ):
                known = read_progress(self._kernel, transaction.layout, transaction.base).get(self._key)
                done = known.done if known else {}
                self.last_batch = int(done[_BATCH].mark) if _BATCH in done else None
                self._progress = Progress(self._kernel.host.token(), "", None, done)
                write_progress(self._kernel, transaction, {self._key: self._progress}, fold=False)
                transaction.require(partial(self._check_progress, transaction.layout, known))
                transaction.commit()
                return

    def _check_progress(self, layout: Layout, known: Progress | None, parent: Manifest | None) -> None:
        """Make sure that the version to build on has no batch of this name that was committed since it was read."""
        if read_progress(self._kernel, layout, parent).get(self._key) != known:
            raise _Overtaken

    def _check_writer(self, parent: Manifest | None, batch: int | None) -> None:
        """Make sure that this writer is the newest of its name, and that the version to build on lacks this batch."""
        found = read_progress(self._kernel, self._transaction_layout, parent).get(self._key)
        assert self._progress is not None, "only a writer with a name looks"
        if found is None or found.generation != self._progress.generation:
            raise WriterFenced(
                expected=f"this writer to be the newest one named {self._key[1]} of {self._table}",
                found="that a newer one was opened with that name",
                action="Nothing was committed. Close this one, and let the newer one continue.",
            )

        # a commit whose reply was lost may have succeeded
        if batch is not None and _BATCH in found.done and int(found.done[_BATCH].mark) >= batch:
            raise _AlreadyCommitted

    @property
    def _transaction_layout(self) -> Any:
        assert self._transaction is not None
        return self._transaction.layout

    # -- writing -------------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin a transaction; :meth:`write` does it by itself."""
        if self._closed or self._transaction is not None:
            raise InvalidTransactionState(
                expected="an open writer with no transaction begun",
                found="a closed one" if self._closed else "one with a transaction begun",
                action="Open another writer." if self._closed else "Commit it or abort it first.",
            )
        self._transaction = self._kernel.begin(self._table, "append")

    def write(self, records: Iterable[Any]) -> int:
        """Write records; readers see them when they are committed.

        Returns:
            How many were written.

        Raises:
            InvalidRecord: a record does not match the table. It and those after it were not written, those before
                it were; commit these, or abort.
            StorageError: the transaction can only be aborted.
        """
        if self._transaction is None:
            self.begin()
        count = 0
        for record in records:
            texts = self._reader.texts(record)
            values = self._static if self._static is not None else texts[len(self._columns) :]
            self._file(values).write(texts[: len(self._columns)])
            count += 1
        return count

    def _file(self, values: list[str | None]) -> RowFile:
        assert self._transaction is not None
        # a directory must not begin with "_", as the commit column's name may
        parts = [f"p{number}={escape(value or '')}" for number, value in enumerate(values)]
        folder = "/".join([*parts, f"commit={DEFAULT_PARTITION}"])
        if folder not in self._files:
            path = f"{self._transaction.stage_directory}/{folder}/part-{self._kernel.host.token()}.orc"
            self._files[folder] = self._kernel.row_files.create(path, self._columns)
        return self._files[folder]

    def commit(self, batch: int | None = None) -> int | None:
        """Publish what was written, all together; returns the version, ``None`` if there was nothing to publish.

        Args:
            batch: the number of this batch of a named writer. A number not above :attr:`last_batch` was committed
                before and is skipped, so a source that sends again after a crash does no harm.

        Raises:
            WriterFenced: another writer has this name by now. Nothing was committed.
            CommitConflict: the table's columns changed, or it was rebuilt: open another writer.
            CommitUnfinished: the commit stands. Do not write it again.
            MetastoreError, StorageError, ClaimHeld: nothing is known to be committed; with a named writer and batch
                numbers it may be written again.
        """
        transaction = self._transaction
        if transaction is None:
            return None
        if batch is not None and self._progress is None:
            raise InvalidConfig(
                expected="a writer with a name, to use batch numbers",
                found="one without a name",
                action="Give `name` when you open it.",
            )
        if not self._files or (
            batch is not None and self.last_batch is not None and batch <= self.last_batch
        ):
            self.abort()
            return None
        try:
            self._finish(transaction, batch)
            version = self._publish(transaction, batch)
        except _AlreadyCommitted:
            self.abort()
            self.last_batch = batch
            return None
        except WriterFenced:
            self.close()
            raise
        except LakemergeError:
            self.abort()  # keeps files that may be committed
            raise
        self.last_batch = batch if batch is not None else self.last_batch
        self._transaction, self._files = None, {}
        compact(self._kernel, self._table)
        return version

    def _finish(self, transaction: Transaction, batch: int | None) -> None:
        for file in self._files.values():
            file.close()
        rows = sum(file.rows for file in self._files.values())
        base = transaction.base
        before = base.properties.get("rows") if base else None
        transaction.properties = {} if before is None else {"rows": before + rows}
        transaction.metrics["inserted"] = rows
        transaction.add_staged()
        if self._progress is not None:
            transaction.require(lambda parent: self._check_writer(parent, batch))

    def _publish(self, transaction: Transaction, batch: int | None) -> int:
        if self._progress is None or batch is None:
            return transaction.commit()
        done = {**self._progress.done, _BATCH: Done(str(batch))}
        after = Progress(self._progress.generation, "", None, done)
        write_progress(self._kernel, transaction, {self._key: after})
        try:
            version = transaction.commit()
        except CommitConflict:
            # two writers merged the same folders: this one leaves it to the other
            transaction.forget_side_data(KIND)
            write_progress(self._kernel, transaction, {self._key: after}, fold=False)
            version = transaction.commit()
        self._progress = after
        return version

    def abort(self) -> None:
        """Give up what was written since the last commit. Does nothing without a transaction."""
        for file in self._files.values():
            file.abandon()
        if self._transaction is not None:
            self._transaction.abort()
        self._transaction, self._files = None, {}

    # -- the end -------------------------------------------------------------------------------

    def close(self) -> None:
        """Abort an open transaction and close the writer."""
        self.abort()
        self._closed = True

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _static_values(keys: tuple[HiveColumn, ...], partition: Mapping[str, Any]) -> list[str | None]:
    given = {name.lower(): value for name, value in partition.items()}
    names = [key.name for key in keys]
    if sorted(given) != sorted(names) or len(given) < len(partition):
        raise InvalidConfig(
            expected=f"values of the partition columns {', '.join(names) or '(none)'}",
            found=", ".join(partition) or "none",
            action="Name each of them once, or leave `partition` out and give them in the records.",
        )
    return [_static_value(key, given[key.name]) for key in keys]


def _static_value(key: HiveColumn, value: Any) -> str | None:
    try:
        return None if value in (None, "") else key_converter(key.type)(value)
    except ValueError as error:
        raise InvalidConfig(
            expected=f"a value of {key.type} for the partition column {key.name}",
            found=f"{shown(value)}, which is {error}",
            action="Correct `partition`.",
        ) from error
