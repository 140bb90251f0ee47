"""The texts in a condition, which may stand in paths, manifests and logs."""

from __future__ import annotations

import json
from collections.abc import Iterable

from lakemerge.engine.sql_text import tokens
from lakemerge.kernel import escape

# Shorter ones stand in any text.
_SHORTEST = 4


def literals_of(*conditions: str) -> set[str]:
    """The texts in quotes of at least four characters, without the signs of a LIKE."""
    found = {text.lstrip("rR")[1:-1] for sql in conditions for kind, text in tokens(sql) if kind == "string"}
    parts = {part for text in found for part in (text, text.strip("%"))}
    return {part for part in parts if len(part) >= _SHORTEST and "%" not in part.strip("%")}


def mentions(text: str, wanted: Iterable[str]) -> bool:
    """Whether a text has one of these, as it is, as JSON writes it, or as partitions' directories have it."""
    return any(
        spelled in text
        for one in wanted
        for spelled in {one, json.dumps(one)[1:-1], escape(one), escape(escape(one))}
    )
