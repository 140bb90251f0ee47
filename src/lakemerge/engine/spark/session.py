"""The Spark application of this process, and the sessions that dbt's connections get from it."""

from __future__ import annotations

import os
import shlex
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError

from lakemerge.class_archive import archive_of, use_options
from lakemerge.engine.spark import environment, java_process
from lakemerge.engine.spark.configuration import Configuration, Target, configures_logging, spark_home
from lakemerge.engine.spark.full_disks import local_folders, with_full_disks
from lakemerge.engine.spark.java_process import (
    JavaProcess,
    keep_calls_without_answer_quiet,
    leave_errors_of_queries_to_dbt,
    lost_connection,
)
from lakemerge.engine.spark.releases import make_lock_tables
from lakemerge.engine.spark.sql_settings import require_own_sql
from lakemerge.errors import (
    JavaDied,
    LakemergeError,
    MetastoreError,
    SparkApplicationMismatch,
    SparkNotStarted,
)
from lakemerge.kernel import FileSystem, Jvm, Metastore, Ports, ports_of
from lakemerge.redaction import holds_secret

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_LOG_CONFIGURATION = Path(__file__).with_name("log4j2.properties")
# Derby's name for "another instance may have already booted the database"
_DERBY_BOOTED = "XSDB6"
# Java may still be shutting down when the first call gets no answer.
_ENDING_SECONDS = 10

_lock = threading.Lock()
_application: Application | None = None
# The application of a program that has started Spark by itself.
_of_program: Application | None = None
# The last command that used ``_application``.
_command = ""
# Whether an application that starts now must leave nothing behind.
_rehearses = False


@dataclass(frozen=True)
class Application:
    """One Spark application with Hive support, shared by all connections of this process.

    Attributes:
        root: the first session; no model runs in it.
        java: the process that Spark runs in.
        ports: the kernel's metastore and files, reached through the application's JVM.
    """

    root: SparkSession
    configuration: Configuration
    java: JavaProcess
    jvm: Jvm
    ports: Ports

    @property
    def metastore(self) -> Metastore:
        """The kernel's client of the metastore that the application uses."""
        return self.ports.metastore

    @property
    def filesystem(self) -> FileSystem:
        """The kernel's access to files."""
        return self.ports.files

    def new_session(self, settings: Mapping[str, str]) -> SparkSession:
        """A new session that shares no settings and no temporary views with others.

        Args:
            settings: of this session; those that only an application can have are left out.

        Raises:
            InvalidConfig: see :func:`require_own_sql`.
        """
        session = self.root.newSession()
        for name, value in settings.items():
            if not name.startswith("spark.") or session.conf.isModifiable(name):
                session.conf.set(name, value)
        require_own_sql(session)
        return session


def application(target: Target, command: str = "") -> Application:
    """The application of this process, started at the first call.

    Args:
        command: what distinguishes the commands that one process runs, one after another.

    Raises:
        LakemergeError: the environment or the profile does not allow it; nothing is left half-made.
        JavaDied: Java ended after this command started; the next command starts another Java.
    """
    global _application, _command
    configuration = Configuration.of(target)
    with _lock:
        if _application is not None and (death := _application.java.death()) is not None:
            if _command == command:
                raise death
            _application.java.forget()
            _application = None
        if _application is None or _is_stopped(_application.root):
            _application = _start(configuration)
        elif _application.configuration.metastore != configuration.metastore:
            raise SparkApplicationMismatch(
                expected=f"Spark on the metastore {configuration.metastore}",
                found=f"this process running it on {_application.configuration.metastore}",
                action="Spark can use one metastore per process: run this target in a process of its own.",
            )
        _command = command
        return _application


def application_of(session: SparkSession) -> Application:
    """The application that a program has started, found by one of its sessions.

    Raises:
        SparkApplicationMismatch: it has no Hive support.
    """
    global _of_program
    with _lock:
        for known in (_application, _of_program):
            if known is not None and known.root.sparkContext is session.sparkContext:
                return known
        started = Configuration(application={}, metastore_uris="", derby=None, warehouse=None)
        _of_program = _application_of(session, started)
        return _of_program


@contextmanager
def rehearsal(target: Target) -> Iterator[None]:
    """Make an application that starts inside the block leave nothing behind.

    If the application would create the embedded metastore, the metastore is in memory instead, and Java ends with the
    block, because Spark can use only one metastore per process.
    """
    global _application, _rehearses
    configuration = Configuration.of(target)
    with environment.removing_new_folders(configuration.derby, configuration.warehouse):
        if _is_running() or configuration.derby is None or configuration.derby.exists():
            yield
            return
        _rehearses = True
        try:
            yield
        finally:
            _rehearses = False
            with _lock:
                if _application is not None:
                    _application.java.end()
                _application = None


