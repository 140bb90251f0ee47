"""Records are taken as they are or refused, never changed."""

from __future__ import annotations

import datetime
import decimal
import time
from typing import Any
from unittest.mock import Mock

import pytest

from lakemerge.errors import InvalidConfig, InvalidRecord, UnsupportedColumnType
from lakemerge.kernel import HiveColumn, TableName
from lakemerge.writer.records import Reader
from lakemerge.writer.values import converter
from lakemerge.writer.writer import Writer

COLUMNS = (HiveColumn("id", "int"), HiveColumn("msg", "string"))


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("tinyint", "-128", "-128"),
        ("bigint", 2**63 - 1, str(2**63 - 1)),
        ("decimal(5,2)", "-123.45", "-123.45"),
        ("decimal(5,2)", decimal.Decimal("1E+2"), "100.00"),
        ("decimal(5,2)", "1." + "0" * 60, "1.00"),
        ("decimal(5,2)", "+.50", "0.50"),
        ("decimal(5,2)", "5.", "5.00"),
        ("decimal(5,2)", decimal.Decimal("-0"), "0.00"),
        ("decimal(2,2)", "0.01", "0.01"),
        ("decimal(2,2)", "0", "0.00"),
        ("decimal(38,0)", "9" * 38, "9" * 38),
        ("varchar(3)", "äöü", "äöü"),
        ("boolean", "TRUE", "true"),
        ("double", "1e3", "1000.0"),
        ("double", float("inf"), "Infinity"),
        ("double", "-Infinity", "-Infinity"),
        ("double", "NaN", "NaN"),
        ("double", "4.9e-324", "5e-324"),
        ("double", "-0e999", "-0.0"),
        ("float", "1.00000017881393432617187499e0", "1.00000017881393432617187499e0"),
        ("float", "3.4028235677973366e38", "3.4028235677973366e38"),
        ("float", 7.1e-46, "7.1e-46"),
        ("float", 2**127, str(2**127)),
        ("date", datetime.date(1, 1, 1), "0001-01-01"),
        ("timestamp", "2026-01-02 03:04:05.6", "2026-01-02 03:04:05.600000"),
        ("timestamp", "2026-01-02T03:04", "2026-01-02 03:04:00"),
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
        ("bigint", "9" * 5000),
        pytest.param("bigint", 10**5000, id="a long bigint"),
        ("decimal(5,2)", "1.234"),
        ("decimal(5,2)", "1e2"),
        ("decimal(5,2)", "."),
        pytest.param("decimal(5,2)", 10**5000, id="a long decimal"),
        ("decimal(2,2)", "1"),
        ("decimal(5,2)", "1234"),
        ("decimal(5,2)", 1.5),
        ("decimal(5,2)", "NaN"),
        ("varchar(3)", "four"),
        ("string", 1),
        ("string", "\ud800"),
        ("boolean", 1),
        ("double", "1e999"),
        ("double", "1e-400"),
        ("double", "1e" + "9" * 30),
        ("double", 10**400),
        ("double", "inf"),
        ("double", "nan"),
        ("double", "+Infinity"),
        ("float", "1e39"),
        ("float", 1e39),
        ("float", "340282356779733661637539395458142568448"),
        ("float", 2**128),
        ("float", "1e-46"),
        ("float", 7e-46),
        ("double", "x"),
        ("double", "1_0"),
        ("decimal(5,2)", "1_0"),
        ("date", "2026-02-30"),
        ("date", datetime.datetime(2026, 1, 1)),
        ("date", "1582-10-10"),
        ("timestamp", "1582-10-14 23:59:59.999999"),
        ("timestamp", "1969-12-31 23:59:59.5+00:00"),
        ("timestamp", "2026-13-01 00:00:00"),
        ("timestamp", "2026-01-02 03:04:05.1234567"),
        ("timestamp", "2026-01-02"),
        ("timestamp", "2026-01-02 03"),
        ("timestamp", "20260102T030405"),
        ("timestamp", "2026-W01-1 00:00"),
        ("timestamp", "2026-01-02 24:00:00"),
        ("timestamp", "2026-01-02 03:04:60"),
        ("timestamp", "2026-01-02 03:04:05,6"),
        ("timestamp", "2026-01-02 03:04:05 CET"),
        ("timestamp", "2026-01-02 03:04:05+18:01"),
        ("timestamp", "2026-01-02 03:04:05+01:60"),
        ("timestamp", "9999-12-31 23:59:59-12:00"),
        ("timestamp", "0001-01-01 00:00:00+12:00"),
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
        ("2024-01-01 00:00Z", "2024-01-01 01:00:00"),
        ("2024-01-01 00:00:00.5 UTC", "2024-01-01 01:00:00.500000"),
        ("2024-01-01T00:00 GMT", "2024-01-01 01:00:00"),
        ("2024-01-01 00:00-1:30", "2024-01-01 02:30:00"),
        ("2024-01-01 00:00 +0130", "2023-12-31 23:30:00"),
        ("2024-01-01 00:00+18:00", "2023-12-31 07:00:00"),
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
        ("rows", {"Msg": "a", "ID": 1}),
        ("delimited", "1,a"),
        ("delimited", b"1,a\r\n"),
        ("json", '{"msg": "a", "id": 1}'),
        ("json", '{"Msg": "a", "ID": 1}'),
    ],
)
def test_the_same_record_in_each_format(form: str, record: Any) -> None:
    assert Reader(COLUMNS, form).texts(record) == ["1", "a"]


