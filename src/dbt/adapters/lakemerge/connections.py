"""dbt's connections: one isolated Spark session each."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from dbt.adapters.contracts.connection import AdapterResponse, Connection, ConnectionState
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.exceptions import FailedToConnectError
from dbt.adapters.lakemerge.cursor import ConnectionHandle
from dbt.adapters.lakemerge.dbt_errors import as_dbt_error, translated_errors
from dbt.adapters.lakemerge.responses import CommitResponse
from dbt.adapters.spark.connections import SparkConnectionManager
from dbt.flags import get_flags
from dbt_common.invocation import get_invocation_id

from lakemerge.engine.spark.configuration import session_settings
from lakemerge.engine.spark.handle import Reads
from lakemerge.engine.spark.session import application, reporting_java_death
from lakemerge.errors import JavaDied, LakemergeError

if TYPE_CHECKING:
    import agate

logger = AdapterLogger("Lakemerge")


class LakemergeConnectionManager(SparkConnectionManager):
    """Opens, cancels and closes connections, and translates what goes wrong in them."""

    TYPE = "lakemerge"

    # the thread that has cancelled all others, until the run is over
    _cancelled_by: ClassVar[int | None] = None

    @classmethod
    def open(cls, connection: Connection) -> Connection:
        """Give the connection its own session; the first one starts the application.

        Raises:
            FailedToConnectError: the environment does not allow it; the text says what to do.
        """
        if connection.state == ConnectionState.OPEN:
            return connection
        try:
            credentials = connection.credentials
            name = connection.name or "master"
            with reporting_java_death():
                app = application(credentials, get_invocation_id())
                handle = ConnectionHandle(app, app.new_session(session_settings(credentials)), name, _reads())
        except JavaDied as error:
            # dbt opens a connection in state FAIL again, only to close it: outside of a node, this ends the command
            connection.state = ConnectionState.CLOSED
            raise as_dbt_error(error) from error
        except LakemergeError as error:
            connection.handle = None
            connection.state = ConnectionState.FAIL
            raise FailedToConnectError(str(error)) from error
        connection.handle = handle
        connection.state = ConnectionState.OPEN
        if cls._cancelled_by not in (None, threading.get_ident()):
            # its node had begun when the others were cancelled, and had run no statement yet
            handle.cancel()
        return connection

    def clear_transaction(self) -> None:
        """Do nothing: Spark has no transactions, and dbt would open a connection after each run to roll one back."""

    def cancel(self, connection: Connection) -> None:
        """End the Spark jobs of one connection."""
        logger.debug(f"Cancelling {connection.name}")
        connection.handle.cancel()

    def cancel_open(self) -> list[str]:
        """End the Spark jobs of all other connections, and return their names; one that opens later runs no jobs."""
        LakemergeConnectionManager._cancelled_by = threading.get_ident()
        this_connection = self.get_if_exists()
        with self.lock:
            # reading the handle of a connection that was never used would open it
            others = [
                connection
                for connection in self.thread_connections.values()
                if connection is not this_connection and connection.state == ConnectionState.OPEN
            ]
            for connection in others:
                self.cancel(connection)
        return [connection.name for connection in others if connection.name is not None]

    def cleanup_all(self) -> None:
        """Close all connections: the run is over."""
        LakemergeConnectionManager._cancelled_by = None
        super().cleanup_all()

    @contextmanager
    def exception_handler(self, sql: str) -> Iterator[None]:
        """Turn the errors of Spark, of Java and of the kernel into dbt's, and note them on the connection."""
        try:
            with translated_errors(sql):
                yield
        except Exception as error:
            connection = self.get_if_exists()
            if connection is not None and connection.state == ConnectionState.OPEN:
                connection.handle.last_error = error
            raise

    def execute(
        self, sql: str, auto_begin: bool = False, fetch: bool = False, limit: int | None = None
    ) -> tuple[AdapterResponse, agate.Table]:
        """Run a statement; a query runs even if its rows are not wanted (``fetch=False``)."""
        from dbt_common.clients.agate_helper import empty_table

        sql = self._add_query_comment(sql)
        _, cursor = self.add_query(sql, auto_begin)
        with self.exception_handler(sql):
            if fetch:
                table = self.get_result_from_cursor(cursor, limit)
            else:
                cursor.complete()
                table = empty_table()
        return self.get_response(cursor), table

    @classmethod
    def get_response(cls, cursor: Any) -> AdapterResponse:
        """What a statement of ours did. Spark reports no counts; materializations give their own responses."""
        done = getattr(cursor, "done", None)
        return AdapterResponse(_message="OK") if done is None else CommitResponse.of(done)


def _reads() -> Reads:
    """How much of its sources this dbt command reads."""
    flags = get_flags()
    if getattr(flags, "EMPTY", False):
        return "none"
    return "all" if getattr(flags, "SAMPLE", None) is None else "part"
