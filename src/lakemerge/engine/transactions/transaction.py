"""A transaction of a Python program over several tables."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from pyspark.errors import PySparkException

from lakemerge.engine.publish.redo import lost_rows_as_conflict, redoing
from lakemerge.engine.relations.sized_text import as_too_long
from lakemerge.engine.ruled_table import Staged
from lakemerge.engine.spark.beside import session_beside
from lakemerge.engine.spark.handle import SessionHandle
from lakemerge.engine.spark.session import application_of
from lakemerge.engine.sql_text import qualified
from lakemerge.engine.statements.parsing import Statement
from lakemerge.engine.statements.run import required, text_for_history
from lakemerge.engine.transactions.changes import TableChanges
from lakemerge.errors import (
    CommitConflict,
    CommitInDoubt,
    CommitUnfinished,
    InvalidConfig,
    InvalidTransactionState,
    LeaseLost,
)
from lakemerge.kernel import Kernel, Settings, TableName
from lakemerge.kernel import Transaction as TableTransaction

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger("lakemerge")
_WHEN_EXHAUSTED = "Nothing was committed. Make the transaction again when the other writers are done."

State = Literal["new", "open", "committed", "aborted", "in doubt"]


class Transaction:
    """Changes of several tables that become visible together, or not at all; see :func:`lakemerge.transaction`.

    Not for two threads at once.

    Attributes:
        state: ``new``, ``open``, ``committed``, ``aborted``, or ``in doubt``: the metastore went silent.
    """

    def __init__(
        self,
        names: Sequence[str],
        spark: SparkSession,
        *,
        on_lease_lost: Callable[[LeaseLost], object] | None,
        max_attempts: int,
        lease_seconds: int = Settings.lease_seconds,
    ) -> None:
        self.state: State = "new"
        self._listener = on_lease_lost
        self._lease_seconds = lease_seconds
        self._lost: LeaseLost | None = None
        self._spark = spark
        self._max_attempts = max_attempts
        self._names = list(dict.fromkeys(TableName.parse(name, "default") for name in names))
        if not self._names:
            raise InvalidConfig(
                expected="the names of the tables that the transaction changes",
                found="none",
                action='Name them: lakemerge.transaction("shop.orders", "shop.stock").',
            )
        self._tables: dict[TableName, TableChanges] = {}

    # -- the beginning -------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin: look the tables up, and open a place for their changes. Nothing is locked.

        Raises:
            TableNotFound, UnsupportedTable: a table cannot be changed by a transaction.
            ClaimHeld, MetastoreError, StorageError: may be retried if the error says so.
        """
        if self.state == "open":
            raise self._wrong_state("a transaction that is not open", "Commit it or abort it first.")
        self._lost = None
        self._application = application_of(self._spark)
        self._kernel = self._kernel_of("adopt")
        self._tables = {name: TableChanges(self._kernel, self._spark, name) for name in self._names}
        if any(changes.on_foreign_write == "fail" for changes in self._tables.values()):
            self._kernel = self._kernel_of("fail")
            self._tables = {name: TableChanges(self._kernel, self._spark, name) for name in self._names}
        self.state = "open"
        try:
            for changes in self._tables.values():
                changes.begin(partial(self._lose, changes.name))
        except BaseException:
            self.abort()
            raise

    def _kernel_of(self, on_foreign_write: Literal["adopt", "fail"]) -> Kernel:
        """A kernel of the program's metastore; the strictest table decides about what other programs wrote."""
        settings = Settings(
            lease_seconds=self._lease_seconds,
            writer={"agent": "lakemerge.transaction"},
            on_foreign_write=on_foreign_write,
        )
        return Kernel(self._application.ports, settings)

    # -- changes -------------------------------------------------------------------------------

    def upsert(self, table: str, rows: Any) -> None:
        """Insert rows, or update those that have their keys.

        Args:
            rows: with all columns of the table (except those for which a null changes nothing), and with those of its
                ``sequence_by``. Mappings, one or many; or a table of Arrow, pandas or Spark.

        Raises:
            InvalidRecord: a row does not match the table; those before it are part of the transaction.
            IncompatibleColumn: a column of a frame may have values that do not fit.
            UnsupportedTable: the table has no key.
            LeaseLost: the transaction can only be aborted, and made again.
            PySparkException: a frame could not be computed or written; it is not part of the transaction.
        """
        self._changes_of(table).upsert(rows)

    def delete(self, table: str, keys: Any) -> None:
        """Delete the rows that have these keys; nothing where there are none.

        Args:
            keys: rows with the key's columns and, where the table has a ``sequence_by``, its columns. Other columns may
                be there; those of the partition save work. Of any kind that :meth:`upsert` takes.

        Raises:
            InvalidRecord, IncompatibleColumn, UnsupportedTable, LeaseLost, PySparkException: as :meth:`upsert`.
        """
        self._changes_of(table).delete(keys)

    def append(self, table: str, rows: Any) -> None:
        """Add rows to a table without a key.

        Args:
            rows: with all columns of the table, of any kind that :meth:`upsert` takes.

        Raises:
            InvalidRecord, IncompatibleColumn, LeaseLost, PySparkException: as :meth:`upsert`.
            UnsupportedTable: the table has a key.
        """
        self._changes_of(table).append(rows)

    def sql(self, statement: str) -> None:
        """Take a DELETE, UPDATE, MERGE INTO, INSERT or TRUNCATE of one of the tables. The commit carries it out.

        Its queries see tables as they are then, without what this transaction does to them, and the temporary views and
        settings of the session. Of each table, a transaction has one statement, or rows.

        Raises:
            UnsupportedStatement: it is no such statement, or the transaction changes the table already.
            UnsupportedTable, LeaseLost: as :meth:`upsert`.
        """
        self._require_open()
        found, name = required(self._spark, self._application, statement)
        writer = {"agent": "lakemerge.transaction", **text_for_history(self._spark, statement)}
        self.take(found, name, dataclasses.replace(self._kernel.settings, writer=writer))

    def take(self, statement: Statement, name: TableName, settings: Settings) -> None:
        """As :meth:`sql`, for a statement that is parsed already.

        Args:
            settings: of the kernel that commits it.
        """
        self._changes_of(str(name)).execute(statement, Kernel(self._application.ports, settings))

    def _changes_of(self, table: str) -> TableChanges:
        self._require_open()
        if self._lost is not None:
            raise self._lost
        name = TableName.parse(table, "default")
        if name not in self._tables:
            raise InvalidConfig(
                expected=f"one of the tables that the transaction began with ({', '.join(map(str, self._tables))})",
                found=str(name),
                action="Name all tables when you make the transaction.",
            )
        return self._tables[name]

    # -- the end -------------------------------------------------------------------------------

    def commit(self) -> dict[str, int]:
        """Make all changes visible. If another commit came first, they are merged again, on what it has left.

        Returns:
            The version that was made of each table; tables without one had nothing to change.

        Raises:
            CommitsExhausted, ClaimHeld: other writers were in the way each time; may be retried.
            LeaseLost: the changes may be gone from disk; make the transaction again.
            SchemaChanged: a table's columns, or its model's rules, are not those that it had. Begin again.
            NullKey, NullSequence, AmbiguousChange, ConstraintViolated: the rows break the table's rules.
            CommitInDoubt: the metastore went silent; the changes may be visible, or not.
            CommitUnfinished: the changes stand, and the next commit finishes what is left.
        """
        self._require_open()
        pending = [changes for changes in self._tables.values() if changes.has_changes]
        versions: dict[TableName, int] = {}
        try:
            for changes in pending:
                changes.finish()
            with contextlib.ExitStack() as stack:
                handles = [
                    stack.enter_context(session_beside(self._spark, f"transaction on {changes.name}"))
                    for changes in pending
                ]
                tables = ", ".join(map(str, self._tables))
                redo = redoing(tables, self._max_attempts, _say_redo, advice=_WHEN_EXHAUSTED)
                staged, versions = redo(self._attempt, pending, handles)
                self.state = "committed"
                for one in staged:
                    one.tidy()
            for name in versions:
                self._spark.catalog.refreshTable(qualified(name))
        except Exception as error:
            if self.state != "committed" or isinstance(error, CommitUnfinished):
                raise
            _say_unfinished(error)
        finally:
            self._give_up()
        return {str(name): version for name, version in versions.items()}

    @lost_rows_as_conflict()
    def _attempt(
        self, pending: Sequence[TableChanges], handles: Sequence[SessionHandle]
    ) -> tuple[list[Staged], dict[TableName, int]]:
        complete: list[TableTransaction] = []
        try:
            staged = [
                changes.stage(handle, complete.append)
                for changes, handle in zip(pending, handles, strict=True)
            ]
            self._require_leases(pending)  # with all leases, nothing vanished unnoticed while it was read
            return staged, self._kernel.commit_together(complete)
        except BaseException as error:
            self._learn(complete)
            if isinstance(error, Exception):
                self._explain(error, pending, complete)
            raise
        finally:
            for handle in handles:
                handle.release()  # ends what was not committed, and frees rows

    def _learn(self, complete: Sequence[TableTransaction]) -> None:
        """Set the state in which an error has left the commit: a caller that reads it must not repeat what stands."""
        states = {transaction.state for transaction in complete}
        if "in doubt" in states:
            self.state = "in doubt"
        elif "committed" in states:
            self.state = "committed"

    def _explain(
        self, error: Exception, pending: Sequence[TableChanges], complete: Sequence[TableTransaction]
    ) -> None:
        """Raise what an error means, unless it says so itself."""
        if self.state == "in doubt":
            raise _in_doubt(complete) from error
        if self.state == "committed" and not isinstance(error, CommitUnfinished):
            raise _unfinished(complete, error) from error
        if isinstance(error, PySparkException):
            self._require_leases(pending)  # a lost lease is then the reason
            if (too_long := as_too_long(error)) is not None:
                raise too_long from error

    def _lose(self, table: TableName, reason: str) -> None:
        """Note that the lease is lost, and call the listener."""
        if self._lost is None and self.state == "open":
            self._lost = _lease_lost(table, reason)
            if self._listener is not None:
                self._listener(self._lost)

    def _require_leases(self, pending: Sequence[TableChanges]) -> None:
        for changes in pending:
            if reason := changes.lease_loss():
                self._lose(changes.name, reason)
        if self._lost is not None:
            raise self._lost

    def abort(self) -> None:
        """Give the changes up. Does nothing when they are committed, or were given up before."""
        if self.state in ("new", "open"):
            self.state = "aborted"
        self._close()

    def _give_up(self) -> None:
        """As :meth:`abort`, but what fails after a commit is logged, not raised: the commit stands."""
        try:
            self.abort()
        except Exception as error:
            if self.state != "committed":
                raise
            _say_unfinished(error)

    def _close(self) -> None:
        for changes in self._tables.values():
            changes.close()

    def __enter__(self) -> Transaction:
        self.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Commit, unless the block has done so or has failed."""
        if self.state == "open" and error is None:
            self.commit()
        else:
            self.abort()

    # -- states --------------------------------------------------------------------------------

    def _require_open(self) -> None:
        if self.state != "open":
            begin = "Begin it (`with` does so)" if self.state == "new" else "Begin it again"
            raise self._wrong_state("an open transaction", f"{begin}, and then make its changes.")

    def _wrong_state(self, expected: str, action: str) -> InvalidTransactionState:
        return InvalidTransactionState(expected=expected, found=f"one that is {self.state}", action=action)


def _say_redo(conflict: CommitConflict) -> None:
    _LOG.info("A transaction was overtaken, so its changes are merged again: %s", conflict)


def _say_unfinished(error: Exception) -> None:
    _LOG.warning(
        "A transaction is committed, so do not repeat it. The next commit does what is left to do after "
        "this one, and vacuum removes its files. If this session does not see the changes, refresh the tables: %s",
        error,
    )


def _lease_lost(table: TableName, reason: str) -> LeaseLost:
    return LeaseLost(
        expected=f"signs of life of the transaction on {table}, so that nobody deletes what it keeps on disk",
        found=reason,
        action="Nothing was committed. Make the transaction again.",
    )


def _unfinished(staged: Sequence[TableTransaction], error: Exception) -> CommitUnfinished:
    names = ", ".join(str(transaction.name) for transaction in staged)
    return CommitUnfinished(
        expected=f"to finish the commit of {names}, which is decided and stands",
        found=f"{type(error).__name__}: {error}",
        action="Do not repeat the changes: the next commit, or lakemerge_recover, finishes it.",
    )


def _in_doubt(staged: Sequence[TableTransaction]) -> CommitInDoubt:
    ids = ", ".join(f"{transaction.txn} on {transaction.name}" for transaction in staged)
    return CommitInDoubt(
        expected="the metastore to say whether the commit stands",
        found="no answer",
        action=f"Look whether the table's history has it ({ids}), and make the changes again only if not.",
    )
