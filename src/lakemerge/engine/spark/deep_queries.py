"""Queries that overflow Spark's stack, reported as such."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from py4j.protocol import Py4JJavaError

from lakemerge.engine.spark.releases import condition_of
from lakemerge.errors import QueryTooDeep

_OVERFLOW = "java.lang.StackOverflowError"
# Spark's parser catches the error itself.
_PARSERS_CONDITION = "FAILED_TO_PARSE_TOO_COMPLEX"
_MOST_CAUSES = 20


def too_deep(error: BaseException) -> QueryTooDeep | None:
    """The typed error for an error of Spark or py4j that a stack overflow in Java caused; ``None`` for others."""
    found = next((text for text in _causes(error) if text in (_OVERFLOW, _PARSERS_CONDITION)), None)
    if found is None:
        return None
    return QueryTooDeep(
        expected="Spark's threads to have enough stack for the query",
        found=found,
        action="Give them more with `spark.driver.extraJavaOptions: -Xss16m` in the profile's server_side_parameters, "
        "and on a cluster with `spark.executor.extraJavaOptions` too. If the model's own query nests expressions, "
        "views or unions hundreds of levels deep, build a part of it as a table.",
    )


def _causes(error: BaseException) -> Iterator[str]:
    """The condition that Spark gives an error, and the Java classes of it and of what caused it."""
    from pyspark.errors import PySparkException

    if isinstance(error, PySparkException):
        yield condition_of(error)
    java: Any = error.java_exception if isinstance(error, Py4JJavaError) else getattr(error, "_origin", None)
    for _ in range(_MOST_CAUSES):
        if java is None:
            return
        yield str(java.getClass().getName())
        java = java.getCause()
