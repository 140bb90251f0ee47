"""A project whose one ingest has routes to two tables."""

from __future__ import annotations

from functional.concurrency.conftest import DbtProject

_EVENTS = """
{{{{ config(
    materialized='ingest', landing='{landing}', settle_seconds=0, null_literal='-', route_by='source', {options}
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
    """A project whose ingest takes each file's records to a table with a key and to one without.

    Args:
        options: of the ingest's config, each with a comma after it.
    """

    def __init__(self, project: DbtProject, options: str = "") -> None:
        self.project = project
        self._landing = project.root / "landing"
        self._landing.mkdir()
        project.write("models/events.sql", _EVENTS.format(landing=self._landing, options=options))
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
