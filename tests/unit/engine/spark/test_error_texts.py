from __future__ import annotations

import io
import logging
from typing import Any

import pytest
from py4j.protocol import Py4JError
from pyspark.errors.exceptions.captured import AnalysisException, ParseException, UnknownException

from lakemerge.engine.spark.error_texts import error_text
from lakemerge.engine.spark.java_process import leave_errors_of_queries_to_dbt


class Throwable:
    """What py4j gives of a Java exception."""

    def __init__(self, text: str, cause: Throwable | None = None) -> None:
        self.text = text
        self.cause = cause

    def toString(self) -> str:  # noqa: N802
        return f"java.io.IOException: {self.text}"

    def getMessage(self) -> str:  # noqa: N802
        return self.text

    def getSimpleMessage(self) -> str:  # noqa: N802
        return self.text

    def getCause(self) -> Throwable | None:  # noqa: N802
        return self.cause


def error(kind: Any, shown: str, java: Throwable) -> Any:
    """An error as pyspark makes it of Java's."""
    made = kind.__new__(kind)
    Exception.__init__(made, shown)
    made._origin = java
    made.__class__ = type(kind.__name__, (kind,), {"__str__": lambda self: shown})
    return made


def test_the_plan_of_a_query_is_left_out() -> None:
    java = Throwable("[UNRESOLVED_COLUMN] `nope`; line 1 pos 3")
    shown = f"{java.text};\n'Project ['nope]\n+- Range (0, 3)"
    assert error_text(error(AnalysisException, shown, java)) == java.text
    assert error_text(error(ParseException, shown, java)) == shown


def test_the_first_cause_is_said_once() -> None:
    root = Throwable("No space left on device")
    java = Throwable("task failed", Throwable("in between", root))
    text = error_text(error(UnknownException, "task failed to write to file:/a", java))
    assert text == "task failed to write to file:/a\nCaused by: java.io.IOException: No space left on device"
    assert error_text(error(UnknownException, f"failed: {root.text}", java)) == f"failed: {root.text}"


def test_javas_stack_is_left_out() -> None:
    stack = "\n\tat java.base/java.lang.Thread.run(Thread.java:840)\n\tat a.B$.$anonfun$c$1(B.scala:9)\n\t... 21 more"
    text = f"An error occurred while calling o1.x. Trace:\npy4j.Py4JException: Method x([]) does not exist{stack}"
    assert error_text(Py4JError(text)) == text.removesuffix(stack)
    python = 'Traceback:\n  File "a.py", line 3, in model\n    at(1)\nValueError: no'
    assert error_text(Py4JError(python)) == python


def test_causes_that_go_in_a_circle_are_left_out() -> None:
    java = Throwable("one", Throwable("two"))
    assert java.cause is not None
    java.cause.cause = java
    assert error_text(error(UnknownException, "one", java)) == "one"


@pytest.mark.parametrize("name", ["SQLQueryContextLogger", "DataFrameQueryContextLogger"])
def test_pyspark_does_not_print_the_error_of_a_query(name: str) -> None:
    loggers = pytest.importorskip("pyspark.logger", reason="Spark 3.5 prints none").PySparkLogger
    leave_errors_of_queries_to_dbt()
    leave_errors_of_queries_to_dbt()
    logger, printed = loggers.getLogger(name), io.StringIO()
    handler = logging.StreamHandler(printed)
    logger.addHandler(handler)
    try:
        logger.exception("[MISSING]", errorClass="MISSING")
    finally:
        logger.removeHandler(handler)
    assert printed.getvalue() == ""
    assert len(logger.filters) == 1
