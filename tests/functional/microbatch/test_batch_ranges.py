"""`microbatch`: dbt's filter of the inputs and the rows that a batch replaces are the same, in every time zone."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.util import run_dbt

MODEL = """
{{{{ config(materialized='incremental', incremental_strategy='microbatch', event_time='at', batch_size='{size}',
          begin='{begin}', partition_by={partition_by}) }}}}
select id, {event_time} from {{{{ ref('{source}') }}}}
"""
# A view, because Hive's tables have no timestamp_ntz.
SOURCE = "{{{{ config(materialized='view', event_time='at') }}}} {rows}"
NO_INPUT_TIMES = """
{{ config(materialized='incremental', incremental_strategy='microbatch', event_time='at', batch_size='day',
          begin='2024-03-09') }}
select id, at from {{ ref('unmarked') }} {{ var('only', '') }}
"""
QUOTED = """
{{ config(materialized='incremental', incremental_strategy='microbatch', event_time='event time', batch_size='day',
          begin='2024-03-09') }}
select id, at as `event time` from {{ ref('quoted_source') }}
"""
QUOTED_SOURCE = "{{ config(materialized='view', event_time='at') }} select id, at from {{ ref('instants') }}"
SCHEMA_YML = """
version: 2
models:
  - name: quoted_source
    columns: [{name: at, quote: true}]
"""


def _rows(texts: tuple[str, ...], event_time: str) -> str:
    values = ", ".join(f"({number}, {event_time.format(text)})" for number, text in enumerate(texts))
    return f"select * from values {values} as t(id, at)"


# In UTC. New York changes its clocks on the 10th of March, Auckland on the 7th of April (both in 2024).
SPRING = ("2024-03-09", "2024-03-10", "2024-03-11")
AUTUMN = ("2024-04-06", "2024-04-07", "2024-04-08")
DAYS = SPRING + AUTUMN
TIMES = tuple(f"{day} {time}" for day in DAYS for time in ("00:00:00", "11:59:59.999999", "23:59:59.999999"))
HALF_HOURS = tuple(f"2024-03-10 {hour:02}:{minute}:00" for hour in (5, 6, 7, 8) for minute in ("00", "30"))
SOURCES = {
    "dates": _rows(DAYS, "date'{}'"),
    "instants": _rows(TIMES, "timestamp'{}+00:00'"),
    "unzoned": _rows(TIMES, "timestamp_ntz'{}'"),
    "texts": _rows((*DAYS, *TIMES, *(time.replace(" ", "T") + "Z" for time in TIMES)), "'{}'"),
    "hours": _rows(HALF_HOURS, "timestamp'{}+00:00'"),
    "unmarked": _rows(DAYS, "date'{}'"),
}
DAY = {"size": "day", "begin": "2024-03-09", "partition_by": [], "event_time": "at"}
DAILY: dict[str, dict[str, Any]] = {
    "of_dates": {**DAY, "source": "dates", "partition_by": ["at"]},
    "of_instants": {**DAY, "source": "instants"},
    "of_texts": {**DAY, "source": "texts"},
    "dates_of_unzoned": {**DAY, "source": "unzoned", "event_time": "cast(at as date) as at"},
    "texts_of_unzoned": {**DAY, "source": "unzoned", "event_time": "cast(at as string) as at"},
}
OTHERS: dict[str, dict[str, Any]] = {
    "hourly": {**DAY, "source": "hours", "size": "hour", "begin": "2024-03-10T05:00:00"},
    "dates_by_hour": {**DAY, "source": "dates", "size": "hour", "begin": "2024-03-10T00:00:00"},
    "monthly": {**DAY, "source": "dates", "size": "month", "begin": "2024-03-01"},
    "yearly": {**DAY, "source": "instants", "size": "year", "begin": "2024-01-01"},
}


class Ranges:
    zone: str
    days = SPRING

    @pytest.fixture(scope="class")
    def dbt_profile_target(self, dbt_profile_target: dict[str, Any]) -> dict[str, Any]:
        parameters = dbt_profile_target["server_side_parameters"]
        parameters["spark.sql.session.timeZone"] = self.zone
        return dbt_profile_target

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            **{f"{name}.sql": SOURCE.format(rows=rows) for name, rows in SOURCES.items()},
            **{f"{name}.sql": MODEL.format(**case) for name, case in (DAILY | OTHERS).items()},
            "unmarked.sql": "{{ config(materialized='view') }} " + SOURCES["unmarked"],
            "no_input_times.sql": NO_INPUT_TIMES,
            "quoted_source.sql": QUOTED_SOURCE,
            "quoted.sql": QUOTED,
            "schema.yml": SCHEMA_YML,
        }

    @pytest.fixture(scope="class", autouse=True)
    def sources(self, project: Any) -> None:
        run_dbt(["run", "--select", *SOURCES, "quoted_source"])

    def run(self, project: Any, models: list[str], start: str, end: str, *arguments: str) -> Any:
        bounds = ("--event-time-start", start, "--event-time-end", end)
        return run_dbt(["run", "--select", *models, *bounds, *arguments])

    def ids(self, project: Any, table: str) -> list[int]:
        rows = project.run_sql(f"select id from {project.test_schema}.{table} order by id", fetch="all")
        return [row[0] for row in rows]

    def within(self, case: dict[str, Any], start: str, end: str) -> list[int]:
        """The ids of a source's rows whose texts are in a range: texts in UTC, which sort as times do."""
        texts = {
            "dates": DAYS,
            "instants": TIMES,
            "unzoned": TIMES,
            "texts": (*DAYS, *TIMES, *(time.replace(" ", "T") + "Z" for time in TIMES)),
            "hours": HALF_HOURS,
        }[case["source"]]
        return [number for number, text in enumerate(texts) if start <= text.replace("T", " ") < end]

    def test_each_run_gives_each_row_of_the_days_once(self, project: Any) -> None:
        first, _, last = self.days
        end = f"{last[:-2]}{int(last[-2:]) + 1:02}"
        models = [*DAILY, "quoted"]
        self.run(project, models, first, end, "--full-refresh")
        # as a scheduled run does, with dbt's default lookback, and once more from the first day
        for start in (last, first):
            self.run(project, models, start, end)
            found = {name: self.ids(project, name) for name in models}
            expected = {name: self.within(case, first, end) for name, case in DAILY.items()}
            assert found == expected | {"quoted": expected["of_instants"]}

    def test_the_sessions_zone_is_that_of_the_profile(self, project: Any) -> None:
        with project.adapter.connection_named("zone"):
            assert project.adapter.handle.spark.conf.get("spark.sql.session.timeZone") == self.zone


