"""Names, strings and comments as Spark SQL reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from lakemerge.kernel import TableName

Kind = Literal["code", "string", "comment", "end"]

# One token of Spark's lexer, as far as it matters for finding strings, comments and the ends of statements.
_TOKEN = re.compile(
    r"""
      (?P<string>\b[rR](?:'[^']*'|"[^"]*")       # a raw string: no escapes
        |'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"
        |\$(?P<tag>\w*)\$.*?\$(?P=tag)\$)
    | (?P<name>`(?:[^`]|``)*`)
    | (?P<line>--[^\n]*)
    | (?P<open>/\*)
    | (?P<end>;)
    """,
    re.VERBOSE | re.DOTALL,
)
# All at which Python, and so Jinja's filter `indent`, splits lines.
_LINE_END = re.compile("[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_COMMENT_EDGE = re.compile(r"/\*|\*/")


def tokens(text: str) -> Iterator[tuple[Kind, str]]:
    """The parts of a text, which together are the text: ``code``, ``string``, ``comment``, and ``end`` for a semicolon.

    Names between backticks are code.
    """
    position = 0
    while match := _TOKEN.search(text, position):
        if match.start() > position:
            yield "code", text[position : match.start()]
        position = match.end()
        if match["open"]:
            position = _end_of_comment(text, position)
        yield _kind(match), text[match.start() : position]
    if position < len(text):
        yield "code", text[position:]


def _kind(match: re.Match[str]) -> Kind:
    if match["end"]:
        return "end"
    if match["line"] is not None or match["open"]:
        return "comment"
    return "string" if match["string"] else "code"


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


def quote(name: str) -> str:
    """Any name, between backticks."""
    return "`" + name.replace("`", "``") + "`"


def qualified(name: TableName) -> str:
    """A table's name with its schema, each between backticks."""
    return f"{quote(name.schema)}.{quote(name.name)}"


def literal(text: str) -> str:
    """A string of exactly this text, whatever quotes, backslashes and line ends it has, in one line."""
    return "'" + _in_one_line(text.replace("\\", "\\\\").replace("'", "\\'")) + "'"


def one_line_strings(sql: str) -> str:
    """The same SQL with each of its strings in one line.

    Macros indent the SQL that they put together, and that would change a string of several lines.
    """
    if not _LINE_END.search(sql):
        return sql
    return "".join(_one_line(part) if kind == "string" else part for kind, part in tokens(sql))


def _one_line(string: str) -> str:
    if not _LINE_END.search(string):
        return string
    if string[0] in "rR":
        return literal(string[2:-1])
    if string[0] == "$":
        mark = string.index("$", 1) + 1
        return literal(string[mark:-mark])
    return _in_one_line(string)


def _in_one_line(text: str) -> str:
    return _LINE_END.sub(lambda match: f"\\u{ord(match[0]):04X}", text)