def test_a_partition_column_has_a_full_char_or_another_type() -> None:
    keys = (*COLUMNS, HiveColumn("code", "char(3)"), HiveColumn("day", "varchar(3)"))
    reader = Reader(keys, "rows", keys=2)
    assert reader.texts((1, "a", "abc", "x")) == ["1", "a", "abc", "x"]
    for short in ("ab", "ab ", ""):
        with pytest.raises(InvalidRecord, match=r"code char\(3\): .* shorter than the 3 characters"):
            reader.texts((1, "a", short, "x"))
    assert Reader(keys, "rows").texts((1, "a", "ab", "x"))[2] == "ab"


@pytest.mark.parametrize(
    ("form", "record"),
    [
        ("rows", (1,)),
        ("rows", "1a"),
        ("rows", {"id": 1}),
        ("rows", {"id": 1, "msg": "a", "more": 2}),
        ("rows", {"id": 1, "msg": "a", "ID": 2}),
        ("delimited", "1,a,b"),
        ("delimited", "x,a"),
        ("delimited", b"1,\xff"),
        ("delimited", 1),
        ("json", {"id": 1}),
        ("json", "[1]"),
        ("json", '{"id": 1'),
        ("json", '{"id": "x", "msg": "a"}'),
        ("json", '{"id": "1", "msg": "a"}'),
        ("json", '{"id": 1.0, "msg": "a"}'),
        ("json", '{"id": 1, "msg": 1}'),
        ("json", '{"id": 1, "msg": "a", "id": 1}'),
        pytest.param("json", "[" * 100_000, id="deep"),
        pytest.param("rows", (10**5000, "a"), id="a long number"),
    ],
)
def test_a_record_that_does_not_match(form: str, record: Any) -> None:
    with pytest.raises(InvalidRecord):
        Reader(COLUMNS, form).texts(record)


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("double", "1.5e300", "1.5e+300"),
        ("double", "1e400", None),
        ("double", "1e-400", None),
        ("double", "NaN", None),
        ("double", '"NaN"', None),
        ("double", "-Infinity", None),
        ("double", '"1"', None),
        ("decimal(30,20)", "0.12345678901234567890", "0.12345678901234567890"),
        ("decimal(4,2)", '"1.500"', "1.50"),
        ("decimal(4,2)", "1e1", None),
        ("boolean", "true", "true"),
        ("boolean", '"true"', None),
        ("date", '"2026-01-02"', "2026-01-02"),
        ("date", "20260102", None),
        ("binary", '"AQI="', "AQI="),
        ("binary", '"AQI"', None),
        ("binary", "1", None),
        ("binary", '{"a": 1}', None),
        ("string", '"\\ud83d\\ude00"', "\U0001f600"),
        ("string", '"\\ud800"', None),
        ("string", '{"a": 1}', None),
    ],
)
def test_values_of_json_have_its_own_types(kind: str, value: str, text: str | None) -> None:
    reader = Reader([HiveColumn("x", kind)], "json")
    if text is None:
        with pytest.raises(InvalidRecord):
            reader.texts(f'{{"x": {value}}}')
    else:
        assert reader.texts(f'{{"x": {value}}}') == [text]


def test_bytes_in_a_line_are_base64() -> None:
    reader = Reader([HiveColumn("x", "binary")], "delimited")
    assert [reader.texts(text) for text in ("", "AQ==", "+/+/")] == [[""], ["AQ=="], ["+/+/"]]
    for text in ("YWI", "YW Jj", "AQJ=", "AR==", "=", "AQI=AQI=", "-_-_"):
        with pytest.raises(InvalidRecord):
            reader.texts(text)


def test_nulls() -> None:
    assert Reader(COLUMNS, "delimited").texts("\\N,") == [None, ""]
    assert Reader(COLUMNS, "delimited", delimiter="|", null="-").texts("-|-") == [None, None]
    assert Reader(COLUMNS, "json").texts('{"id": null, "msg": null}') == [None, None]


@pytest.mark.parametrize("value", [10**5000, 2**40, "x", True], ids=["digits", "large", "text", "flag"])
def test_a_partition_of_a_wrong_value_is_refused_however_long_it_is(value: Any) -> None:
    manifest = Mock(
        file_format="orc", columns=COLUMNS, partition_columns=[HiveColumn("day", "int"), COLUMNS[0]]
    )
    kernel = Mock()
    kernel.settled.return_value = (Mock(commit_column="_commit"), manifest)
    with pytest.raises(InvalidConfig, match="int for the partition column day") as refusal:
        Writer(kernel, TableName("s", "t"), "rows", {"day": value}, None, ",", "")
    assert len(str(refusal.value)) < 400


def test_what_a_stream_cannot_write() -> None:
    with pytest.raises(UnsupportedColumnType):
        Reader([HiveColumn("tags", "array<string>")], "rows")
    with pytest.raises(InvalidConfig):
        Reader(COLUMNS, "xml")


@pytest.mark.parametrize(
    ("kind", "value"),
    [("timestamp", "2026-01-02 24:00:00"), ("timestamp", "2026-13-01 00:00:00"), ("date", "2026-02-30")],
)
def test_what_is_not_in_the_calendar_is_said_to_be(kind: str, value: str) -> None:
    with pytest.raises(ValueError, match="of the calendar"):
        converter(kind)(value)


@pytest.mark.parametrize(
    ("kind", "value"),
    [("decimal(4,2)", "NaN"), ("decimal(4,2)", decimal.Decimal("NaN")), ("float", True), ("double", "x")],
)
def test_what_is_no_number_is_said_to_be(kind: str, value: Any) -> None:
    with pytest.raises(ValueError, match="number"):
        converter(kind)(value)


def test_bytes_that_are_no_text_are_said_to_be() -> None:
    with pytest.raises(InvalidRecord, match="no UTF-8"):
        Reader(COLUMNS, "delimited").texts(b"1,\xff")
