"""Drawn lines of JSON, most of them sound, and what strict rules make of each, told by Python's own parser."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from random import Random
from typing import Any

#: Types by column, and by the member of a struct.
COLUMNS: dict[str, Any] = {
    "i": "int",
    "l": "bigint",
    "n": "decimal(6,2)",
    "f": "double",
    "s": "string",
    "b": "boolean",
    "d": "date",
    "many": ["int"],
    "texts": ["string"],
    "by_name": {"": "decimal(6,2)"},
    "st": {"a": "int", "c": "string"},
    "deep": [{"a": "double", "st": {"a": ["boolean"], "c": "string"}}],
}
_NUMBERS = ("0", "-0", "7", "-12", "2147483647", "2147483648", "9223372036854775807", "9223372036854775808")
_FRACTIONS = (
    "1.5",
    "-0.0",
    "1.250",
    "1.255",
    "9999.99",
    "12345.6",
    "1e2",
    "1E-3",
    "1e400",
    "1e-400",
    "0e5",
    "-1.0",
)
_TEXTS = (
    *(
        "",
        "a",
        "5",
        "true",
        "null",
        "s",
        "n5",
        "z",
        "btrue",
        "2024-02-29",
        "2023-02-29",
        "1.5",
        "-1",
        ":",
        ",",
    ),
    *(
        "{}",
        '{"a":1,"a":2}',
        "[1]",
        "}],[{",
        "\\",
        '\\"',
        '"',
        "\n\t",
        "é",
        "\ue000",
        "😀",
        "\\ud800",
        "a:1",
        "{",
    ),
)
_NAMES = (*COLUMNS, *"ac", "", "I", "{", '"', "é", "\\", "s", '":"', "\ue000")
_JUNK = (*'{}[]",:\\01-.e ', "true", "null", '"a":1', "}],[{", "\\ud83d", "\\u00e9", "{}", "/**/", "'")
_HALVES = ("\\ud800", "\\udc00x", "\\ud83d\\ud83d")


class Number(str):
    """A number as it is written."""


class Pairs(list[tuple[str, Any]]):
    """An object's members in their order, repeated names included."""


def ddl(kind: Any) -> str:
    """A type's name in SQL."""
    if isinstance(kind, list):
        return f"array<{ddl(kind[0])}>"
    if isinstance(kind, dict):
        if "" in kind:
            return f"map<string,{ddl(kind[''])}>"
        return f"struct<{','.join(f'{name}:{ddl(member)}' for name, member in kind.items())}>"
    return str(kind)


def line_of(draw: Random) -> str:
    """A record of :data:`COLUMNS`, in which something may be wrong."""
    names = list(COLUMNS)
    if draw.random() < 0.1:
        draw.shuffle(names)
    members = [(_name(draw, name), _value(draw, COLUMNS[name])) for name in names]
    if draw.random() < 0.1:
        members.insert(draw.randrange(len(members)), (_name(draw, draw.choice(_NAMES)), _any_value(draw, 2)))
    if draw.random() < 0.05:
        del members[draw.randrange(len(members))]
    line = _object(draw, members)
    for _ in range(draw.choice((0, 0, 0, 0, 0, 0, 1, 2))):
        place = draw.randrange(len(line) + 1)
        line = line[:place] + draw.choice(_JUNK) + line[place + draw.randrange(2) :]
    return line + draw.choice((*40 * ("",), " ", "x", "{}", "}", "]", "}],[{", ",null", "] and more"))


def _value(draw: Random, kind: Any) -> str:
    if draw.random() < 0.03:
        return _any_value(draw, 3)
    if draw.random() < 0.1:
        return "null"
    if isinstance(kind, list):
        return "[" + ",".join(_value(draw, kind[0]) for _ in range(draw.randrange(3))) + "]"
    if isinstance(kind, dict):
        names = list(kind) if "" not in kind else draw.choices(_NAMES, k=draw.randrange(3))
        if draw.random() < 0.02:
            names.append(draw.choice(_NAMES))
        return _object(
            draw, [(_name(draw, name), _value(draw, kind.get(name, kind.get("")))) for name in names]
        )
    if kind == "boolean":
        return draw.choice(("true", "false"))
    if kind == "date":
        return '"2024-02-29"'
    if kind == "string":
        return _text(draw, draw.choice(_TEXTS))
    if kind == "double" and draw.random() < 0.3:
        return draw.choice(_FRACTIONS)
    return draw.choice(("0", "-12", "7", "120")) if draw.random() < 0.98 else draw.choice(_NUMBERS)


