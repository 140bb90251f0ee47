"""What a dbt connection adds to its session: cursors, and what dbt does when a node fails."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dbt.adapters.lakemerge.staged_names import runnable_text
from dbt.adapters.lakemerge.statements import carry_out, comment_of, counts_of, split_statements
from dbt_common.exceptions import DbtDatabaseError

from lakemerge.engine.spark.handle import Reads, SessionHandle
from lakemerge.engine.spark.session import Application
from lakemerge.engine.spark.sql_settings import require_own_sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

    from lakemerge.engine.publish.result import CommitResult

_SETS = re.compile(r"\bset\b", re.IGNORECASE)

#: PEP 249's seven fields: name and type are known, and whether nulls may occur.
ColumnDescription = tuple[str, str, None, None, None, None, bool]


class ConnectionHandle(SessionHandle):
    """The session of a dbt connection.

    Attributes:
        python_result: what the last Python model of this connection returned, as a DataFrame.
    """

    def __init__(
        self, application: Application, spark: SparkSession, name: str, reads: Reads = "all"
    ) -> None:
        super().__init__(application, spark, name, reads)
        self.python_result: DataFrame | None = None
        self._failure: Exception | None = None

    def cursor(self) -> SessionCursor:
        """A new cursor, with rows of its own."""
        return SessionCursor(self)

    def fail_next(self, error: Exception) -> None:
        """Let the next statement of this connection fail with an error, before it runs.

        A macro uses this to let dbt report a hook as failed: an error while the hook is rendered would end dbt's
        command without its results.
        """
        self._failure = error

    def raise_if_cancelled(self) -> None:
        """Stop a node that was cancelled, or is to fail, between two of its statements.

        Raises:
            Cancelled: it was cancelled.
            Exception: it is to fail; see :meth:`fail_next`.
        """
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        super().raise_if_cancelled()

    def rollback(self) -> None:
        """dbt calls this for a failed node; :meth:`close` does the clean-up."""
        self.close()

    def close(self) -> None:
        self.python_result = None
        super().close()


class SessionCursor:
    """Runs statements in a handle's session; PEP 249 as far as dbt uses it.

    Attributes:
        done: what the last statement did to a table, if that was a commit.
    """

    def __init__(self, handle: ConnectionHandle) -> None:
        self._handle = handle
        self.done: CommitResult | None = None
        self._frame: DataFrame | None = None
        self._rows: Iterator[Row] | None = None

    def __enter__(self) -> SessionCursor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def execute(self, sql: str, bindings: Sequence[Any] | None = None) -> None:
        """Run one statement, or several separated by semicolons; the cursor is then at the last one.

        A query runs when its rows are fetched, or by :meth:`complete`.

        Args:
            bindings: values for the ``?`` of a single statement.

        Raises:
            InvalidConfig: a statement has made Spark read SQL in another way than lakemerge writes it.
        """
        self.close()
        self._handle.raise_if_cancelled()
        self._handle.describe_jobs(comment_of(sql) or self._handle.name)
        sql = runnable_text(sql)
        if bindings:
            self._frame = self._handle.spark.sql(sql, args=list(bindings))
            return
        *first, last = split_statements(sql)
        for statement in first:
            self._run(statement)
            self.complete()
            self._handle.raise_if_cancelled()
        self._run(last)

    def _run(self, statement: str) -> None:
        self.done = carry_out(self._handle, statement)
        if self.done is not None:
            self._frame = counts_of(self._handle.spark, self.done)
            return
        self._frame = self._handle.spark.sql(statement)
        if _SETS.search(statement):
            require_own_sql(self._handle.spark)

    def complete(self) -> None:
        """Run a query whose rows nobody will fetch, as other databases do: it may fail or log."""
        # commands have run already, and hold their result locally
        if self.done is None and self._frame is not None and not self._frame.isLocal():
            self._frame.write.format("noop").mode("overwrite").save()

    @property
    def description(self) -> list[ColumnDescription]:
        """The columns of the result; empty for a command without a result."""
        if self._frame is None:
            return []
        return [
            (field.name, field.dataType.simpleString(), None, None, None, None, field.nullable)
            for field in self._frame.schema.fields
        ]

    def fetchall(self) -> list[Row]:
        """The rows that were not yet fetched."""
        if self._rows is None:
            rows = self._result().collect()
            self._rows = iter(())
            return rows
        return list(self._rows)

    def fetchone(self) -> Row | None:
        """The next row, ``None`` after the last."""
        return next(self._remaining(), None)

    def fetchmany(self, size: int = 1) -> list[Row]:
        """The next rows, ``size`` at most."""
        return [row for _, row in zip(range(size), self._remaining(), strict=False)]

    def close(self) -> None:
        """Forget the result."""
        self.done = None
        self._frame = None
        self._rows = None

    def _remaining(self) -> Iterator[Row]:
        if self._rows is None:
            self._rows = self._result().toLocalIterator()
        return self._rows

    def _result(self) -> DataFrame:
        if self._frame is None:
            raise DbtDatabaseError(
                "Expected a statement before its rows are fetched; found none. Call execute() first."
            )
        return self._frame
