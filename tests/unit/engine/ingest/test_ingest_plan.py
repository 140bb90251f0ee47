from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from lakemerge.engine.ingest.ingest_options import IngestOptions
from lakemerge.engine.ingest.ingest_plan import RecordGroup
from lakemerge.engine.ingest.record_types import RecordColumn, ValueType
from lakemerge.ingest import LandingRules

pytestmark = pytest.mark.usefixtures("spark_4")

OPTIONS = IngestOptions(format="json", landing=LandingRules(("landing",)))


def json_group(fields: Sequence[str], kind: str = "double") -> RecordGroup:
    columns = tuple(
        RecordColumn(f"column_{number}", kind, ValueType("float", kind), field)
        for number, field in enumerate(fields)
    )
    return RecordGroup("lines", "json", tuple(fields), OPTIONS, columns)


def test_some_fields_of_a_json_record_are_looked_for_in_a_map() -> None:
    group = json_group([f"f{number}" for number in range(100)])
    assert (
        group.part_sql(group.columns[7])
        == "if(is_variant_null(_lakemerge_fields['f7']), null, _lakemerge_fields['f7'])"
    )


def test_many_fields_of_a_json_record_are_those_of_a_struct() -> None:
    group = json_group([f"f{number}" for number in range(101)])
    assert (
        group.part_sql(group.columns[7])
        == "if(is_variant_null(_lakemerge_values.`f7`), null, _lakemerge_values.`f7`)"
    )


def test_of_names_that_differ_by_case_alone_the_second_is_looked_for_in_the_map() -> None:
    group = json_group([*(f"f{number}" for number in range(101)), "F7"])
    assert "_lakemerge_values.`f7`" in str(group.part_sql(group.columns[7]))
    assert "_lakemerge_fields['F7']" in str(group.part_sql(group.columns[101]))
    assert group.number_sql(group.columns[101]) == "cast(null as string)"


def test_the_sql_of_thousands_of_fields_takes_no_minutes() -> None:
    group = json_group([f"f{number}" for number in range(3000)])
    started = time.process_time()
    for column in group.columns:
        group.part_sql(column)
        group.number_sql(column)
    assert time.process_time() - started < 5
