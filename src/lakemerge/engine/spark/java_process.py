"""The Java process in which Spark runs: how it ended, and how to end it."""

from __future__ import annotations

import contextlib
import logging
import signal
import socket
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError, Py4JJavaError

from lakemerge.engine.spark.releases import loggers_of_queries
from lakemerge.errors import JavaDied

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger("lakemerge")

#: Options of the Java that is started for Spark. After an OutOfMemoryError any of Spark's threads may be gone, and a
#: run that waits for one of them never ends. The virtual machine's own messages join the others on standard error.
OPTIONS = ("-XX:+ExitOnOutOfMemoryError", "-XX:+DisplayVMOutputToStderr")

# The virtual machine's own exit code after an OutOfMemoryError, and that of Spark's threads that run tasks.
_OUT_OF_MEMORY = (3, 52)
# Signals on which Java shuts down in good order, with the signal's number plus 128 as its exit code.
_SHUTDOWN_SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
_LONGEST_WAIT_SECONDS = 10.0
_DEFAULT_HEAP = "1g"

_RUN_AGAIN = (
    "Committed work stays. Run again to finish a commit that was in progress and to redo the rest. "
    "Look at `lakemerge_history` before you run an `append` again that consumes nothing: if its commit was in "
    "progress, its rows would be there twice."
)


@dataclass(frozen=True)
class JavaProcess:
    """The Java process behind a session's calls.

    Attributes:
        session: Spark's first one, as pyspark keeps it.
        gateway: py4j's, by which all sessions of this process call Java.
        folders: where Java may leave its report of a crash.
        heap: Java's memory as it was configured, such as ``4g``.
    """

    session: SparkSession
    gateway: Any
    folders: tuple[Path, ...]
    heap: str

    @classmethod
    def of(cls, session: SparkSession) -> JavaProcess:
        """The process behind a session that answers."""
        context = session.sparkContext
        heap = context.getConf().get("spark.driver.memory") or _DEFAULT_HEAP
        return cls(session, context._gateway, (Path.cwd(), Path(tempfile.gettempdir())), heap)

    def death(self, wait: float = 0) -> JavaDied | None:
        """The error that describes its end; ``None`` while it lives.

        Args:
            wait: seconds to wait for its end, where a call has shown that something is wrong with it.
        """
        process = self._started_here
        if process is None:
            # Java logs this check as a stranger's call, so it is made only with a reason
            dead = wait > 0 and not self._listens()
            return _died("that nothing answers in its place", _RUN_AGAIN) if dead else None
        try:
            code = process.wait(wait)
        except subprocess.TimeoutExpired:
            return None
        return _died(*self._how(code, process.pid))

    def is_ending(self) -> bool:
        """Whether Spark has been shut down in this process, which Java does first when it is asked to end.

        Calls that are under way then fail with errors of any kind.
        """
        context = self.session.sparkContext._jsc
        if context is None:
            return False  # shut down from here
        try:
            return bool(context.sc().isStopped())
        except (Py4JError, OSError):
            return True

    def forget(self) -> None:
        """Let pyspark start another Java; everything of this one is lost. Does not end it."""
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
        from pyspark.sql.context import SQLContext

        context = self.session.sparkContext
        context._jsc = None
        with contextlib.suppress(Py4JError, OSError):
            context.stop()
        SparkContext._active_spark_context = None
        SparkContext._gateway = SparkContext._jvm = None
        SparkSession._instantiatedSession = SparkSession._activeSession = None
        SQLContext._instantiatedContext = None

    def end(self) -> None:
        """Stop Spark and end the process, if it was started here; pyspark may then start another."""
        process = self._started_here
        with contextlib.suppress(Py4JError, OSError):
            self.session.stop()
        if process is None:
            return
        assert process.stdin is not None
        # Java ends when this pipe does
        process.stdin.close()
        try:
            process.wait(_LONGEST_WAIT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self.forget()

    @property
    def _started_here(self) -> subprocess.Popen[bytes] | None:
        # Spark's own launcher of Python programs (spark-submit) starts Java first, and Python from there
        process: subprocess.Popen[bytes] | None = getattr(self.gateway, "proc", None)
        return process

    def _listens(self) -> bool:
        parameters = self.gateway.gateway_parameters
        try:
            socket.create_connection((parameters.address, parameters.port), timeout=1).close()
        except ConnectionRefusedError:
            return False
        except OSError:
            return True
        return True

    def _how(self, code: int, pid: int) -> tuple[str, str]:
        """How a process with this exit code ended, and what the user can do."""
        more = f"more memory by spark.driver.memory in `server_side_parameters` (it had {self.heap})"
        if code in _OUT_OF_MEMORY:
            return (
                f"that it ran out of memory (OutOfMemoryError, exit code {code})",
                f"Give it {more}. {_RUN_AGAIN}",
            )
        reports = [folder / f"hs_err_pid{pid}.log" for folder in self.folders]
        if report := next((path for path in reports if path.is_file()), None):
            return f"that it crashed ({_ending(code)})", f"Its report is {report}. {_RUN_AGAIN}"
        number = _signal_of(code)
        if number == signal.SIGKILL:
            return f"that it was killed ({_ending(code)})", (
                "The system does that to a process when the machine or its container has no memory left: see its log, "
                f"and then lower spark.driver.memory (it had {self.heap}) or give the machine more. {_RUN_AGAIN}"
            )
        if number:
            return f"that it was ended from outside ({_ending(code)})", _RUN_AGAIN
        return f"that it ended by itself ({_ending(code)})", f"What it wrote above says why. {_RUN_AGAIN}"


def lost_connection(error: BaseException) -> bool:
    """Whether an error, or a cause of it, is a call that never reached Java or got no answer."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, (EOFError, ConnectionError)):
            return True
        if isinstance(seen, Py4JError) and not isinstance(seen, Py4JJavaError):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


class _ToDebugLog(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        if Path(record.pathname).parent.name != "py4j":
            return True
        _LOG.debug(f"{record.getMessage()} {record.exc_info[1] if record.exc_info else ''}")
        return False


_TO_DEBUG_LOG = _ToDebugLog()


def keep_calls_without_answer_quiet() -> None:
    """Send py4j's tracebacks of calls without answer to dbt's debug log; the exceptions that it raises say enough."""
    # py4j logs them with the root logger, which adds the same filter only once
    logging.getLogger().addFilter(_TO_DEBUG_LOG)


class _Nothing(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        return False


_NOTHING = _Nothing()


def leave_errors_of_queries_to_dbt() -> None:
    """Keep pyspark from printing the error of a query, which dbt shows, as a line of JSON with Java's whole stack."""
    for logger in loggers_of_queries():
        # it has the same filter only once
        logger.addFilter(_NOTHING)


def _died(found: str, action: str) -> JavaDied:
    return JavaDied(expected="the Java process that runs Spark to stay alive", found=found, action=action)


def _signal_of(code: int) -> int:
    """The number of the signal that ended a process with this exit code; 0 where none did."""
    if code < 0:
        return -code
    return code - 128 if code - 128 in _SHUTDOWN_SIGNALS else 0


def _ending(code: int) -> str:
    number = _signal_of(code)
    if not number:
        return f"exit code {code}"
    try:
        return f"signal {number}, {signal.Signals(number).name}"
    except ValueError:
        return f"signal {number}"
