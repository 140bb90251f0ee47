"""SQL statements: a text split into those that Spark runs one at a time, and those that lakemerge carries out."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from dbt.adapters.lakemerge.staged.waiting import change_waiting
from dbt_common.invocation import get_invocation_id

from lakemerge.engine.packaged_macros import packaged_macros
from lakemerge.engine.spark.handle import SessionHandle
from lakemerge.engine.sql_text import tokens
from lakemerge.engine.statements import run
from lakemerge.engine.statements.parsing import statement_of
from lakemerge.kernel import Settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakemerge.engine.publish.result import CommitResult

_SCRIPT = re.compile(r"(?:\w+\s*:\s*)?begin\b", re.IGNORECASE)


def split_statements(text: str) -> list[str]:
    """The statements of ``text``, without the semicolons between them and without empty ones.

    A SQL script (``begin … end``) is one statement. A text of one statement comes back as it is.
    """
    ends, code = _scan(text)
    if _SCRIPT.match(code.strip()):
        return [text]
    edges = [0, *(end + 1 for end in ends), len(text) + 1]
    pieces = [text[start : end - 1] for start, end in itertools.pairwise(edges)]
    statements = [piece.strip() for piece in pieces if _scan(piece)[1].strip()]
    return statements if len(statements) > 1 else [text]


def comment_of(text: str) -> str:
    """The text of the first bracketed comment, where dbt puts its query comment; empty without one."""
    start = text.find("/*")
    return text[start + 2 : text.find("*/", start)].strip() if start >= 0 else ""


def carry_out(handle: SessionHandle, sql: str) -> CommitResult | None:
    """Carry out a statement that changes rows of a table of ours; ``None``, and nothing done, for any other.

    Raises:
        InvalidTransactionState: another node of the run has staged a version of the table that is not published yet.
        LakemergeError, PySparkException: nothing was published, unless the error says otherwise.
    """
    statement = statement_of(handle.spark, sql)
    if statement is None:
        return None
    writer = {
        "agent": "dbt-lakemerge",
        "node": handle.name,
        "invocation_id": str(get_invocation_id()),
        **run.text_for_history(handle.spark, sql),
    }
    settings, held = Settings(writer=writer), handle.held
    try:
        if (done := change_waiting(handle, statement, settings)) is not None:
            return done
        found = run.ours(handle.spark, handle.application, statement)
        return found and run.carry_out(*found, handle.spark, handle, packaged_macros(), settings)
    finally:
        handle.release(held)


def counts_of(spark: SparkSession, done: CommitResult) -> DataFrame:
    """What a statement did as a row, with the names that Delta's statements have for it."""
    affected = done.inserted + done.updated + done.deleted
    counts = (affected, done.inserted, done.updated, done.deleted)
    names = ("affected", "inserted", "updated", "deleted")
    items = (f"{count}L as num_{name}_rows" for count, name in zip(counts, names, strict=True))
    return spark.sql(f"select {', '.join(items)}")


def _scan(text: str) -> tuple[list[int], str]:
    """Where statements end, and the text without its comments."""
    ends: list[int] = []
    code: list[str] = []
    position = 0
    for kind, part in tokens(text):
        if kind == "end":
            ends.append(position)
        elif kind != "comment":
            code.append(part)
        position += len(part)
    return ends, "".join(code)
