"""Sessions of a program's Spark application in which lakemerge works, isolated from the program's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lakemerge.engine.spark.configuration import REQUIRED_OF_SESSIONS
from lakemerge.engine.spark.handle import SessionHandle
from lakemerge.engine.spark.session import application_of
from lakemerge.errors import SparkApplicationMismatch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TIME_ZONE = "spark.sql.session.timeZone"
# What the macros are written for, and what a program may have set otherwise in its own session.
_ANSI = {"spark.sql.ansi.enabled": "false"}
# Properties of the program's thread, under which its own Spark jobs run.
_JOB_PROPERTIES = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")


def active_session() -> SparkSession:
    """The program's active session. Raises SparkApplicationMismatch where there is none."""
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is None:
        raise SparkApplicationMismatch(
            expected="a Spark session with Hive support to be active",
            found="none in this thread",
            action="Make one (SparkSession.builder.enableHiveSupport().getOrCreate()), or pass it as `spark`.",
        )
    return session


@contextmanager
def session_beside(spark: SparkSession, purpose: str) -> Iterator[SessionHandle]:
    """A session that shares no temporary views and, except for the time zone, no settings with a program's session.

    Its jobs run in the job group that the program has set, if any, so that what cancels the program's own jobs cancels
    them too. Afterwards the program's jobs run under the names that they had before.

    Args:
        purpose: what Spark's user interface shows.
    """
    context = spark.sparkContext
    before = {name: context.getLocalProperty(name) for name in _JOB_PROPERTIES}
    application = application_of(spark)
    zone = {_TIME_ZONE: spark.conf.get(_TIME_ZONE) or "UTC"}
    session = application.new_session({**REQUIRED_OF_SESSIONS, **_ANSI, **zone})
    group = before["spark.jobGroup.id"]
    handle = SessionHandle(application, session, purpose, job_group=group)
    try:
        yield handle
    finally:
        handle.close()
        for name, value in before.items():
            context.setLocalProperty(name, value)  # type: ignore[arg-type]