@pytest.mark.slow
class TestEastOfUtc(Ranges):
    zone = "Asia/Tokyo"

    @pytest.mark.slow
    def test_batches_of_other_sizes(self, project: Any) -> None:
        for _ in range(2):
            self.run(project, ["hourly"], "2024-03-10T05:00:00", "2024-03-10T08:00:00")
            self.run(project, ["dates_by_hour"], "2024-03-10T00:00:00", "2024-03-10T02:00:00")
            self.run(project, ["monthly", "yearly"], "2024-01-01", "2024-12-31")
        assert self.ids(project, "hourly") == [0, 1, 2, 3, 4, 5]
        # a date is its midnight
        assert self.ids(project, "dates_by_hour") == [1]
        assert self.ids(project, "monthly") == list(range(len(DAYS)))
        assert self.ids(project, "yearly") == list(range(len(TIMES)))

    def test_rows_that_no_batch_would_replace_are_refused(self, project: Any) -> None:
        arguments = ["run", "--select", "no_input_times"]
        bounds = ["--event-time-start", "2024-03-09", "--event-time-end", "2024-03-10"]
        results = run_dbt([*arguments, *bounds], expect_pass=False)
        assert results.results[0].status != "success"
        assert "no_input_times" not in self.tables(project)
        only = "{only: \"where at = date'2024-03-09'\"}"
        for _ in range(2):
            run_dbt([*arguments, *bounds, "--vars", only])
            assert self.ids(project, "no_input_times") == [0]
        run_dbt([*arguments, *bounds], expect_pass=False)
        assert self.ids(project, "no_input_times") == [0]

    def tables(self, project: Any) -> set[str]:
        return {row[1] for row in project.run_sql(f"show tables in {project.test_schema}", fetch="all")}


@pytest.mark.slow
class TestFarEastOfUtc(Ranges):
    zone = "Pacific/Auckland"
    days = AUTUMN


@pytest.mark.slow
class TestWestOfUtc(Ranges):
    zone = "America/New_York"
