"""Names go into SQL by the functions that double backticks and escape quotes, and by nothing else."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dbt.adapters.lakemerge.column import LakemergeColumn
from dbt.adapters.lakemerge.constraints import enforced_checks
from dbt.adapters.lakemerge.relation import LakemergeRelation
from hypothesis import given
from hypothesis import strategies as st

from lakemerge.engine.layout.partitions import partition_filter
from lakemerge.engine.options.reader import OptionReader
from lakemerge.engine.sql_text import literal, one_line_strings, quote, tokens
from lakemerge.kernel import HiveColumn, partition_name
from render_macros import Macros

ROOT = Path(__file__).parents[2]
# Backticks in texts for people are Markdown's.
_MESSAGES = ("expected", "found", "action")
_IN_MACROS = re.compile(r"""`\{\{[^}]*\}\}`|`'\s*~|`"\s*~""")


def quoted_by_hand(tree: ast.AST, in_message: bool = False) -> Iterator[int]:
    """The lines with an f-string that puts a value between backticks or quotes of SQL."""
    if isinstance(tree, ast.Raise) or (isinstance(tree, ast.keyword) and tree.arg in _MESSAGES):
        in_message = True
    if isinstance(tree, ast.JoinedStr) and not in_message:
        for before, value in zip(tree.values, tree.values[1:], strict=False):
            text = before.value if isinstance(before, ast.Constant) else ""
            if isinstance(value, ast.FormattedValue) and str(text).endswith("`"):
                yield tree.lineno
    for child in ast.iter_child_nodes(tree):
        yield from quoted_by_hand(child, in_message)


