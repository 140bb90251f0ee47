"""Options of ingest: the regular expressions of delimited records, and what is refused."""

from __future__ import annotations

import re
from typing import Any

import pytest

from lakemerge.engine.ingest.ingest_options import IngestOptions, split_pattern
from lakemerge.errors import InvalidConfig


def options(**config: Any) -> IngestOptions:
    return IngestOptions.of({"landing": "/in", **config})


def fields(record: str, **config: Any) -> list[str] | None:
    """The fields of a record as they stand in it; None where it is malformed."""
    found = options(**config)
    text = found.field_delimiter + record
    # Python has no \z before 3.14, and means by \Z what Java means by it
    if not re.search(found.row_pattern.replace(r"\z", r"\Z"), text):
        return None
    return [match[1] for match in re.finditer(found.field_pattern, text)]


needs_possessive = pytest.mark.skipif(
    not hasattr(re, "NOFLAG"), reason="Python 3.10 has no possessive quantifiers"
)


@needs_possessive
@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ("a,b", ["a", "b"]),
        ("", [""]),
        (",,", ["", "", ""]),
        ('"a,b",c', ['"a,b"', "c"]),
        ('"a ""b""",', ['"a ""b"""', ""]),
        ('"a', None),
        ('"a"b', None),
        ('a"b', None),
        ('"a" ,b', None),
        ('""', ['""']),
    ],
)
def test_quoted_fields(record: str, expected: list[str] | None) -> None:
    assert fields(record) == expected


@needs_possessive
def test_escapes_and_delimiters_of_several_characters() -> None:
    assert fields("a\\,b,c", escape="\\") == ["a\\,b", "c"]
    assert fields('"a\\"b",c', escape="\\") == ['"a\\"b"', "c"]
    assert fields("a||b|c", field_delimiter="||") == ["a", "b|c"]
    assert fields('a|"b|c"', field_delimiter="|", escape="!") == ["a", '"b|c"']
    assert fields("a|b!|c", field_delimiter="|", quote="", escape="!") == ["a", "b!|c"]


def test_delimiters_are_split_by_as_they_are() -> None:
    for delimiter in (",", "|", ".", "||", "\t", "^", "\x01", "a.b"):
        assert re.split(split_pattern(delimiter), f"x{delimiter}y") == ["x", "y"]


def test_all_that_is_wrong_is_named_at_once() -> None:
    with pytest.raises(InvalidConfig) as raised:
        IngestOptions.of({"format": "xml", "max_bad_fraction": 2, "settle_seconds": -1, "header": "yes"})
    for reported in ("landing", "format", "max_bad_fraction", "settle_seconds", "header"):
        assert reported in raised.value.found


def test_limits() -> None:
    assert options(on_bad_record="fail").too_many(1, 100)
    assert not options(on_bad_record="fail").too_many(0, 100)
    assert options(max_bad_records=1).too_many(2, 100)
    assert not options(max_bad_records=1).too_many(1, 100)
    assert options(max_bad_fraction=0.1).too_many(2, 10)
    assert not options(max_bad_fraction=0.1).too_many(1, 10)
    assert not options().too_many(100, 100)
