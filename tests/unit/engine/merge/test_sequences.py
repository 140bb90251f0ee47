"""The highest sequence that a table has met, as a manifest keeps it, where time zones have a part in it."""

from __future__ import annotations

import itertools
import json
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakemerge.engine.merge import sequences
from lakemerge.engine.merge.sequences import SequenceZones, order_of
from lakemerge.engine.relations.table_schema import ColumnPlan

TOKYO = SequenceZones("Java Asia/Tokyo")
UTC = SequenceZones("Java UTC")
NOON = '[["n", "1717416000000000"], ["n", "3"]]'
ORDER = "timestamp, number"


def test_a_sequence_of_the_same_zones_is_taken_as_it_is() -> None:
    assert TOKYO.read(TOKYO.text(NOON), ORDER) == NOON
    assert SequenceZones().text(NOON) == NOON
    assert SequenceZones().read(NOON, ORDER) == NOON


@given(
    st.integers(-(10**16), 10**16),
    st.integers(),
    st.integers(-12 * 60, 14 * 60),
    st.integers(-12 * 60, 14 * 60),
)
def test_in_another_zone_it_is_at_least_what_the_table_shows(
    micros: int, line: int, written: int, read: int
) -> None:
    text = TOKYO.text(json.dumps([["n", str(micros)], ["n", str(line)]]))
    shown = micros + timedelta(minutes=written - read) // timedelta(microseconds=1)
    found = UTC.read(text, ORDER)
    assert found is not None
    assert order_of(found) >= order_of(json.dumps([["n", str(shown)], ["n", str(line)]]))


def test_what_sql_makes_of_times_is_unknown_in_another_zone() -> None:
    computed = SequenceZones("Java UTC, session UTC", shifts=False)
    text = computed.text('[["t", "20240603"]]')
    assert computed.read(text, "string") is not None
    assert SequenceZones("Java UTC, session Asia/Tokyo", shifts=False).read(text, "string") is None


def test_a_text_of_an_earlier_version_names_no_zones() -> None:
    found = UTC.read(NOON, ORDER)
    assert found is not None
    assert order_of(found) > order_of(NOON)
    assert SequenceZones("Java UTC, session UTC", shifts=False).read(NOON, ORDER) is None


COLUMNS = (
    ColumnPlan("at", "timestamp", True, True),
    ColumnPlan("line", "int", True, True),
    ColumnPlan("day", "timestamp", True, True, True),
)


@pytest.mark.parametrize(
    ("sequence_by", "types", "file_format", "expected"),
    [
        (("at",), ["timestamp"], "orc", "Java J"),
        (("`AT`", "line"), ["timestamp", "int"], "orc", "Java J"),
        (("at",), ["timestamp"], "parquet", ""),
        (("line",), ["int"], "orc", ""),
        (("day",), ["timestamp"], "parquet", "session S"),
        (("unix_timestamp(at)",), ["bigint"], "parquet", "Java J, session S"),
        ((), [], "orc", ""),
    ],
)
def test_zones_have_a_part_in_times_alone(
    monkeypatch: pytest.MonkeyPatch,
    sequence_by: tuple[str, ...],
    types: list[str],
    file_format: str,
    expected: str,
) -> None:
    monkeypatch.setattr(sequences, "java_zone", lambda spark: "J")
    monkeypatch.setattr(sequences, "session_zone", lambda spark: "S")
    spark: object = None
    zones = SequenceZones.of(sequence_by, types, COLUMNS, file_format, spark)  # type: ignore[arg-type]
    assert zones.names == expected
    assert zones.shifts == all(part.strip("`").isalpha() for part in itertools.chain(sequence_by))
