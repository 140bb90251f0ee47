"""Names and strings as Spark SQL reads them."""

from __future__ import annotations


def quote(name: str) -> str:
    """Any name, between backticks."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """A string of exactly this text, whatever quotes, backslashes and line ends it has."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
