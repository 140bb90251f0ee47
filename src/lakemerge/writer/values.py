"""Single values: from what a record holds to the text that Hive's row format reads, strictly."""

from __future__ import annotations

import base64
import datetime
import decimal
import math
import re
from collections.abc import Callable
from typing import Any

_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "integer": 32, "bigint": 64}
_WHOLE = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NO_NUMBER = re.compile(r"[+-]?inf(inity)?|nan", re.IGNORECASE)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_SIZED = re.compile(r"(?:var)?char\((\d+)\)")

_SKIPPED_DAYS = (datetime.date(1582, 10, 5), datetime.date(1582, 10, 14))
_AMBIGUOUS_SECOND = (
    datetime.datetime(1969, 12, 31, 23, 59, 59, 1000, tzinfo=datetime.timezone.utc),
    datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc),
)

#: From a value that is not null to its text; raises ValueError with what is wrong.
Convert = Callable[[Any], str]


def converter(kind: str) -> Convert:
    """How values of a Hive type become text.

    Raises:
        KeyError: the type has parts (array, map, struct), which a line has no place for.
    """
    kind = kind.lower().replace(" ", "")
    if kind in _BITS:
        return _whole(_BITS[kind])
    if match := _DECIMAL.fullmatch("decimal(10,0)" if kind == "decimal" else kind):
        return _decimal(int(match[1]), int(match[2]))
    if match := _SIZED.fullmatch(kind):
        return _text(int(match[1]))
    simple: dict[str, Convert] = {
        "string": _text(None),
        "boolean": _boolean,
        "float": _real,
        "double": _real,
        "date": _date,
        "timestamp": _timestamp,
        "binary": _binary,
    }
    return simple[kind]


def _whole(bits: int) -> Convert:
    def convert(value: Any) -> str:
        if isinstance(value, str) and _WHOLE.fullmatch(value):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError("not a whole number")
        if not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
            raise ValueError(f"too large for {bits} bits")
        return str(value)

    return convert


def _decimal(precision: int, scale: int) -> Convert:
    def convert(value: Any) -> str:
        if isinstance(value, bool | float) or not isinstance(value, str | int | decimal.Decimal):
            raise ValueError("not a decimal number")
        if isinstance(value, str) and not _NUMBER.fullmatch(value):
            raise ValueError("not a decimal number")
        number = decimal.Decimal(value)
        _, digits, exponent = number.as_tuple()
        if not isinstance(exponent, int):
            raise ValueError("not a decimal number")
        if max(0, -exponent) > scale or len(digits) + exponent > precision - scale:
            raise ValueError(f"too large or too fine for decimal({precision},{scale})")
        return format(number, "f")

    return convert


def _text(length: int | None) -> Convert:
    def convert(value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError("not text")
        if length is not None and len(value) > length:
            raise ValueError(f"longer than {length} characters")
        return value

    return convert


def _boolean(value: Any) -> str:
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower()
    if not isinstance(value, bool):
        raise ValueError("neither true nor false")
    return str(value).lower()


def _real(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("not a number")
    if isinstance(value, str) and not _NUMBER.fullmatch(value) and not _NO_NUMBER.fullmatch(value):
        raise ValueError("not a number")
    number = float(value)
    if math.isinf(number) and isinstance(value, str) and _NUMBER.fullmatch(value):
        raise ValueError("too large")
    return repr(number).replace("inf", "Infinity").replace("nan", "NaN")


def _date(value: Any) -> str:
    if isinstance(value, str) and _DATE.fullmatch(value):
        value = datetime.date.fromisoformat(value)
    if isinstance(value, datetime.datetime) or not isinstance(value, datetime.date):
        raise ValueError("not a date (yyyy-mm-dd)")
    _require_held(value)
    return str(value.isoformat())


def _timestamp(value: Any) -> str:
    if isinstance(value, str):
        value = datetime.datetime.fromisoformat(value)
    if not isinstance(value, datetime.datetime):
        raise ValueError("not a time (yyyy-mm-dd hh:mm:ss)")
    local = value if value.tzinfo is None else value.astimezone().replace(tzinfo=None, fold=0)
    _require_held(local.date())
    # near the ends of the calendar Python cannot tell
    if datetime.MINYEAR < local.year < datetime.MAXYEAR:
        _require_unambiguous(value, local)
    return str(local.isoformat(sep=" "))


def _require_held(day: datetime.date) -> None:
    """Refuse the days that Hive's calendar lacks; it would read them as later ones."""
    if _SKIPPED_DAYS[0] <= day <= _SKIPPED_DAYS[1]:
        raise ValueError("a day that Hive's calendar does not have")


def _require_unambiguous(value: datetime.datetime, local: datetime.datetime) -> None:
    """Refuse times that are ambiguous in local time, which is what a line holds, or in ORC."""
    instants = {local.replace(fold=fold).astimezone(datetime.timezone.utc) for fold in (0, 1)}
    back = {instant.astimezone().replace(tzinfo=None, fold=0) for instant in instants}
    if local not in back:
        raise ValueError("a time that the clock here never showed")
    if len(instants) > 1 and value.tzinfo is not None:
        raise ValueError("a time that the clock here showed twice")
    if any(_AMBIGUOUS_SECOND[0] <= instant < _AMBIGUOUS_SECOND[1] for instant in instants):
        raise ValueError("a fraction of the last second before 1970, which ORC cannot hold")


def _binary(value: Any) -> str:
    if not isinstance(value, bytes):
        raise ValueError("not bytes")
    return base64.b64encode(value).decode()
