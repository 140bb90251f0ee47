"""The Spark session of one piece of work, such as a node: its jobs, what it keeps in memory, and its clean-up."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, cast

from lakemerge.engine.spark.java_process import lost_connection
from lakemerge.engine.spark.releases import cancel_jobs
from lakemerge.engine.spark.session import Application
from lakemerge.errors import Cancelled, LakemergeError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakemerge.kernel import Transaction

_LOG = logging.getLogger("lakemerge")
T = TypeVar("T")
Reads = Literal["all", "part", "none"]


def has_lost_rows(error: Exception) -> bool:
    """Whether Spark has failed because an executor is gone, with rows of :meth:`SessionHandle.keep_rows`."""
    # an error of ours may quote Spark's, and say that a commit stands
    return not isinstance(error, LakemergeError) and "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND" in str(error)


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
    """An isolated session on the shared application, and a job group; dbt's connections have one each.

    Attributes:
        application: the shared application, with the kernel's metastore and file system.
        reads: how much of its sources the work reads: ``all``, a ``part`` (dbt's `--sample`), or ``none``, so that only
            tables with their columns are made (`--empty`). A row that a part lacks may still be in the source, so
            nothing is deleted for its absence.
        spark: the session of this connection; settings and temporary views end with it.
        job_group: the id under which all Spark jobs of this connection run.
        processing: what the node's commits record besides rows.
        last_error: the last error in this connection, as dbt got it.
        compute_feed: makes the node's feed, and makes it anew at each further call; ``None`` where the feed is a query,
            which Spark runs again whenever it is read.
    """

    def __init__(
        self,
        application: Application,
        spark: SparkSession,
        name: str,
        reads: Reads = "all",
        *,
        job_group: str | None = None,
    ) -> None:
        self.application = application
        self.reads = reads
        self.spark = spark
        self.name = name
        self.job_group = job_group or f"{name}-{uuid.uuid4().hex[:12]}"
        self.compute_feed: Callable[[], None] | None = None
        self.processing: Processing | None = None
        self._notes: dict[type, Any] = {}
        self.last_error: BaseException | None = None
        self._on_release: list[Callable[[], object]] = []
        self._kept: dict[str, int] = {}
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

    def on_release(self, callback: Callable[[], object]) -> None:
        """Call ``callback`` once when the connection is closed, after success and failure alike.

        It runs in the thread that used the connection, so it never races with the node's own work;
        the latest callback registered runs first.
        """
        self._on_release.append(callback)

    def keep_rows(self, view: str, frame: DataFrame) -> None:
        """Compute a frame now as a temporary view; its rows are kept until the release or until the view gets new rows.

        They are not computed again where an executor is lost, for they could be others then; see :func:`has_lost_rows`.

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
                    _LOG.warning(f"{self.name} could not be cleaned up: {error}")

    def cancel(self) -> None:
        """End the running jobs of this connection and refuse further ones. Callable from any thread."""
        self._cancelled.set()
        if self.application.java.death() is None:
            cancel_jobs(self.spark, self.job_group)

    def raise_if_cancelled(self) -> None:
        """Stop a node that was cancelled between two of its statements.

        Raises:
            Cancelled: it was.
        """
        if self._cancelled.is_set():
            raise Cancelled(
                expected=f"{self.name} to go on",
                found="that it was cancelled",
                action="Run it again.",
            )

    def close(self) -> None:
        """Run the callbacks of :meth:`on_release` and give the session up."""
        if self._closed:
            return
        self._closed = True
        self.compute_feed = None
        self.release()
        self._clear_job_group()

    def _clear_job_group(self) -> None:
        context = self.spark.sparkContext
        if self.application.java.death() is not None:
            return
        if context._jsc is not None and context.getLocalProperty("spark.jobGroup.id") == self.job_group:
            context._jsc.clearJobGroup()
