"""`dbt run` of an ingest with routes killed at every step of its commit: each record counts once in its table."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from functional.concurrency.conftest import DbtProject

#: The steps of a commit over several tables after which a run is killed; those of which each table has one.
STEPS = (
    "staged",
    "manifest written",
    "table claimed",
    "claimed",
    "side data published",
    "swapped",
    "settled",
)

_EVENTS = """
{{{{ config(
    materialized='ingest', landing='{landing}', settle_seconds=0, null_literal='-', route_by='source',
    routes={{
        'stock': {{'table': 'stock', 'deletes': "op = 'D'"}},
        'log': {{'table': 'log', 'columns': {{'what': 'op'}}}},
    }},
) }}}}
{{% do ref('stock') %}}{{% do ref('log') %}}
"""
_YML = """
models:
  - name: events
    columns:
      - {name: source, data_type: string}
      - {name: op, data_type: string}
      - {name: id, data_type: int}
      - {name: pieces, data_type: int}
"""
# No sequence: a change that is applied twice, or in another order, gives other rows.
_STOCK = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}
select cast(null as int) as id, cast(null as int) as pieces where false
"""
_LOG = """
{{ config(materialized='incremental', incremental_strategy='append', append_layout='commit_partitioned') }}
select cast(null as int) as id, cast(null as string) as what where false
"""


class RoutedEvents:
    """A project whose ingest takes each file's records to a table with a key and to one without."""

    def __init__(self, project: DbtProject) -> None:
        self.project = project
        self._landing = project.root / "landing"
        self._landing.mkdir()
        project.write("models/events.sql", _EVENTS.format(landing=self._landing))
        project.write("models/events.yml", _YML)
        project.write("models/stock.sql", _STOCK)
        project.write("models/log.sql", _LOG)
        self._landed: list[int] = []

    def land(self, number: int) -> None:
        """A file that sets key 0 to its number, adds a key and takes that of the file before away, and logs twice."""
        lines = [
            "stock,U,0,-1",
            f"stock,U,0,{number}",
            f"stock,U,{number},{number}",
            f"stock,D,{number - 1},-" if number > 1 else "stock,D,1000,-",
            f"log,a,{number},-",
            f"log,b,{number},-",
            f"nowhere,{number},1,1",
        ]
        hidden = self._landing / f".{number}.csv"
        hidden.write_text("\n".join(lines) + "\n")
        hidden.rename(self._landing / f"{number}.csv")
        self._landed.append(number)

    def check(self) -> None:
        """Be sure that every landed record counts once, and that no claim is left."""
        last = self._landed[-1]
        with self.project.commands() as dbt:

            def rows(columns: str, table: str) -> list[list[object]]:
                found = dbt.rows(f"select {columns} from {self.project.name}.{table}")
                return sorted(
                    [int(value) if str(value).lstrip("-").isdigit() else value for value in row]
                    for row in found
                )

            assert rows("id, pieces", "stock") == [[0, last], [last, last]]
            assert rows("id, what", "log") == [[number, what] for number in self._landed for what in "ab"]
            assert rows("count(*)", "events") == [[6 * len(self._landed)]]
            assert rows("record", "events__quarantine") == [[f"nowhere,{n},1,1"] for n in self._landed]


@pytest.mark.slow
def test_a_run_that_is_killed_with_one_table_claimed_and_one_after_the_decision(
    dbt_project: Callable[[str], DbtProject],
) -> None:
    project = dbt_project("killed_routes")
    events = RoutedEvents(project)
    project.run("run")
    for number, step in enumerate(("table claimed", "claimed"), 1):
        events.land(number)
        project.run_killed("run", "--select", "events", at=step)
    project.run("run")
    events.check()


@pytest.mark.slow
def test_each_record_counts_once_after_kills_at_every_step(dbt_project: Callable[[str], DbtProject]) -> None:
    project = dbt_project("killed_routes_everywhere")
    events = RoutedEvents(project)
    project.run("run")
    for number, step in enumerate(STEPS, 1):
        events.land(number)
        project.run_killed("run", "--select", "events", at=step)
    for _ in range(2):
        output = project.run("run", "--select", "events")
    assert "nothing to write" in output
    events.check()
