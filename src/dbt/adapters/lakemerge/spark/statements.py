"""SQL statements: a text split into statements that Spark runs one at a time, and the error of one."""

from __future__ import annotations

import itertools
import re

from dbt_common.exceptions import DbtDatabaseError

from lakemerge.redaction import redacted

# One token of Spark's lexer as far as it matters for finding the semicolons that end statements.
_TOKEN = re.compile(
    r"""
      (?P<raw>\b[rR](?:'[^']*'|"[^"]*"))        # a raw string: no escapes
    | (?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    | (?P<name>`(?:[^`]|``)*`)
    | (?P<dollar>\$(?P<tag>\w*)\$.*?\$(?P=tag)\$)
    | (?P<line>--[^\n]*)
    | (?P<open>/\*)
    | (?P<end>;)
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_SCRIPT = re.compile(r"(?:\w+\s*:\s*)?begin\b", re.IGNORECASE)


class SparkStatementError(DbtDatabaseError):
    """Spark refused or failed a statement.

    Attributes:
        condition: Spark's error condition, such as ``TABLE_OR_VIEW_NOT_FOUND``; decide by this and
            not by the text. ``None`` if Spark names none.
    """

    def __init__(self, message: str, condition: str | None) -> None:
        super().__init__(redacted(message))
        self.condition = condition


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


def _scan(text: str) -> tuple[list[int], str]:
    """Where statements end, and the text without its comments."""
    ends: list[int] = []
    code: list[str] = []
    position = 0
    while match := _TOKEN.search(text, position):
        code.append(text[position : match.start()])
        position = match.end()
        kind = match.lastgroup
        if kind == "open":
            position = _end_of_comment(text, position)
        elif kind == "end":
            ends.append(match.start())
        elif kind != "line":
            code.append(match[0])
    code.append(text[position:])
    return ends, "".join(code)


def _end_of_comment(text: str, position: int) -> int:
    """The end of a bracketed comment that is open at ``position``; such comments nest in Spark."""
    depth = 1
    while depth:
        edge = _COMMENT_EDGE.search(text, position)
        if edge is None:
            return len(text)
        depth += 1 if edge[0] == "/*" else -1
        position = edge.end()
    return position
