"""Records are taken as they are or refused, never changed."""

from __future__ import annotations

import datetime
import decimal
import time
from typing import Any

import pytest

from lakemerge.errors import InvalidConfig, InvalidRecord, UnsupportedColumnType
from lakemerge.kernel import HiveColumn
from lakemerge.writer.records import Reader
from lakemerge.writer.values import converter

COLUMNS = (HiveColumn("id", "int"), HiveColumn("msg", "string"))


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("tinyint", "-128", "-128"),
        ("bigint", 2**63 - 1, str(2**63 - 1)),
        ("decimal(5,2)", "-123.45", "-123.45"),
        ("decimal(5,2)", decimal.Decimal("1E+2"), "100"),
        ("decimal(2,2)", "0.01", "0.01"),
        ("varchar(3)", "äöü", "äöü"),
        ("boolean", "TRUE", "true"),
        ("double", "1e3", "1000.0"),
        ("double", float("inf"), "Infinity"),
        ("date", datetime.date(1, 1, 1), "0001-01-01"),
        ("timestamp", "2026-01-02 03:04:05.6", "2026-01-02 03:04:05.600000"),
        ("binary", b"\x00", "AA=="),
        ("string", "", ""),
    ],
)
def test_values(kind: str, value: Any, text: str) -> None:
    assert converter(kind)(value) == text


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("tinyint", 128),
        ("int", "1.0"),
        ("int", " 1"),
        ("int", True),
        ("int", 1.0),
        ("int", ""),
        ("int", "\u0661"),
        ("decimal(5,2)", "1.234"),
        ("decimal(5,2)", "1234"),
        ("decimal(5,2)", 1.5),
        ("decimal(5,2)", "NaN"),
        ("varchar(3)", "four"),
        ("string", 1),
        ("boolean", 1),
        ("double", "1e999"),
        ("double", "x"),
        ("double", "1_0"),
        ("decimal(5,2)", "1_0"),
        ("date", "2026-02-30"),
        ("date", datetime.datetime(2026, 1, 1)),
        ("date", "1582-10-10"),
        ("timestamp", "1582-10-14 23:59:59.999999"),
        ("timestamp", "1969-12-31 23:59:59.5+00:00"),
        ("timestamp", "2026-13-01 00:00:00"),
        ("binary", "text"),
    ],
)
def test_values_that_do_not_fit(kind: str, value: Any) -> None:
    with pytest.raises(ValueError, match=r".+"):
        converter(kind)(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("2024-03-31 02:30:00", None),
        ("2024-03-31 01:30:00+00:00", "2024-03-31 03:30:00"),
        ("2024-10-27 02:30:00", "2024-10-27 02:30:00"),
        ("2024-10-27 00:30:00+00:00", None),
        ("2024-10-27 01:30:00+00:00", None),
        ("1970-01-01 00:59:59.5", None),
        ("1970-01-01 00:59:59.000999", "1970-01-01 00:59:59.000999"),
        ("0001-01-01 00:00:00", "0001-01-01 00:00:00"),
        ("9999-12-31 23:59:59", "9999-12-31 23:59:59"),
    ],
)
def test_times_that_the_local_clock_tells(
    monkeypatch: pytest.MonkeyPatch, value: str, text: str | None
) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Europe/Berlin")
        time.tzset()
        try:
            if text is None:
                with pytest.raises(ValueError, match=r"clock|fraction"):
                    converter("timestamp")(value)
            else:
                assert converter("timestamp")(value) == text
        finally:
            patch.undo()
            time.tzset()


@pytest.mark.parametrize(
    ("form", "record"),
    [
        ("rows", (1, "a")),
        ("rows", {"msg": "a", "id": 1}),
        ("delimited", "1,a"),
        ("delimited", b"1,a\r\n"),
        ("json", '{"msg": "a", "id": 1}'),
    ],
)
def test_the_same_record_in_each_format(form: str, record: Any) -> None:
    assert Reader(COLUMNS, form).texts(record) == ["1", "a"]


@pytest.mark.parametrize(
    ("form", "record"),
    [
        ("rows", (1,)),
        ("rows", "1a"),
        ("rows", {"id": 1}),
        ("rows", {"id": 1, "msg": "a", "more": 2}),
        ("delimited", "1,a,b"),
        ("delimited", "x,a"),
        ("delimited", b"1,\xff"),
        ("json", "[1]"),
        ("json", '{"id": 1'),
        ("json", '{"id": "x", "msg": "a"}'),
    ],
)
def test_a_record_that_does_not_match(form: str, record: Any) -> None:
    with pytest.raises(InvalidRecord):
        Reader(COLUMNS, form).texts(record)


def test_nulls() -> None:
    assert Reader(COLUMNS, "delimited").texts("\\N,") == [None, ""]
    assert Reader(COLUMNS, "delimited", delimiter="|", null="-").texts("-|-") == [None, None]
    assert Reader(COLUMNS, "json").texts('{"id": null, "msg": null}') == [None, None]


def test_what_a_stream_cannot_write() -> None:
    with pytest.raises(UnsupportedColumnType):
        Reader([HiveColumn("tags", "array<string>")], "rows")
    with pytest.raises(InvalidConfig):
        Reader(COLUMNS, "xml")
