"""Runs of one project in processes of different time zones: Java's own (`TZ`), and that of Spark's sessions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

# A time stands for itself in Java's zone (ORC), or in UTC (Parquet): what files of the format keep in every zone.
FEED = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', sequence_by=%(sequence)s,
          apply_as_deletes='gone', column_list=['id', 'name', 'at'], file_format='%(format)s',
          tombstone_retention='1 hour', %(options)s) }}
{%% set utc = var('utc', '%(format)s' == 'parquet') %%}
select id, name, gone, cast(day || ' ' || time || '{{ 'Z' if utc else '' }}' as timestamp) as at
from (select '2024-06-03' as day, * from values
    {%% if var('day') == 1 %%}
    (1, 'first', false, '19:00:00'), (2, 'gone', true, '19:30:00'), (2, 'two', false, '07:00:00'),
    (3, 'three', false, '08:00:00'), (4, 'four', false, '07:00:00'), (4, 'gone', true, '08:00:00')
    {%% else %%}
    (1, 'older', false, '12:00:00'), (2, 'older', false, '12:00:00'), (3, 'newer', false, '20:00:00'),
    (4, 'back', false, '12:00:00')
    {%% endif %%}
    as t(id, name, gone, time))
"""
KINDS = {
    "plain": {"options": "write_mode='copy_on_write'", "sequence": "'at'"},
    "beside": {"options": "write_mode='merge_on_read'", "sequence": "'at'"},
    "computed": {
        "options": "write_mode='copy_on_write'",
        "sequence": "\"date_format(at, 'yyyyMMdd HHmmss')\"",
    },
    "kept": {"options": "stored_as_scd_type=2", "sequence": "'at'"},
}
# The time as the feed has it, whatever the zones are.
TIME = "date_format(%s, 'HH:mm')"
UTC_TIME = "date_format(to_utc_timestamp(%s, current_timezone()), 'HH:mm')"


@dataclass(frozen=True)
class Zones:
    """Those of the two processes, and whether the times in the feed are in UTC for both formats."""

    java: tuple[str, str]
    session: tuple[str, str]
    utc: bool = False

    def __str__(self) -> str:
        return f"{self.java[0]}-{self.java[1]}-{self.session[0]}-{self.session[1]}".replace("/", "_")


CASES = [
    Zones(("Asia/Tokyo", "UTC"), ("Asia/Tokyo", "UTC")),
    Zones(("UTC", "Asia/Tokyo"), ("UTC", "Asia/Tokyo")),
    # the sessions' zone has a part in texts alone
    Zones(("UTC", "UTC"), ("Asia/Tokyo", "UTC"), utc=True),
    Zones(("UTC", "UTC"), ("UTC", "America/New_York"), utc=True),
]


# tests/functional/merge/test_moved_zones.py is its fast part
@pytest.mark.slow
@pytest.mark.parametrize("zones", CASES, ids=str)
def test_runs_in_two_zones_agree_on_what_is_newer(
    zones: Zones, dbt_project: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"spark.sql.session.timeZone": "{{ env_var('ZONE') }}"}
    project = dbt_project(f"zones_{CASES.index(zones)}", settings)
    for file_format in ("orc", "parquet"):
        for kind, texts in KINDS.items():
            model = FEED % {**texts, "format": file_format}
            project.write(f"models/{kind}_{file_format}.sql", model)
    utc = ", utc: true" if zones.utc else ""
    for day in (1, 2):
        monkeypatch.setenv("TZ", zones.java[day - 1])
        monkeypatch.setenv("ZONE", zones.session[day - 1])
        with project.commands(day) as dbt:
            dbt.succeed("run", "--vars", f"{{day: {day}{utc}}}")
            if day == 2:
                found = {
                    f"{kind}_{one}": _found(
                        dbt, kind, one, UTC_TIME if zones.utc or one == "parquet" else TIME
                    )
                    for one in ("orc", "parquet")
                    for kind in KINDS
                }
    current = [["1", "first", "19:00"], ["3", "newer", "20:00"], ["4", "back", "12:00"]]
    versions = [
        ["1", "older", "12:00", "19:00"],
        ["1", "first", "19:00", "-"],
        ["2", "two", "07:00", "12:00"],
        ["2", "older", "12:00", "19:30"],
        ["3", "three", "08:00", "20:00"],
        ["3", "newer", "20:00", "-"],
        ["4", "four", "07:00", "08:00"],
        ["4", "back", "12:00", "-"],
    ]
    for name, rows in found.items():
        expected = versions if name.startswith("kept") else current
        if name.startswith("computed"):
            # what is deleted is remembered by the text that SQL has made in the other zone
            rows, expected = ([row for row in some if row[0] in "13"] for some in (rows, expected))
        assert rows == expected, name


def _found(dbt: Any, kind: str, file_format: str, time: str) -> list[list[str]]:
    table = f"{{{{ ref('{kind}_{file_format}') }}}}"
    if kind == "kept":
        start, end = time % "__start_at", time % "__end_at"
        columns, order = f"{start} as start_at, coalesce({end}, '-') as end_at", "id, __start_at"
    else:
        columns, order = f"{time % 'at'} as at", "id"
    rows = dbt.rows(f"select string(id), name, {columns} from {table} order by {order}")
    return [[str(value) for value in row] for row in rows]
