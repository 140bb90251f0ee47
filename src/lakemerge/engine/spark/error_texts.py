"""The text of an error of Spark's, for people: what is wrong and why, without plans and stacks."""

from __future__ import annotations

import contextlib
import re
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError

# An error with more causes than this has a loop in them.
_MOST_CAUSES = 50
# A line of Java's stack.
_FRAME = re.compile(r"\s+(at [\w.$/<>@-]+\(.*\)|\.\.\. \d+ more)")


def error_text(error: Exception) -> str:
    """What pyspark or py4j says of an error, and its first cause where that says something else.

    That a task failed to write rows, for instance, is said by one error, and that the disk is full by the first cause.
    """
    java = _java_error(error)
    text = str(java.toString()) if isinstance(error, Py4JJavaError) else str(error).strip()
    if java is None:
        return _without_stack(text)
    with contextlib.suppress(Py4JError, OSError):
        # not a parser's error, which is a subclass and has no plan
        if type(error).__name__ == "AnalysisException":
            # the message goes on with the plan of the whole query
            text = str(java.getSimpleMessage())
        cause = _first_cause(java)
        if cause is not None:
            said = str(cause.getMessage() or cause.toString())
            if said not in text:
                text = f"{text.rstrip()}\nCaused by: {cause.toString()}"
    return _without_stack(text)


def reason_of(error: Exception) -> str:
    """The first line of an error's text, to stand in a sentence."""
    return error_text(error).strip().splitlines()[0].partition("SQLSTATE")[0].strip().rstrip(".")


def _without_stack(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not _FRAME.fullmatch(line))


def _java_error(error: Exception) -> Any:
    if isinstance(error, Py4JJavaError):
        return error.java_exception
    return getattr(error, "_origin", None)


def _first_cause(java: Any) -> Any:
    cause = None
    for _ in range(_MOST_CAUSES):
        above = java if cause is None else cause
        below = above.getCause()
        if below is None:
            return cause
        cause = below
    return None