@pytest.mark.parametrize("folder", ["src/dbt/adapters/lakemerge", "src/lakemerge"])
def test_no_python_quotes_a_name_by_hand(folder: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in (ROOT / folder).rglob("*.py")
        for line in quoted_by_hand(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == []


def test_no_macro_quotes_a_name_by_hand() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in (ROOT / "macros").rglob("*.sql")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if _IN_MACROS.search(line) and "exceptions." not in line and "raise_typed" not in line
    ]
    assert found == []


def test_these_rules_find_what_they_are_for() -> None:
    assert list(quoted_by_hand(ast.parse('sql = f"drop table `{name}`"'))) == [1]
    assert list(quoted_by_hand(ast.parse('raise E(f"Run `{command}` again")'))) == []
    assert _IN_MACROS.search("as `{{ column }}`")
    assert _IN_MACROS.search("'`' ~ name ~ '`'")


# -- what macros make of odd names ---------------------------------------------------------------

MACROS = ROOT / "macros"
# The names of columns in the samples that macros are rendered with.
NAMES = ("product_id", "tags", "category", "colour", "name", "names_1", "columns_1", "columns_2")
# Arguments in which such a name is SQL of the user's, or a name that the macro looks up.
EXPRESSIONS = ("strategy", "snapshot_strategy")
UNKNOWN = {"lakemerge_snapshot_strategy"}
ODD = "`; drop'\"\\ -- {{ x }} <b>/*"


def renamed(value: Any, suffix: str) -> Any:
    """The same sample, with this suffix to the names of its columns."""
    if isinstance(value, str):
        return f"{value}{suffix}" if value in NAMES else value
    if isinstance(value, list | tuple):
        return type(value)(renamed(one, suffix) for one in value)
    if isinstance(value, LakemergeColumn):
        return LakemergeColumn(renamed(value.column, suffix), value.dtype)
    if isinstance(value, dict):
        return {renamed(key, suffix): renamed(one, suffix) for key, one in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type | LakemergeRelation):
        changes = {
            one.name: renamed(getattr(value, one.name), suffix)
            for one in dataclasses.fields(value)
            if one.init
        }
        return dataclasses.replace(value, **changes)
    return value


def test_odd_names_stay_within_their_quotes() -> None:
    macros = Macros(MACROS)
    documented = macros.described()
    broken, tried = [], 0

    def texts(name: str, sample: dict[str, Any], suffix: str) -> list[str]:
        rendering = macros._render(
            name,
            {key: value if key in EXPRESSIONS else renamed(value, suffix) for key, value in sample.items()},
        )
        return list(rendering.sql) if rendering.exact and not rendering.stopped else []

    for name in sorted(set(macros.own) & set(documented) - UNKNOWN):
        for sample in documented[name].samples():
            ordinary = texts(name, sample, "_odd")
            if not ordinary or "_odd" not in "".join(ordinary):
                continue
            tried += 1
            odd = [
                text.replace(quote(ODD)[1:-1], "_odd").replace(literal(ODD)[1:-1], "_odd")
                for text in texts(name, sample, ODD)
            ]
            if odd != ordinary:
                broken.append(
                    f"{name}: {[one for one in zip(ordinary, odd, strict=True) if one[0] != one[1]][:1]}"
                )
    assert tried > 100
    assert broken == []


LINE_ENDS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
PIECES = st.one_of(
    st.sampled_from(["'", '"', "`", "\\", ";", "--", "/*", "*/", "$$", "r'", "{{ x }}", "<b>", *LINE_ENDS]),
    st.text(max_size=3),
)
NASTY = st.lists(PIECES, max_size=8).map("".join)


@given(NASTY)
def test_a_string_is_one_token_in_one_line(text: str) -> None:
    made = literal(text)
    assert list(tokens(f"a = {made};")) == [("code", "a = "), ("string", made), ("end", ";")]
    assert len(made.splitlines()) == 1
    # as Spark reads it
    unescaped = re.sub(
        r"\\u([0-9A-F]{4})|\\(.)", lambda one: chr(int(one[1], 16)) if one[1] else one[2], made[1:-1]
    )
    assert unescaped == text


@given(NASTY)
def test_a_name_is_one_token(text: str) -> None:
    assert list(tokens(f"select {quote(text)};")) == [
        ("code", "select "),
        ("code", quote(text)),
        ("end", ";"),
    ]
    assert quote(text)[1:-1].replace("``", "`") == text


@given(NASTY)
def test_tokens_are_the_whole_text(text: str) -> None:
    assert "".join(part for _, part in tokens(text)) == text


@given(NASTY.filter(lambda text: "'" not in text and "\\" not in text))
def test_strings_of_the_users_keep_their_values_when_macros_indent_them(text: str) -> None:
    for string in (f"'{text}\n'", f"r'{text}\n'"):
        sql = one_line_strings(f"op = {string}\nor b")
        assert list(tokens(sql))[1:] == [("string", literal(f"{text}\n")), ("code", "\nor b")]
    reader = OptionReader(
        {"apply_as_deletes": f"op = '{text}'", "sequence_by": [f"if(a = '{text}', 1, 2)"]}, []
    )
    assert len(reader.text("apply_as_deletes").splitlines()) == 1
    assert len(reader.names("sequence_by")[0].splitlines()) == 1


@given(st.lists(NASTY, min_size=1, max_size=4))
def test_partition_values_are_strings_in_a_filter(values: list[str]) -> None:
    columns = [HiveColumn("a`b", "string"), HiveColumn("c", "string")]
    names = [partition_name([one.name for one in columns], [value, "x"]) for value in values]
    code = "".join(part for kind, part in tokens(partition_filter(columns, names)) if kind == "code")
    assert re.fullmatch(r"(?:[()\s,=]|in|cast|as|string|and|or|is|null|concat|`a``b`|`c`)*", code)


@given(NASTY)
def test_a_contracts_checks_name_columns_in_quotes(name: str) -> None:
    contract = {"config": {"contract": {"enforced": True}}}
    columns = {name: {"name": name, "constraints": [{"type": "not_null"}]}}
    (found,) = enforced_checks({**contract, "columns": columns}).values()
    assert found == f"{quote(name)} is null"
