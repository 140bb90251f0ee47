"""Whatever a writer is given, a value is taken with nothing lost or refused with a typed error."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lakemerge.errors import InvalidRecord
from lakemerge.kernel import HiveColumn
from lakemerge.writer.records import Reader
from lakemerge.writer.values import converter

KINDS = st.sampled_from(
    [
        "bigint",
        "decimal(38,10)",
        "varchar(3)",
        "string",
        "boolean",
        "float",
        "double",
        "date",
        "timestamp",
        "binary",
    ]
)
NEAR_VALUES = st.text("0123456789+-.:eE TZ_/=naiNIfty\ud800\u0663", max_size=30)


def converted(kind: str, value: Any) -> str | None:
    """The text of a value; none if it is refused."""
    try:
        return converter(kind)(value)
    except ValueError:
        return None


@given(KINDS, st.one_of(st.text(), NEAR_VALUES, st.integers(), st.floats(), st.binary(), st.booleans()))
def test_a_row_is_taken_or_refused(kind: str, value: Any) -> None:
    with contextlib.suppress(InvalidRecord):
        Reader([HiveColumn("x", kind)], "rows").texts([value])


@given(st.integers(1, 38), st.data(), st.decimals(allow_nan=False, allow_infinity=False))
def test_a_decimal_keeps_its_value(precision: int, data: st.DataObject, value: decimal.Decimal) -> None:
    scale = data.draw(st.integers(0, precision))
    text = converted(f"decimal({precision},{scale})", value)
    with decimal.localcontext(decimal.Context(prec=2000, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)):
        scaled = value.scaleb(scale)
        fits = scaled == scaled.to_integral_value() and abs(scaled) < decimal.Decimal(10) ** precision
        assert (text is not None) == fits
        assert text is None or (decimal.Decimal(text) == value and len(text.partition(".")[2]) == scale)


@given(
    st.from_regex(r"[+-]?([0-9]{1,40}[.]?[0-9]{0,40}|[.][0-9]{1,40})([eE][+-]?[0-9]{1,3})?", fullmatch=True)
)
def test_a_number_has_a_nearest_one_or_is_refused(text: str) -> None:
    number, zero = decimal.Decimal(text), not any(sign in "123456789" for sign in text.lower().split("e")[0])
    double = converted("double", text)
    assert (double is not None) == (not math.isinf(float(text)) and (zero or float(text) != 0))
    assert double is None or float(double) == float(text)
    # halfway to the largest float's next, and to the smallest one
    bounds = [decimal.Decimal(2**128 - 2**103), decimal.Decimal(2.0**-150)]
    held = zero or bounds[1] < number.copy_abs() < bounds[0]
    assert converted("float", text) == (text if held and not zero else repr(float(text)) if zero else None)


TIMES = st.datetimes(min_value=datetime.datetime(1971, 1, 1), max_value=datetime.datetime(9998, 1, 1))


@given(TIMES, st.sampled_from(" T"), st.integers(0, 9), st.integers(-18 * 60, 18 * 60))
def test_a_time_keeps_its_microseconds(at: datetime.datetime, between: str, digits: int, offset: int) -> None:
    fraction = f"{at.microsecond:06d}000"[:digits]
    kept = at.replace(microsecond=int(fraction[:6].ljust(6, "0") or 0))
    sign, (hours, minutes) = "-" if offset < 0 else "+", divmod(abs(offset), 60)
    zone = datetime.timezone(datetime.timedelta(minutes=offset))
    text = at.strftime(f"%Y-%m-%d{between}%H:%M:%S").zfill(19) + ("." + fraction if digits else "")
    expected = None if digits > 6 else kept.replace(tzinfo=zone).astimezone().replace(tzinfo=None)
    found = converted("timestamp", f"{text}{sign}{hours:02d}:{minutes:02d}")
    # a time that the clock here showed twice is refused
    assert found is None or (expected is not None and datetime.datetime.fromisoformat(found) == expected)
    if found is None and expected is not None:
        assert expected.replace(fold=1).astimezone() != expected.astimezone()
