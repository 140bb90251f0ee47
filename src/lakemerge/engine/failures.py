"""Failures of Spark and of Java: the typed error that one means, its text for people; and warnings that may be one."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError, Py4JJavaError

from lakemerge.engine.relations.sized_text import as_too_long
from lakemerge.engine.relations.store_assignment import as_unfit
from lakemerge.engine.spark.deep_queries import too_deep
from lakemerge.engine.spark.error_texts import error_text
from lakemerge.engine.spark.session import explained
from lakemerge.errors import LakemergeError

#: For warnings before a commit, by which a caller may let the work fail, as dbt does with `--warn-error`.
CAUTION = logging.getLogger("lakemerge.caution")


def failures() -> tuple[type[Exception], ...]:
    """What work with Spark may raise."""
    from pyspark.errors import PySparkException

    return LakemergeError, PySparkException, Py4JError


def typed_failure(error: Exception) -> LakemergeError | None:
    """The typed error for a failure of Spark that has one."""
    return too_deep(error) or as_too_long(error) or as_unfit(error)


def text_of(error: Exception) -> str:
    """A failure in words, without plans and stacks, and with the local folders whose disk is full if it says so."""
    if isinstance(error, LakemergeError):
        return explained(f"{type(error).__name__}: {error}")
    return explained(error_text(error)).strip()


@contextmanager
def typed_failures() -> Iterator[None]:
    """Raise the typed error in the place of a failure of Spark that has one."""
    try:
        yield
    except AttributeError as error:
        # pyspark cannot convert an error of an expression that is in no text
        if isinstance(error.__context__, Py4JJavaError):
            raise error.__context__ from None
        raise
    except failures() as error:
        if (typed := typed_failure(error)) is not None:
            raise typed from error
        raise
