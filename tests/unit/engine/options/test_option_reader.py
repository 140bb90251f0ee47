"""Options of the wrong kind are named with the others that are wrong."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakemerge.engine.consume.consume_options import ConsumeConfig
from lakemerge.engine.ingest.ingest_options import IngestOptions
from lakemerge.engine.operations.arguments import VacuumArguments, check_flags, limit_of
from lakemerge.engine.options.reader import OptionReader
from lakemerge.engine.strategies import config_of
from lakemerge.errors import InvalidConfig


@pytest.mark.parametrize("value", [5, True, {"id": "int"}, [5], ["id", None]])
def test_names_are_a_string_or_a_list_of_strings(value: Any) -> None:
    with pytest.raises(InvalidConfig, match="unique_key must be a string or a list of strings, not"):
        config_of({"unique_key": value}, "merge")


def test_texts_are_a_mapping() -> None:
    problems: list[str] = []
    assert OptionReader({"tblproperties": 5}, problems).texts("tblproperties") == {}
    assert problems == ["tblproperties must be a mapping, not 5"]


UNITS = {"s": 1, "second": 1, "m": 60, "minute": 60, "h": 3600, "hour": 3600, "d": 86400, "day": 86400}
DURATIONS = [*UNITS, "seconds", "minutes", "hours", "days"]


@given(number=st.integers(0, 36525), unit=st.sampled_from(DURATIONS), blanks=st.sampled_from(["", " ", "  "]))
def test_a_duration_is_a_whole_number_with_a_unit(number: int, unit: str, blanks: str) -> None:
    problems: list[str] = []
    found = OptionReader({"x": f"{blanks}{number}{blanks}{unit.upper()}"}, problems).duration(
        "x", timedelta(1)
    )
    assert found == timedelta(seconds=number * UNITS[unit if unit in UNITS else unit[:-1]])
    assert problems == []


@given(text=st.from_regex(r"[0-9]{1,4} ?[a-z]{1,12}", fullmatch=True))
def test_no_other_unit_is_taken_for_one(text: str) -> None:
    unit = text.lstrip("0123456789 ")
    problems: list[str] = []
    OptionReader({"x": text}, problems).duration("x", timedelta(1))
    assert bool(problems) == (unit not in DURATIONS)


WRONG_DURATIONS = [
    *(
        "500 ms",
        "5 ss",
        "5 hs",
        "1.5 hours",
        "-1 day",
        "1 day 2 hours",
        "30",
        "days",
        "",
        "\u0661 day",
        "1 month",
    ),
    *("40000 days", "9" * 5000 + " s", 30, 1.5, True, float("nan"), {"days": 1}, ["1 day"]),
]


@pytest.mark.parametrize("value", WRONG_DURATIONS)
def test_whatever_else_is_no_duration(value: Any) -> None:
    with pytest.raises(InvalidConfig, match="tombstone_retention must be a whole number of seconds"):
        config_of({"unique_key": "id", "tombstone_retention": value}, "merge")
    with pytest.raises(InvalidConfig, match="trigger_interval must be a whole number of seconds"):
        IngestOptions.of({"landing": "x", "trigger_interval": value})
    with pytest.raises(InvalidConfig, match="timeout must be a whole number of seconds"):
        ConsumeConfig.of({"timeout": value}, "model")


@pytest.mark.parametrize(
    ("value", "size"), [(7, 7), ("7", 7), ("7b", 7), ("64 KB", 2**16), ("2gb", 2**31), ("1tb", 2**40)]
)
def test_a_size_is_a_whole_number_of_bytes(value: Any, size: int) -> None:
    assert config_of({"target_file_size": value}, "replace").target_file_size == size


@pytest.mark.parametrize(
    "value",
    [
        0,
        "0mb",
        -1,
        "1.5gb",
        1e9,
        "64 mib",
        "64 m",
        "64 pb",
        "mb",
        "",
        True,
        "9" * 20,
        "8388608tb",
        "\u0663mb",
    ],
)
def test_whatever_else_is_no_size(value: Any) -> None:
    with pytest.raises(InvalidConfig, match="target_file_size must be a whole number of bytes"):
        config_of({"target_file_size": value}, "replace")
    with pytest.raises(InvalidConfig, match="max_bytes must be a whole number of bytes"):
        VacuumArguments.of(1, 1, value)


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), 10**9, "7 days", "168", "", True, [1]])
def test_a_retention_is_a_number_of_hours_above_0(value: Any) -> None:
    with pytest.raises(InvalidConfig, match="retention_hours must be a number of hours above 0"):
        VacuumArguments.of(value, 1, None)


def test_a_vacuum_reports_all_that_is_wrong_together() -> None:
    assert VacuumArguments.of(None, 2, "1gb") == VacuumArguments(timedelta(days=7), 2, 2**30)
    assert VacuumArguments.of(0.5, 1, None).retention == timedelta(minutes=30)
    with pytest.raises(InvalidConfig, match=r"retention_hours .*; retain_last .*; max_bytes "):
        VacuumArguments.of(-1, 0, "much")


@pytest.mark.parametrize("value", [None, "", "false", "true", 0, 1])
def test_a_flag_that_is_no_flag_never_counts_as_false(value: Any) -> None:
    with pytest.raises(InvalidConfig, match="dry_run must be true or false"):
        check_flags({"dry_run": value})
    check_flags({"dry_run": False, "keep": True})


def test_a_limit_is_a_whole_number() -> None:
    assert (limit_of(None), limit_of(3)) == (None, 3)
    for value in (0, -1, "3", 1.5, True):
        with pytest.raises(InvalidConfig, match="limit must be a whole number of at least 1"):
            limit_of(value)
