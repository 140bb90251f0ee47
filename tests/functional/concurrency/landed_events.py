"""A project whose one model ingests files of six records each, of which two are bad."""

from __future__ import annotations

import json
from collections.abc import Iterable

from functional.concurrency.conftest import DbtProject

_MODEL = "{{{{ config(materialized='ingest', landing='{landing}', settle_seconds=0, {options}) }}}}"
_YML = "models: [{name: events, columns: [{name: id, data_type: int}, {name: name, data_type: string}]}]\n"
_DUMP = """
{% macro dump() %}
    {% for table in ['events', 'events__quarantine'] %}
        {% set first = run_query('select * from ' ~ target.schema ~ '.' ~ table).columns[0] %}
        {% do log('DUMP ' ~ tojson(first.values() | map('string') | list), info=true) %}
    {% endfor %}
{% endmacro %}
"""
_LINES = range(6)


class LandedEvents:
    """The files that land, and what became of their records.

    Args:
        options: of the model's config, besides the landing folder.
    """

    def __init__(self, project: DbtProject, options: str) -> None:
        self.project = project
        self._landing = project.root / "landing"
        self._landing.mkdir()
        project.write("models/events.sql", _MODEL.format(landing=self._landing, options=options))
        project.write("models/events.yml", _YML)
        project.write("macros/dump.sql", _DUMP)

    def land(self, *numbers: int) -> None:
        """Put files into the landing folder, each at once as a whole."""
        for number in numbers:
            lines = [f"{number}{line},x" if line % 3 else _bad(number, line) for line in _LINES]
            hidden = self._landing / f".{number}.csv"
            hidden.write_text("\n".join(lines) + "\n")
            hidden.rename(self._landing / f"{number}.csv")

    def dumped(self) -> tuple[list[str], list[str]]:
        """The rows' ids and the quarantined records, as they are now, in order."""
        output = self.project.run("run-operation", "dump")
        rows, quarantine = (
            json.loads(line.partition("DUMP ")[2]) for line in output.splitlines() if "DUMP [" in line
        )
        return sorted(rows), sorted(quarantine)

    @staticmethod
    def expected(numbers: Iterable[int]) -> tuple[list[str], list[str]]:
        """What :meth:`dumped` gives where each record of these files is there once."""
        places = [(number, line) for number in numbers for line in _LINES]
        rows = sorted(f"{number}{line}" for number, line in places if line % 3)
        return rows, sorted(_bad(number, line) for number, line in places if not line % 3)


def _bad(number: int, line: int) -> str:
    return f"bad{number}{line},x"
