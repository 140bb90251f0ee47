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
_DECIMAL_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)")
_NUMBER = re.compile(_DECIMAL_NUMBER.pattern + r"([eE][+-]?[0-9]+)?")
_NO_NUMBER = re.compile(r"NaN|-?Infinity")
_NOT_ZERO = re.compile(r"[^eE]*[1-9]")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_OFFSET = r"[+-](?:[0-9]{1,2}(?::[0-9]{1,2})?|[0-9]{2}:[0-9]{2}:[0-9]{2}|[0-9]{4}(?:[0-9]{2})?)"
_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[ T]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,6}))?)?"
    rf"(?: ?(Z|UTC|GMT|{_OFFSET}))?"
)
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_SIZED = re.compile(r"(?:var)?char\((\d+)\)")
_CHAR = re.compile(r"char\((\d+)\)")

# Numbers up to the first round to the float zero, and those from the second on to infinity.
_SINGLE = (decimal.Decimal(2.0**-150), decimal.Decimal(2**128 - 2**103))
_LARGEST_OFFSET = datetime.timedelta(hours=18)
_SKIPPED_DAYS = (datetime.date(1582, 10, 5), datetime.date(1582, 10, 14))
_AMBIGUOUS_SECOND = (
    datetime.datetime(1969, 12, 31, 23, 59, 59, 1000, tzinfo=datetime.timezone.utc),
    datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc),
)

#: From a value that is not null to its text; raises ValueError with what is wrong.
Convert = Callable[[Any], str]


class JsonNumber(str):
    """A number of a JSON text, as it is written."""


def converter(kind: str, form: str = "rows") -> Convert:
    """How values of a Hive type become text.

    Args:
        form: what the values come from, one of :data:`lakemerge.writer.FORMATS`.

    Raises:
        KeyError: the type has parts (array, map, struct), which a line has no place for.
    """
    kind = kind.lower().replace(" ", "")
    convert = _converter(kind) if kind != "binary" or form == "rows" else _base64
    return _of_json(kind, convert) if form == "json" else convert


def key_converter(kind: str, form: str = "rows") -> Convert:
    """As :func:`converter`, for a partition column: Spark names a short ``char(n)`` with blanks, and Hive without."""
    convert, match = converter(kind, form), _CHAR.fullmatch(kind)
    if match is None:
        return convert

    def full(value: Any) -> str:
        text = convert(value)
        if len(text.rstrip(" ")) < int(match[1]):
            raise ValueError(f"shorter than the {match[1]} characters of a partition column of this type")
        return text

    return full


def _converter(kind: str) -> Convert:
    if kind in _BITS:
        return _whole(_BITS[kind])
    if match := _DECIMAL.fullmatch("decimal(10,0)" if kind == "decimal" else kind):
        return _decimal(int(match[1]), int(match[2]))
    if match := _SIZED.fullmatch(kind):
        return _text(int(match[1]))
    simple: dict[str, Convert] = {
        "string": _text(None),
        "boolean": _boolean,
        "float": _single,
        "double": _double,
        "date": _date,
        "timestamp": _timestamp,
        "binary": _binary,
    }
    return simple[kind]


def _of_json(kind: str, convert: Convert) -> Convert:
    """Take only JSON's own type for a Hive type, and a string for a decimal, too."""
    if kind in _BITS or kind in ("float", "double"):
        types: tuple[type, ...] = (JsonNumber,)
    else:
        types = {"boolean": (bool,)}.get(kind, (str, JsonNumber) if kind.startswith("decimal") else (str,))

    def checked(value: Any) -> str:
        if type(value) not in types:
            raise ValueError(f"no JSON value of the type that {kind} takes")
        return convert(value)

    return checked


def _whole(bits: int) -> Convert:
    def convert(value: Any) -> str:
        if isinstance(value, str) and _WHOLE.fullmatch(value):
            # Python refuses to read a number of thousands of digits
            value = int(value) if len(value.lstrip("+-0")) <= 20 else 2**bits
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
        if isinstance(value, str) and not _DECIMAL_NUMBER.fullmatch(value):
            raise ValueError("not a decimal number")
        sign, found, exponent = decimal.Decimal(value).as_tuple()
        if not isinstance(exponent, int):
            raise ValueError("not a decimal number")
        digits = "".join(map(str, found)).lstrip("0")
        held = digits.rstrip("0")
        exponent += len(digits) - len(held)
        if held and (-exponent > scale or len(held) + exponent > precision - scale):
            raise ValueError(f"too large or too fine for decimal({precision},{scale})")
        places = (held + "0" * (exponent + scale) if held else "").zfill(scale + 1)
        whole, fraction = places[: len(places) - scale], places[len(places) - scale :]
        return ("-" if sign and held else "") + whole + ("." + fraction if scale else "")

    return convert