@contextmanager
def reporting_java_death() -> Iterator[None]:
    """Turn a call's lost connection to Java into the error that says how Java ended.

    Raises:
        JavaDied: in place of the error that lost the connection.
    """
    try:
        yield
    except JavaDied:
        raise
    except Exception as error:
        if _application is None or not (lost_connection(error) or _application.java.is_ending()):
            raise
        death = _application.java.death(_ENDING_SECONDS)
        if death is None:
            raise
        raise death from error


def explained(text: str) -> str:
    """The text of an error, with the local folders whose disk is full if that is what it says."""
    return _with_full_disks(text, _application.configuration) if _application else text


def _with_full_disks(text: str, configuration: Configuration) -> str:
    database = configuration.derby.parent if configuration.derby else None
    return with_full_disks(text, local_folders(configuration, os.environ), database)


def _is_running() -> bool:
    from pyspark.sql import SparkSession

    session = SparkSession._instantiatedSession
    return session is not None and not _is_stopped(session)


def _is_stopped(session: SparkSession) -> bool:
    return session.sparkContext._jsc is None


def _start(configuration: Configuration) -> Application:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    existing = SparkSession._instantiatedSession if _is_running() else None
    if existing is None:
        environment.check(configuration)
    started = configuration.rehearsed() if _rehearses else configuration
    builder = SparkSession.builder.enableHiveSupport()
    for name, value in started.application.items():
        builder = builder.config(name, value)
    if started.python is not None:
        os.environ.setdefault("PYSPARK_PYTHON", started.python)
    keep_calls_without_answer_quiet()
    leave_errors_of_queries_to_dbt()
    try:
        with _java_options(started):
            if existing is None:
                _start_java(started)
            root = existing or builder.getOrCreate()
        return _application_of(root, configuration)
    except (PySparkException, Py4JError, OSError) as error:
        raise SparkNotStarted(
            expected="Spark to start",
            found=_with_full_disks(_first_line(error), configuration),
            action="Correct `server_side_parameters` in the profile, spark-defaults.conf or the machine; "
            "see Java's output above.",
        ) from error


def _start_java(configuration: Configuration) -> None:
    """Start Java without the settings that hold secrets, which the application gets once it runs.

    PySpark starts it with all settings on its command line, which every user of the machine can read.
    """
    from pyspark import SparkConf, SparkContext

    shown = SparkConf(loadDefaults=False)
    for name, value in configuration.application.items():
        if not holds_secret(name, value):
            shown.set(name, value)
    SparkContext._ensure_initialized(conf=shown)


def _application_of(root: SparkSession, configuration: Configuration) -> Application:
    catalog = root.conf.get("spark.sql.catalogImplementation", "in-memory")
    if catalog != "hive":
        raise SparkApplicationMismatch(
            expected="Spark with Hive support",
            found="a Spark session that this process made without it",
            action="Create that session with enableHiveSupport(), or stop it before dbt starts.",
        )
    jvm = Jvm.of_spark(root)
    ports = ports_of(jvm)
    try:
        ports.metastore.table_summaries("default")
    except MetastoreError as error:
        if _DERBY_BOOTED in _java_causes(error):
            raise environment.locked(configuration.derby, "it open in another process") from error
        raise
    make_lock_tables(jvm)
    return Application(root, configuration, JavaProcess.of(root), jvm, ports)


def _java_causes(error: LakemergeError) -> str:
    """The texts of the Java exception behind an error and of its causes."""
    texts = []
    java = getattr(error.__cause__, "java_exception", None)
    while java is not None:
        texts.append(str(java.toString()))
        java = java.getCause()
    return "\n".join(texts)


def _first_line(error: BaseException) -> str:
    java = getattr(error, "java_exception", None)
    text = str(java.toString() if java is not None else error)
    return next((line for line in text.splitlines() if line.strip()), type(error).__name__)


@contextmanager
def _java_options(configuration: Configuration) -> Iterator[None]:
    """Set options for the JVM that Spark starts inside the block.

    They are passed in the environment, because spark.driver.extraJavaOptions belongs to the user.
    """
    options = [*java_process.OPTIONS]
    if not configures_logging():
        options.append(f"-Dlog4j2.configurationFile={_LOG_CONFIGURATION.as_uri()}")
    if log := configuration.derby_log:
        options.append(f"-Dderby.stream.error.file={log}")
    before = os.environ.get("SPARK_SUBMIT_OPTS")
    if java := os.environ.get("JAVA_HOME"):
        options += use_options(archive_of(Path(java), spark_home() / "jars"), before or "")
    os.environ["SPARK_SUBMIT_OPTS"] = " ".join([*map(shlex.quote, options), *([before] if before else [])])
    try:
        yield
    finally:
        if before is None:
            del os.environ["SPARK_SUBMIT_OPTS"]
        else:
            os.environ["SPARK_SUBMIT_OPTS"] = before
