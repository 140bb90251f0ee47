"""Runs with `--empty` and `--sample`: what they do not read is not taken for deleted, and is still read later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt

pytestmark = pytest.mark.slow

SYNCED = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', sync='full') }}
select id, name, at from {{ source('shop', 'people') }}
"""
LANDED = "{{ config(materialized='ingest', landing=var('landing'), settle_seconds=0) }}"
YML = """
sources:
  - name: shop
    schema: "{{ target.schema }}"
    tables: [{name: people, config: {event_time: at}}]
models:
  - name: landed
    columns: [{name: id, data_type: int}, {name: name, data_type: string}]
snapshots:
  - name: ended
    relation: source('shop', 'people')
    config: {unique_key: id, strategy: check, check_cols: [name], hard_deletes: invalidate}
  - name: marked
    relation: source('shop', 'people')
    config: {unique_key: id, strategy: check, check_cols: [name], hard_deletes: new_record}
"""
#: Rows 3 and 4, once it is there, but neither 1 nor 2.
SAMPLE = "{'start': '2026-01-03', 'end': '2026-01-10'}"
OPEN = "select id, name from {} where dbt_valid_to is null order by id"
EXISTING = "select id, name from {} where dbt_valid_to is null and dbt_is_deleted = 'False' order by id"


@pytest.fixture(scope="class")
def models() -> dict[str, str]:
    return {"synced.sql": SYNCED, "landed.sql": LANDED, "properties.yml": YML}


class People:
    """The source's rows, the landed files, and what the project has made of both."""

    def __init__(self, project: Any, landing: Path) -> None:
        self.project, self.landing = project, landing

    def write(self, *rows: str) -> None:
        self.project.run_sql(
            f"insert overwrite {self.project.test_schema}.people values {', '.join(f'({row})' for row in rows)}"
        )

    def land(self, name: str, *lines: str) -> None:
        (self.landing / name).write_text("".join(f"{line}\n" for line in lines))

    def build(self, *arguments: str) -> None:
        run_dbt(["build", "--vars", f"{{landing: {self.landing}}}", *arguments])

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.project.run_sql(query, fetch="all")]

    @property
    def found(self) -> dict[str, list[tuple[Any, ...]]]:
        """What readers see: ids and names."""
        schema = self.project.test_schema
        return {
            "synced": self.rows(f"select id, name from {schema}.synced order by id"),
            "ended": self.rows(OPEN.format(f"{schema}.ended")),
            "marked": self.rows(EXISTING.format(f"{schema}.marked")),
            "landed": self.rows(f"select id, name from {schema}.landed order by id"),
        }


def each(rows: list[tuple[Any, ...]], landed: list[tuple[Any, ...]]) -> dict[str, list[tuple[Any, ...]]]:
    return {"synced": rows, "ended": rows, "marked": rows, "landed": landed}


@pytest.fixture(scope="class")
def people(project: Any, tmp_path_factory: pytest.TempPathFactory) -> People:
    project.run_sql(f"create table {project.test_schema}.people (id int, name string, at timestamp)")
    found = People(project, tmp_path_factory.mktemp("landed"))
    found.write(
        "1, 'ann', timestamp'2026-01-01'", "2, 'ben', timestamp'2026-01-02'", "3, 'cy', timestamp'2026-01-03'"
    )
    found.land("1.csv", "1,ann")
    return found


class TestPartialRuns:
    def test_what_is_not_read_is_not_taken_for_deleted(self, people: People) -> None:
        people.build("--empty")  # the first run
        assert people.found == each([], [])
        people.build()
        before = each([(1, "ann"), (2, "ben"), (3, "cy")], [(1, "ann")])
        assert people.found == before

        people.write(
            "1, 'anna', timestamp'2026-01-01'",
            "3, 'cyd', timestamp'2026-01-03'",
            "4, 'dee', timestamp'2026-01-04'",
        )
        people.land("2.csv", "2,ben")
        people.build("--empty")
        assert people.found == before

        people.build("--sample", SAMPLE, "--exclude", "landed")
        assert people.found == each([(1, "ann"), (2, "ben"), (3, "cyd"), (4, "dee")], [(1, "ann")])

        people.build()
        assert people.found == each([(1, "anna"), (3, "cyd"), (4, "dee")], [(1, "ann"), (2, "ben")])
        marked = f"select id from {people.project.test_schema}.marked where dbt_is_deleted = 'True'"
        assert people.rows(marked) == [(2,)]
