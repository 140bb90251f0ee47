from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from dbt.adapters.base.relation import EventTimeFilter
from dbt.adapters.lakemerge.relation import LakemergeRelation

from lakemerge.engine.event_times import in_range_sql

START = datetime(2024, 3, 9, tzinfo=timezone.utc)
END = START + timedelta(hours=1)


def test_one_spelling_filters_inputs_and_finds_the_rows_to_replace() -> None:
    found = EventTimeFilter(field_name="at", start=START, end=END)
    relation = LakemergeRelation.create(schema="s", identifier="t", event_time_filter=found)
    assert in_range_sql("at", START, END) in relation.render_event_time_filtered()
    assert relation.in_event_times("at", START, END) == in_range_sql("at", START, END)


def test_a_date_is_its_midnight_in_utc() -> None:
    assert "at >= date'2024-03-09' and at < date'2024-03-10'" in in_range_sql("at", START, END)
    assert "at >= date'2024-03-10'" in in_range_sql("at", END, None)


def test_bounds_are_written_in_utc() -> None:
    tokyo = timezone(timedelta(hours=9))
    assert in_range_sql("at", START.astimezone(tokyo), END.astimezone(tokyo)) == in_range_sql(
        "at", START, END
    )
    assert in_range_sql("at", START.replace(tzinfo=None), None) == in_range_sql("at", START, None)


@pytest.mark.parametrize(("start", "end", "signs"), [(START, None, ">="), (None, END, "<")])
def test_one_bound_is_enough(start: datetime | None, end: datetime | None, signs: str) -> None:
    sql = in_range_sql("at", start, end)
    assert signs in sql
    assert " and " not in sql


def test_no_bound_is_no_filter() -> None:
    assert in_range_sql("at", None, None) == ""
    relation = LakemergeRelation.create(
        schema="s", identifier="t", event_time_filter=EventTimeFilter(field_name="at")
    )
    assert relation.render_event_time_filtered() == "s.t"


def test_a_name_in_dbts_quotes_is_a_column() -> None:
    assert '"' not in in_range_sql('"event time"', START, END)
    assert "`event time` >= date" in in_range_sql('"event time"', START, END)
