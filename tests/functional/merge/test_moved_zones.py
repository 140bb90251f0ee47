"""Merges into tables of an application whose Java had another time zone; the zones are moved within one Java."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytestmark = pytest.mark.slow

FEED = "id int, name string, gone boolean, at timestamp"
KINDS: dict[str, dict[str, Any]] = {
    "plain": {"file_format": "orc"},
    "parquet": {"file_format": "parquet"},
    "beside": {"file_format": "orc", "write_mode": "merge_on_read"},
    "kept": {"file_format": "orc", "stored_as_scd_type": 2},
}
FIRST = """
    (1, 'first', false, '19:00'), (2, 'gone', true, '19:30'), (2, 'two', false, '07:00'), (3, 'three', false, '08:00')
"""
SECOND = "(1, 'older', false, '12:00'), (2, 'older', false, '12:00'), (3, 'newer', false, '20:00')"


@pytest.fixture
def move_to(merger: Any, project: Any) -> Iterator[Callable[[str], None]]:
    """Sets Java's default zone, which sessions without a zone of their own have, too."""
    with project.adapter.connection_named("zones"):
        zones = project.adapter.handle.spark._jvm.java.util.TimeZone
    before = zones.getDefault()
    yield lambda name: zones.setDefault(zones.getTimeZone(name))
    zones.setDefault(before)


@pytest.mark.parametrize(("first", "second"), [("Asia/Tokyo", "UTC"), ("UTC", "Asia/Tokyo")])
class TestMovedZones:
    def test_what_is_newer_is_what_the_table_shows(
        self, merger: Any, move_to: Callable[[str], None], first: str, second: str
    ) -> None:
        for kind, options in KINDS.items():
            given: dict[str, Any] = {
                "unique_key": "id",
                "sequence_by": "at",
                "apply_as_deletes": "gone",
                **options,
            }
            table = merger({**given, "column_list": ["id", "name", "at"]}, FEED)
            # a time stands for itself in Java's zone (ORC), or in UTC (Parquet): what files keep in every zone
            zone = "Z" if kind == "parquet" else ""
            at = f"cast('2024-06-03 ' || time || ':00{zone}' as timestamp) as at"
            try:
                for java, rows in ((first, FIRST), (second, SECOND)):
                    move_to(java)
                    table.merge(f"select id, name, gone, {at} from values {rows} as t(id, name, gone, time)")
                shown = "date_format(%s, 'HH:mm')"
                if zone:
                    shown = "date_format(to_utc_timestamp(%s, current_timezone()), 'HH:mm')"
                times = ["at"] if kind != "kept" else ["__start_at", "__end_at"]
                columns = ", ".join(shown % time for time in times)
                found = [tuple(row) for row in table.sql(f"select id, name, {columns} from {{table}}")]
            finally:
                table.drop()
            expected: list[tuple[Any, ...]] = [(1, "first", "19:00"), (3, "newer", "20:00")]
            if kind == "kept":
                expected = [
                    *((1, "older", "12:00", "19:00"), (1, "first", "19:00", None)),
                    *((2, "two", "07:00", "12:00"), (2, "older", "12:00", "19:30")),
                    *((3, "three", "08:00", "20:00"), (3, "newer", "20:00", None)),
                ]
            assert sorted(found, key=repr) == sorted(expected, key=repr), kind
