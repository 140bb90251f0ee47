"""The first line of a delimited file, which names its fields: read as strictly as the records after it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lakemerge.engine.ingest.ingest_options import IngestOptions

# Hadoop, too, drops it from the first line.
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Header:
    """The names that a file gives its fields.

    Attributes:
        fields: the names, in the columns' letter case if they are columns; empty if the line cannot be read.
        problem: why it cannot be read.
    """

    fields: tuple[str, ...]
    problem: str = ""


def read_header(line: bytes, options: IngestOptions, declared: Sequence[str], regex: Any) -> Header:
    """Read a file's first line.

    Args:
        line: without its delimiter.
        declared: the fields that columns are taken from.
        regex: Java's package of regular expressions, because Spark splits records by the same patterns.
    """
    try:
        text = line.removeprefix(_BYTE_ORDER_MARK).decode(options.encoding)
    except UnicodeDecodeError:
        return Header((), f"the bytes of the header are not {options.encoding}")
    if options.line_delimiter == "\n":
        text = text.removesuffix("\r")
    tokens = _tokens(text, options, regex)
    if tokens is None:
        return Header((), "a quote in the header is not closed, or stands in a name that is not quoted")
    known = {name.lower(): name for name in declared}
    names = [_unquoted(token, options).strip() for token in tokens]
    return Header(tuple(known.get(name.lower(), name) for name in names))


def _tokens(text: str, options: IngestOptions, regex: Any) -> list[str] | None:
    """The fields as they stand in the line; ``None`` where it breaks the rules of quotes."""
    if not options.quote and not options.escape:
        return text.split(options.field_delimiter)
    line = options.field_delimiter + text
    if not regex.Pattern.compile(options.row_pattern).matcher(line).matches():
        return None
    matcher, tokens = regex.Pattern.compile(options.field_pattern).matcher(line), []
    while matcher.find():
        tokens.append(str(matcher.group(1)))
    return tokens


def _unquoted(token: str, options: IngestOptions) -> str:
    is_quoted = bool(options.quote) and token.startswith(options.quote)
    text = token[1:-1] if is_quoted else token
    if options.escape:
        return re.sub(options.escaped_pattern, r"\1", text)
    return text.replace(options.quote * 2, options.quote) if is_quoted else text
