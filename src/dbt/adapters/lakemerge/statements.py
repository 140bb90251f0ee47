"""SQL statements: a text split into those that Spark runs one at a time."""

from __future__ import annotations

import itertools
import re

from lakemerge.engine.sql_text import tokens

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