def _any_value(draw: Random, depth: int) -> str:
    kinds: list[Callable[[], str]] = [
        lambda: draw.choice(_NUMBERS),
        lambda: draw.choice(_FRACTIONS),
        lambda: draw.choice(("true", "false", "null")),
        lambda: _text(draw, draw.choice(_TEXTS)),
        lambda: "1" * draw.choice((20, 40, 1200)),
        lambda: f'"{draw.choice(_HALVES)}"',
    ]
    if depth:
        kinds += [
            lambda: "[" + ", ".join(_any_value(draw, depth - 1) for _ in range(draw.randrange(3))) + "]",
            lambda: _object(
                draw,
                [
                    (_name(draw, draw.choice(_NAMES)), _any_value(draw, depth - 1))
                    for _ in range(draw.randrange(4))
                ],
            ),
        ]
    return draw.choice(kinds)()


def _object(draw: Random, members: list[tuple[str, str]]) -> str:
    blank = draw.choice(("", "", " ", "\t"))
    return "{" + f",{blank}".join(f"{name}{blank}:{blank}{value}" for name, value in members) + "}"


def _name(draw: Random, name: str) -> str:
    return f'"{draw.choice(_HALVES)}"' if draw.random() < 0.002 else _text(draw, name)


def _text(draw: Random, text: str) -> str:
    """A text as JSON, of which there are several ways to write it."""
    return json.dumps(text, ensure_ascii=draw.random() < 0.5).replace("/", draw.choice(("/", "\\/")))


def row_of(line: str, extra: str, missing: str) -> dict[str, Any] | None:
    """The row that a record becomes, by column; ``None`` if it is rejected.

    Args:
        extra: `reject` or `drop`.
        missing: `reject` or `null`.
    """
    try:
        record = json.loads(
            line, parse_int=_number, parse_float=_number, parse_constant=_refuse, object_pairs_hook=Pairs
        )
    except ValueError:
        return None
    if not isinstance(record, Pairs) or (extra == "reject" and _is_repeated(record)):
        return None
    declared = Pairs((name, value) for name, value in record if name in COLUMNS)
    if _is_repeated(declared) or not all(_is_readable(value) for _, value in declared):
        return None
    found = _struct(record, COLUMNS, extra, missing)
    return found if isinstance(found, dict) else None


def _number(text: str) -> Number:
    if len(text) > 1000:
        raise ValueError
    return Number(text)


def _refuse(text: str) -> None:
    raise ValueError(text)


def _is_repeated(members: Pairs) -> bool:
    return len({name for name, _ in members}) < len(members)


def _is_readable(value: Any) -> bool:
    """Whether no half of a character and no repeated name stands anywhere in it."""
    if isinstance(value, Pairs):
        return not _is_repeated(value) and all(_is_readable(one) for member in value for one in member)
    if isinstance(value, list):
        return all(map(_is_readable, value))
    return not (isinstance(value, str) and re.search("[\ud800-\udfff]", value))


class _Wrong(Exception):
    """A value that its type does not take."""


def _struct(members: Pairs, kinds: Mapping[str, Any], extra: str, missing: str) -> dict[str, Any] | None:
    found = dict(members)
    if (extra == "reject" and set(found) - set(kinds)) or (missing == "reject" and set(kinds) - set(found)):
        return None
    try:
        return {name: _typed(found.get(name), kind, extra, missing) for name, kind in kinds.items()}
    except _Wrong:
        return None


def _typed(value: Any, kind: Any, extra: str, missing: str) -> Any:
    if value is None:
        return None
    if isinstance(kind, list) and type(value) is list:
        return [_typed(item, kind[0], extra, missing) for item in value]
    if isinstance(kind, dict) and isinstance(value, Pairs):
        if "" in kind:
            return {name: _typed(item, kind[""], extra, missing) for name, item in value}
        found = _struct(value, kind, extra, missing)
    else:
        found = _plain(value, kind) if isinstance(kind, str) else None
    if found is None:
        raise _Wrong
    return found


def _plain(value: Any, kind: str) -> Any:
    is_number, is_text = isinstance(value, Number), type(value) is str
    if kind in ("int", "bigint") and is_number and re.fullmatch("-?[0-9]+", value):
        most = 2**31 if kind == "int" else 2**63
        return int(value) if -most <= int(value) < most else None
    if kind == "decimal(6,2)" and (is_number or is_text):
        if not re.fullmatch(r"[+-]?(?:[0-9]+[.]?|[0-9]*[.](?=[0-9]))[0-9]{0,2}0*", value):
            return None
        return Decimal(value).quantize(Decimal("0.01")) + 0 if abs(Decimal(value)) < 10000 else None
    if kind == "double" and is_number:
        found = float(value)
        is_zero = re.fullmatch("[-.0]+(?:[eE][-+0-9]+)?", value)
        return found if is_zero or (found and abs(found) != float("inf")) else None
    if kind == "boolean":
        return value if isinstance(value, bool) else None
    if kind == "string" and is_text:
        return value
    if kind == "date" and is_text and re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
        try:
            return date.fromisoformat(value)
        except ValueError:
            return None
    return None
