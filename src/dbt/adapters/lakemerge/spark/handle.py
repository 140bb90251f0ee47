"""What a dbt connection holds: its own Spark session, its cursors and its clean-up."""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from dbt.adapters.lakemerge.spark.dbt_log import warn_only
from dbt.adapters.lakemerge.spark.java_process import lost_connection
from dbt.adapters.lakemerge.spark.session import Application
from dbt.adapters.lakemerge.spark.sql_settings import require_own_sql
from dbt.adapters.lakemerge.spark.statements import comment_of, split_statements
from dbt.adapters.lakemerge.staged_names import runnable_text
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

    from lakemerge.kernel import Transaction

T = TypeVar("T")
_SETS = re.compile(r"\bset\b", re.IGNORECASE)


#: PEP 249's seven fields: name and type are known, and whether nulls may occur.
ColumnDescription = tuple[str, str, None, None, None, None, bool]


class Processing(Protocol):
    """What a node processes; the commit of its rows records it."""

    @property
    def has_items(self) -> bool:
        """Whether there is anything to record, even without rows."""

    def record(self, transaction: Transaction) -> None:
        """Make it part of a commit."""

    def succeed(self) -> None:
        """Record that the commit succeeded."""


class SessionHandle:
    """One dbt connection: an isolated session on the shared application, and a job group.

    Attributes:
        application: the shared application, with the kernel's metastore and file system.
        spark: the session of this connection; settings and temporary views end with it.
        job_group: the id under which all Spark jobs of this connection run.
        processing: what the node's commits record besides rows.
        last_error: the last error in this connection, as dbt got it.
        python_result: what the last Python model of this connection returned, as a DataFrame.
        compute_feed: makes the node's feed, and makes it anew at each further call; ``None`` where the feed is a query,
            which Spark runs again whenever it is read.
    """

    def __init__(self, application: Application, spark: SparkSession, name: str) -> None:
        self.application = application
        self.spark = spark
        self.name = name
        self.job_group = f"{name}-{uuid.uuid4().hex[:12]}"
        self.python_result: DataFrame | None = None
        self.compute_feed: Callable[[], None] | None = None
        self.processing: Processing | None = None
        self._notes: dict[type, Any] = {}
        self.last_error: BaseException | None = None
        self._on_release: list[Callable[[], object]] = []
        self._kept: dict[str, int] = {}
        self._failure: DbtRuntimeError | None = None
        self._cancelled = threading.Event()
        self._closed = False
        self.describe_jobs(name)

    def notes(self, kind: type[T]) -> T:
        """Notes of a capability about this connection's node: one object per class, created on first use."""
        return cast("T", self._notes.setdefault(kind, kind()))

    def describe_jobs(self, description: str) -> None:
        """Put all jobs that this thread starts from now on into the connection's group."""
        context = self.spark.sparkContext
        context.setJobGroup(self.job_group, description, interruptOnCancel=True)

    def cursor(self) -> SessionCursor:
        """A new cursor, with rows of its own."""
        return SessionCursor(self)

    def on_release(self, callback: Callable[[], object]) -> None:
        """Call ``callback`` once when the connection is closed, after success and failure alike.

        It runs in the thread that used the connection, so it never races with the node's own work;
        the latest callback registered runs first.
        """
        self._on_release.append(callback)

    def keep_rows(self, view: str, frame: DataFrame) -> None:
        """Compute a frame now as a temporary view; its rows are kept until the release or until the view gets new rows.

        The rows are freed explicitly. Spark frees only unreferenced rows, but every thread that it starts while a
        session is active inherits the session, and so keeps its views and their rows for as long as the thread lives.
        """
        kept = frame.localCheckpoint()
        kept.createOrReplaceTempView(view)
        self._free(view)
        self._kept[view] = kept._jdf.queryExecution().analyzed().rdd().id()
        self.on_release(lambda: self._free(view))

    def _free(self, view: str) -> None:
        number, context = self._kept.pop(view, None), self.spark.sparkContext
        if number is not None and context._jsc is not None:
            # the RDD's own method warns that the rows cannot be computed again
            context._jsc.sc().unpersistRDD(number, False)

    @property
    def held(self) -> int:
        """The number of callbacks of :meth:`on_release` that have not run."""
        return len(self._on_release)

    def release(self, held: int = 0) -> None:
        """Run the callbacks of :meth:`on_release` after the first ``held``."""
        while len(self._on_release) > held:
            callback = self._on_release.pop()
            try:
                callback()
            except Exception as error:  # noqa: BLE001 - the other callbacks must run too
                # the end of Java was reported already, and left nothing to release
                if not lost_connection(error) or self.application.java.death(wait=1) is None:
                    warn_only(f"{self.name} could not be cleaned up: {error}")

    def cancel(self) -> None:
        """End the running jobs of this connection and refuse further ones. Callable from any thread."""
        self._cancelled.set()
        if self.application.java.death() is None:
            self.spark._jsc.sc().cancelJobGroupAndFutureJobs(self.job_group)

    def fail_next(self, error: DbtRuntimeError) -> None:
        """Let the next statement of this connection fail with an error, before it runs.

        A macro uses this to let dbt report a hook as failed: an error while the hook is rendered would end dbt's
        command without its results.
        """
        self._failure = error

    def raise_if_cancelled(self) -> None:
        """Stop a node that was cancelled between two of its statements.

        Raises:
            DbtRuntimeError: the connection was cancelled, or is to fail.
        """
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        if self._cancelled.is_set():
            raise DbtRuntimeError(f"{self.name} was cancelled")

    def rollback(self) -> None:
        """dbt calls this for a failed node; :meth:`close` does the clean-up."""
        self.close()

    def close(self) -> None:
        """Run the callbacks of :meth:`on_release` and give the session up."""
        if self._closed:
            return
        self._closed = True
        self.python_result = self.compute_feed = None
        self.release()
        self._clear_job_group()

    def _clear_job_group(self) -> None:
        context = self.spark.sparkContext
        if self.application.java.death() is not None:
            return
        if context._jsc is not None and context.getLocalProperty("spark.jobGroup.id") == self.job_group:
            context._jsc.clearJobGroup()


class SessionCursor:
    """Runs statements in a handle's session; PEP 249 as far as dbt uses it."""

    def __init__(self, handle: SessionHandle) -> None:
        self._handle = handle
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
        self._frame = self._handle.spark.sql(statement)
        if _SETS.search(statement):
            require_own_sql(self._handle.spark)

    def complete(self) -> None:
        """Run a query whose rows nobody will fetch, as other databases do: it may fail or log."""
        # commands have run already, and hold their result locally
        if self._frame is not None and not self._frame.isLocal():
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
