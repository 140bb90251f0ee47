"""The texts of errors and log lines are sentences, as far as that can be seen without reading them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from lakemerge.errors import LakemergeError

SOURCE = Path(__file__).parents[2] / "src"
#: What stands for a value that is known at run time only.
VALUE = "\N{REPLACEMENT CHARACTER}"
LOGGERS = ("logger", "_LOG")


def template(node: ast.expr) -> str:
    """A text as it is written, with VALUE for what is put into it."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else VALUE for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return template(node.left) + template(node.right)
    return VALUE


def alternatives(node: ast.expr) -> Iterator[str]:
    """The texts that an expression may give."""
    if isinstance(node, ast.IfExp):
        yield from alternatives(node.body)
        yield from alternatives(node.orelse)
    elif isinstance(node, ast.BoolOp):
        for value in node.values:
            yield from alternatives(value)
    else:
        yield template(node)


def calls() -> Iterator[tuple[str, ast.Call]]:
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                yield f"{path.relative_to(SOURCE)}:{node.lineno}", node


CALLS = list(calls())
ERROR_TEXTS = [
    (where, keyword.arg, text)
    for where, call in CALLS
    if {"expected", "found", "action"} <= {keyword.arg for keyword in call.keywords}
    for keyword in call.keywords
    if keyword.arg in ("expected", "found", "action")
    for text in alternatives(keyword.value)
]
LOG_TEXTS = [
    (where, text)
    for where, call in CALLS
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("info", "warning", "error")
    if isinstance(call.func.value, ast.Name) and call.func.value.id in LOGGERS
    for text in alternatives(call.args[0])
]
CONFLICTS = [
    (where, text)
    for where, call in CALLS
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("conflict", "overtaken")
    for text in alternatives(call.args[0])
]


def test_the_texts_are_found() -> None:
    assert len(ERROR_TEXTS) > 300
    assert len(LOG_TEXTS) > 15
    assert len(CONFLICTS) > 5


def wrong(part: str, text: str) -> bool:
    if not text.strip() or re.search(r"  |\.\.|\. \.|\n", text):
        return True
    if part == "action":
        return not re.search(rf"([.)…]|{VALUE})$", text) or not re.match(rf"[A-Z`{VALUE}-]", text)
    return text.endswith(".") or text != text.strip()


def test_errors_are_written_so_that_their_parts_make_sentences() -> None:
    assert [(where, part, text) for where, part, text in ERROR_TEXTS if wrong(part, text)] == []


def test_conflicts_are_clauses_that_an_error_and_a_log_line_can_both_be_made_of() -> None:
    assert [(where, text) for where, text in CONFLICTS if not text.startswith(("that ", VALUE))] == []


def test_log_lines_have_no_gaps_and_no_clause_that_begins_with_that() -> None:
    assert [(where, text) for where, text in LOG_TEXTS if re.search(r"  |\. \.|: that\b", text)] == []


@pytest.mark.parametrize("found", ["no version. ", "no version.\n", "no version..", " no version"])
def test_texts_of_others_bring_no_full_stops_of_their_own(found: str) -> None:
    error = LakemergeError(expected="a metastore", found=found, action="Correct `metastore`.")
    assert str(error) == "Expected a metastore; found no version. Correct `metastore`."
    assert error.found == "no version"
