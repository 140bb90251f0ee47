"""Failures of Spark, of Java, of the engine and of the kernel, as dbt shows them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from dbt_common.exceptions import CompilationError, DbtDatabaseError, DbtRuntimeError
from py4j.protocol import Py4JError

from lakemerge.engine.failures import text_of, typed_failure
from lakemerge.engine.spark.releases import condition_of
from lakemerge.engine.spark.session import reporting_java_death
from lakemerge.errors import LakemergeError, SchemaChanged
from lakemerge.redaction import redacted

_LOG = logging.getLogger("lakemerge")


class SparkStatementError(DbtDatabaseError):
    """Spark refused or failed a statement.

    Attributes:
        condition: Spark's error condition, such as ``TABLE_OR_VIEW_NOT_FOUND``; decide by this and
            not by the text. ``None`` if Spark names none.
    """

    def __init__(self, message: str, condition: str | None) -> None:
        super().__init__(redacted(message))
        self.condition = condition


def as_dbt_error(error: LakemergeError) -> DbtRuntimeError:
    """A typed error as dbt shows it."""
    return (
        CompilationError(str(error)) if isinstance(error, SchemaChanged) else DbtRuntimeError(text_of(error))
    )


@contextmanager
def translated_errors(doing: str) -> Iterator[None]:
    """Raise the failures of Spark, of Java, of the engine and of the kernel as dbt's.

    Args:
        doing: the statement or the action inside the block, for the log.
    """
    from pyspark.errors import PySparkException

    try:
        with reporting_java_death():
            yield
    except LakemergeError as error:
        raise as_dbt_error(error) from error
    except (PySparkException, Py4JError) as error:
        _LOG.debug("Error while running:\n%s", redacted(doing))
        known = typed_failure(error)
        if known is not None:
            raise as_dbt_error(known) from error
        condition = condition_of(error) if isinstance(error, PySparkException) else None
        raise SparkStatementError(text_of(error), condition) from error


@contextmanager
def config_errors() -> Iterator[None]:
    """Raise wrong options as dbt's own compilation error."""
    try:
        yield
    except LakemergeError as error:
        raise CompilationError(str(error)) from error
