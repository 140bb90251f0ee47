"""Ingest of Avro files of another writer, with Spark's Avro package, by dbt in a process of its own."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import fastavro
import pytest

from functional.concurrency.conftest import DbtCommands, DbtProject

pytestmark = pytest.mark.slow

# The newest that was published; it reads and writes with releases of pyspark after it.
PACKAGE = {"spark.jars.packages": "org.apache.spark:spark-avro_2.13:4.1.1"}
MODEL = """
{{ config(materialized='ingest', landing=var('landing'), format='avro', settle_seconds=0, **var('options', {})) }}
"""
COLUMNS = {
    "id": "int",
    "name": "string",
    "price": "decimal(6,2)",
    "day": "date",
    "at": "timestamp",
    "tags": "array<string>",
    "attributes": "map<string,bigint>",
    "place": "struct<city: string, zip: int>",
}
FIELDS: dict[str, Any] = {
    "id": "int",
    "name": ["null", "string"],
    "price": {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2},
    "day": {"type": "int", "logicalType": "date"},
    "at": {"type": "long", "logicalType": "timestamp-micros"},
    "tags": {"type": "array", "items": "string"},
    "attributes": {"type": "map", "values": "long"},
    "place": {
        "type": "record",
        "name": "Place",
        "fields": [{"name": "city", "type": "string"}, {"name": "zip", "type": ["null", "int"]}],
    },
}
RECORD: dict[str, Any] = {
    "id": 1,
    "name": "a",
    "price": Decimal("1.50"),
    "day": datetime.date(2024, 2, 29),
    "at": datetime.datetime(2024, 2, 29, 10, 0, 0, 123456, tzinfo=datetime.timezone.utc),
    "tags": ["x", "y"],
    "attributes": {"k": 2**40},
    "place": {"city": "Bern", "zip": None},
}


class AvroRuns:
    """A project with one ingest of a folder of Avro files."""

    def __init__(self, project: DbtProject) -> None:
        self.project = project
        self.landing = project.root / "landing"
        self.landing.mkdir()
        columns = [{"name": name, "data_type": kind} for name, kind in COLUMNS.items()]
        project.write("models/places.sql", MODEL)
        project.write("models/places.yml", json.dumps({"models": [{"name": "places", "columns": columns}]}))

    def land(self, file_name: str, records: list[dict[str, Any]], **fields: Any) -> None:
        """Write a file whose fields are the usual ones but for these; ``None`` for a field that is not there."""
        kinds = {field: kind for field, kind in {**FIELDS, **fields}.items() if kind is not None}
        schema = {
            "type": "record",
            "name": "Row",
            "fields": [{"name": field, "type": kind} for field, kind in kinds.items()],
        }
        with (self.landing / file_name).open("wb") as file:
            fastavro.writer(file, fastavro.parse_schema(schema), records, codec="deflate")

    def run(self, dbt: DbtCommands, **options: Any) -> dict[str, Any]:
        return dbt("run", *self._arguments(options))

    def select(self, dbt: DbtCommands, query: str) -> list[list[Any]]:
        """Rows of a query, in which `{places}` is the table."""
        return dbt.rows(query.format(places=f"{self.project.name}.places"), *self._arguments({}))

    def _arguments(self, options: dict[str, Any]) -> list[str]:
        return ["--vars", json.dumps({"landing": str(self.landing), "options": options})]


@pytest.fixture(scope="module")
def runs(dbt_project: Callable[..., DbtProject]) -> AvroRuns:
    return AvroRuns(dbt_project("avro_files", PACKAGE))


@pytest.fixture(scope="module")
def dbt(runs: AvroRuns) -> Iterator[DbtCommands]:
    with runs.project.commands() as dbt:
        yield dbt


def test_values_are_read_as_they_were_written(runs: AvroRuns, dbt: DbtCommands) -> None:
    runs.land("a.avro", [RECORD, {**RECORD, "id": 2, "name": None, "tags": [], "price": Decimal("-0.01")}])
    done = runs.run(dbt)
    assert done["success"], done
    assert (done["response"]["inserted"], done["response"]["quarantined"]) == (2, 0)
    time, rest = "date_format(at, 'HH:mm:ss.SSSSSS')", "to_json(struct(tags, attributes, place))"
    columns = f"id, name, price, day, {time}, {rest}"
    first, second = runs.select(dbt, f"select {columns} from {{places}} order by id")
    assert [str(value) for value in first[:5]] == ["1", "a", "1.50", "2024-02-29", "10:00:00.123456"]
    assert json.loads(first[5]) == {
        "tags": ["x", "y"],
        "attributes": {"k": 2**40},
        "place": {"city": "Bern"},
    }
    assert second[1] is None
    assert str(second[2]) == "-0.01"
    assert json.loads(second[5])["tags"] == []


def test_what_does_not_fit_is_in_quarantine(runs: AvroRuns, dbt: DbtCommands) -> None:
    wide = {"type": "bytes", "logicalType": "decimal", "precision": 8, "scale": 3}
    runs.land(
        "b.avro",
        [{**RECORD, "id": 3, "price": Decimal("2.500")}, {**RECORD, "id": 2**40, "price": Decimal("2.505")}],
        id="long",
        price=wide,
    )
    runs.land("c.avro", [{key: value for key, value in RECORD.items() if key != "name"}], name=None)
    runs.land("d.avro", [{**RECORD, "day": "today"}], day="string")
    done = runs.run(dbt)
    assert done["success"], done
    assert (done["response"]["inserted"], done["response"]["quarantined"]) == (1, 3)
    problems = "array_join(transform(problems, problem -> problem.reason), ' ')"
    rejected = runs.select(
        dbt, f"select element_at(split(file, '/'), -1), {problems} from {{places}}__quarantine order by file"
    )
    assert rejected == [
        ["b.avro", "overflow precision_lost"],
        ["c.avro", "missing_field"],
        ["d.avro", "wrong_type"],
    ]


def test_a_damaged_file_stops_the_run_and_is_named(runs: AvroRuns, dbt: DbtCommands) -> None:
    before = runs.select(dbt, "select count(*) from {places}")
    runs.land("e.avro", [{**RECORD, "id": 9}] * 5000)
    whole = (runs.landing / "e.avro").read_bytes()
    for damaged in (whole[: len(whole) // 2], b"not Avro"):
        (runs.landing / "e.avro").write_bytes(damaged)
        failed = runs.run(dbt)
        assert not failed["success"]
        assert "UnreadableFile" in failed["message"]
        assert "e.avro" in failed["message"]
        assert runs.select(dbt, "select count(*) from {places}") == before
    (runs.landing / "e.avro").write_bytes(whole)
    assert runs.run(dbt)["response"]["inserted"] == 5000
