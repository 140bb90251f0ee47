"""The macros that ask a history, by dbt's unit tests, and the generic tests that judge one."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.util import run_dbt

pytestmark = pytest.mark.slow

# Customer 1 has three versions, one in between deleted; customer 2 has one. Dates as numbers.
SOUND = """
select id, name, starts as __start_at, ends as __end_at
from values (1, 'ann', 10, 20), (1, 'bea', 20, 30), (1, 'cleo', 40, null), (2, 'eve', 15, null)
    as t (id, name, starts, ends)
"""
# An overlap, a version of no length, two current rows, and a key that has none.
BROKEN = """
select id, starts as valid_from, coalesce(ends, 99) as valid_to
from values (1, 10, 20), (1, 19, 30), (2, 5, 5), (3, 1, null), (3, 7, null) as t (id, starts, ends)
"""
AS_OF = "with versions as ({{ scd2_as_of(ref('sound'), 20) }}) select id, name from versions"
CURRENT = "with versions as ({{ scd2_current(ref('sound')) }}) select id, name from versions"
AS_OF_BROKEN = """
with versions as ({{ scd2_as_of(ref('broken'), 8, 'valid_from', 'valid_to', current_end=99) }})
select id, valid_from from versions
"""
FACTS = """
select facts.*, versions.name
from {{ ref('facts') }} as facts
{{ scd2_join(ref('sound'), {'customer_id': 'id'}, 'facts.happened_at') }}
"""
UNIT_TESTS = """
unit_tests:
  - name: the_version_whose_interval_holds_the_time
    model: as_of
    given: &sound
      - input: ref('sound')
        rows:
          - {id: 1, name: ann, __start_at: 10, __end_at: 20}
          - {id: 1, name: bea, __start_at: 20, __end_at: 30}
          - {id: 1, name: cleo, __start_at: 40, __end_at: null}
          - {id: 2, name: eve, __start_at: 15, __end_at: null}
    expect: {rows: [{id: 1, name: bea}, {id: 2, name: eve}]}
  - name: the_versions_without_an_end
    model: current_versions
    given: *sound
    expect: {rows: [{id: 1, name: cleo}, {id: 2, name: eve}]}
  - name: an_end_that_stands_for_none
    model: as_of_broken
    given:
      - input: ref('broken')
        rows: [{id: 1, valid_from: 10, valid_to: 20}, {id: 3, valid_from: 1, valid_to: 99}]
    expect: {rows: [{id: 3, valid_from: 1}]}
  - name: each_fact_has_the_version_of_its_time
    model: joined
    given:
      - input: ref('sound')
        rows:
          - {id: 1, name: ann, __start_at: 10, __end_at: 20}
          - {id: 1, name: bea, __start_at: 20, __end_at: 30}
          - {id: 2, name: eve, __start_at: 15, __end_at: null}
      - input: ref('facts')
        rows:
          - {customer_id: 1, happened_at: 9}
          - {customer_id: 1, happened_at: 19}
          - {customer_id: 1, happened_at: 20}
          - {customer_id: 1, happened_at: 35}
          - {customer_id: 2, happened_at: 99}
    expect:
      rows:
        - {customer_id: 1, happened_at: 9, name: null}
        - {customer_id: 1, happened_at: 19, name: ann}
        - {customer_id: 1, happened_at: 20, name: bea}
        - {customer_id: 1, happened_at: 35, name: null}
        - {customer_id: 2, happened_at: 99, name: eve}
"""
TESTS = """
models:
  - name: sound
    data_tests:
      - history_has_no_overlaps: {name: sound_overlaps, arguments: {unique_key: id}}
      - history_has_ordered_bounds: {name: sound_bounds}
      - history_has_one_current_row: {name: sound_current, arguments: {unique_key: id, for_every_key: true}}
      - history_has_no_gaps: {name: sound_gaps, arguments: {unique_key: id}}
  - name: broken
    data_tests:
      - history_has_no_overlaps:
          name: broken_overlaps
          arguments: {unique_key: [id], start_at: valid_from, end_at: valid_to, current_end: 99}
      - history_has_no_gaps:
          name: broken_gaps
          arguments: {unique_key: id, start_at: valid_from, end_at: valid_to, current_end: 99}
      - history_has_ordered_bounds:
          name: broken_bounds
          arguments: {start_at: valid_from, end_at: valid_to}
      - history_has_one_current_row:
          name: broken_current
          arguments: {unique_key: id, end_at: valid_to, current_end: 99}
      - history_has_one_current_row:
          name: broken_every_key
          arguments: {unique_key: id, end_at: valid_to, current_end: 99, for_every_key: true}
"""
# How many rows each of them finds.
FOUND = {
    "sound_overlaps": 0,
    "sound_bounds": 0,
    "sound_current": 0,
    "sound_gaps": 1,
    "broken_overlaps": 2,
    "broken_gaps": 0,
    "broken_bounds": 1,
    "broken_current": 1,
    "broken_every_key": 3,
}


class TestAskingAHistory:
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"flags": {"require_generic_test_arguments_property": True}}

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "sound.sql": SOUND,
            "broken.sql": BROKEN,
            "facts.sql": "select 1 as customer_id, 1 as happened_at",
            "as_of.sql": AS_OF,
            "as_of_broken.sql": AS_OF_BROKEN,
            "current_versions.sql": CURRENT,
            "joined.sql": FACTS,
            "unit_tests.yml": UNIT_TESTS,
            "tests.yml": TESTS,
        }

    def test_they_say_what_they_should(self, project: Any) -> None:
        run_dbt(["run"])
        results = run_dbt(["test"], expect_pass=False)
        units = {result.node.name: str(result.status) for result in results if result.node.name not in FOUND}
        assert set(units.values()) == {"pass"}
        assert len(units) == 4
        assert {result.node.name: result.failures for result in results if result.node.name in FOUND} == FOUND