def _text(length: int | None) -> Convert:
    def convert(value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError("not text")
        if length is not None and len(value) > length:
            raise ValueError(f"longer than {length} characters")
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise ValueError("text with half of a character") from error
        return value

    return convert


def _boolean(value: Any) -> str:
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower()
    if not isinstance(value, bool):
        raise ValueError("neither true nor false")
    return str(value).lower()


def _double(value: Any) -> str:
    return repr(_number(value)).replace("inf", "Infinity").replace("nan", "NaN")


def _single(value: Any) -> str:
    number = _number(value)
    if number == 0 or not math.isfinite(number):
        return _double(number)
    # not by way of a double, which would be rounded twice
    if not _SINGLE[0] < decimal.Decimal(value).copy_abs() < _SINGLE[1]:
        raise ValueError("too large or too small for a float")
    return repr(value) if isinstance(value, float) else str(value)


def _number(value: Any) -> float:
    """The nearest float, which is infinity or zero only if the value is."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("not a number")
    if isinstance(value, str) and not _NUMBER.fullmatch(value) and not _NO_NUMBER.fullmatch(value):
        raise ValueError("not a number")
    try:
        number = float(value)
    except OverflowError as error:
        raise ValueError("too large") from error
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        if math.isinf(number):
            raise ValueError("too large")
        if number == 0 and _NOT_ZERO.match(value):
            raise ValueError("too small")
    return number


def _date(value: Any) -> str:
    if isinstance(value, str) and _DATE.fullmatch(value):
        try:
            value = datetime.date.fromisoformat(value)
        except ValueError as error:
            raise ValueError("not a day of the calendar") from error
    if isinstance(value, datetime.datetime) or not isinstance(value, datetime.date):
        raise ValueError("not a date (yyyy-mm-dd)")
    _require_held(value)
    return str(value.isoformat())


def _timestamp(value: Any) -> str:
    if isinstance(value, str):
        value = _time(value)
    if not isinstance(value, datetime.datetime):
        raise ValueError("not a time (yyyy-mm-dd hh:mm:ss)")
    try:
        local = value if value.tzinfo is None else value.astimezone().replace(tzinfo=None, fold=0)
    except OverflowError as error:
        raise ValueError("a time that is not of the years 1 to 9999 here") from error
    _require_held(local.date())
    # near the ends of the calendar Python cannot find this out
    if datetime.MINYEAR < local.year < datetime.MAXYEAR:
        _require_unambiguous(value, local)
    return str(local.isoformat(sep=" "))


def _time(text: str) -> datetime.datetime:
    # what Python itself reads differs by its release
    match = _TIME.fullmatch(text)
    if not match:
        raise ValueError("not a time (yyyy-mm-dd hh:mm:ss)")
    *parts, second, fraction, zone = match.groups()
    year, month, day, hour, minute = map(int, parts)
    micros = int((fraction or "").ljust(6, "0"))
    try:
        return datetime.datetime(
            year, month, day, hour, minute, int(second or 0), micros, None if zone is None else _zone(zone)
        )
    except ValueError as error:
        raise ValueError(f"not a time of the calendar: {error}") from error


def _zone(text: str) -> datetime.timezone:
    if text in ("Z", "UTC", "GMT"):
        return datetime.timezone.utc
    sign, digits = text[0], text[1:]
    parts = digits.split(":") if ":" in digits or len(digits) < 3 else re.findall("..", digits)
    hours, minutes, seconds = [*map(int, parts), 0, 0][:3]
    offset = datetime.timedelta(hours=hours, minutes=minutes, seconds=seconds)
    if max(minutes, seconds) > 59 or offset > _LARGEST_OFFSET:
        raise ValueError(f"{text} is no offset")
    return datetime.timezone(-offset if sign == "-" else offset)


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
    if len(instants) > 1 and (value.tzinfo is not None or value.fold):
        raise ValueError("a time that the clock here showed twice")
    if any(_AMBIGUOUS_SECOND[0] <= instant < _AMBIGUOUS_SECOND[1] for instant in instants):
        raise ValueError("a fraction of the last second before 1970, which ORC cannot hold")


def _binary(value: Any) -> str:
    if not isinstance(value, bytes):
        raise ValueError("not bytes")
    return base64.b64encode(value).decode()


def _base64(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("not text")
    try:
        content = base64.b64decode(value, validate=True)
    except ValueError as error:
        raise ValueError("not Base64") from error
    # Python ignores what is beyond the last byte
    if base64.b64encode(content).decode() != value:
        raise ValueError("not Base64")
    return value
