"""Spark's errors about landed files that it cannot read, as lakemerge's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError

from lakemerge.engine.spark.releases import condition_of
from lakemerge.errors import UnreadableFile

_READING_FAILED = "FAILED_READ_FILE."
# a file that disappeared while it was read: the next run does not find it
_GONE = "FAILED_READ_FILE.FILE_NOT_EXIST"


def unreadable_file(path: str, expected: str, error: BaseException) -> UnreadableFile:
    """The error for a file.

    Args:
        expected: of the file, such as ``to be readable to its end``.
        error: Spark's, as pyspark raises it, or what a call into Java raised.
    """
    found = str(error)
    if isinstance(error, Py4JJavaError):
        java = error.java_exception
        # the format's own reader says more
        found = (java.getCause() or java).toString()
    return UnreadableFile(
        expected=f"{path} {expected}",
        found=found.strip().splitlines()[0],
        action="Nothing was committed. Move the file away, or add a pattern that matches its name to ignore_names.",
    )


@contextmanager
def typed_read_errors() -> Iterator[None]:
    """Raise UnreadableFile where Spark cannot read a file to its end: truncated, damaged, or of another format."""
    try:
        yield
    except Py4JJavaError as error:
        # pyspark has no class of its own for the failure of a job, and leaves it as Java's
        failure = error.java_exception
        is_spark = failure.getClass().getName() == "org.apache.spark.SparkException"
        condition = condition_of(failure) if is_spark else ""
        if not condition.startswith(_READING_FAILED) or condition == _GONE:
            raise
        path = failure.getMessageParameters().get("path")
        raise unreadable_file(path, "to be readable to its end", error) from error
