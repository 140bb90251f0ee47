"""Tables, histories and views of merge on read, after three days of merges: Trino reads the rows that Spark reads."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from engines import trino
from engines.installed import require
from engines.plain_spark import PlainSpark
from engines.trino import Trino
from functional.concurrency.conftest import DbtProject
from kernel.servers import MetastoreServer

DAYS = (1, 2, 3)
# Each day changes half of the keys of the day before, deletes some, adds some, and moves rows between partitions.
FEED = """
{% macro feed(day) %}
select
    id,
    cast({{ day }} as bigint) as day,
    if(id % 11 = 0, null, concat('naïve 日本 ', id)) as name,
    cast(id * 1.25 as decimal(12, 2)) as price,
    id / 7.0d as share,
    id % 2 = 0 as even,
    date_add(date'2026-11-01', cast(id as int)) as listed_on,
    timestamp_millis(1700000000123 + id * 1000) as changed_at,
    array(name_of, null) as tags,
    id % 7 = {{ day }} % 7 as gone,
    element_at(array('north', 'south', 'a/b=c', null), cast((id + {{ day }}) % 4 as int) + 1) as region
from (select id, concat('t', id) as name_of from range({{ day }} * 20, {{ day }} * 20 + 40))
{% endmacro %}
"""
MODEL = """
{{{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', sequence_by='day',
          apply_as_deletes='gone', except_column_list=['gone'], {options}) }}}}
{{{{ feed(var('day')) }}}}
"""
# Parquet's decimals as all of Hive's readers know them, Trino's among them.
TABLES = {
    "orc_whole": "file_format='orc'",
    "orc_parts": "file_format='orc', partition_by='region'",
    "parquet_whole": "file_format='parquet'",
    "parquet_parts": "file_format='parquet', partition_by='region'",
    "history": "stored_as_scd_type=2, partition_by='region'",
    "on_read_orc": "file_format='orc', partition_by='region', write_mode='merge_on_read', compact_deltas=0, "
    "compact_deltas_percent=0",
    "on_read_parquet": "file_format='parquet', partition_by='region', write_mode='merge_on_read', compact_deltas=0, "
    "compact_deltas_percent=0",
    "on_read_whole": "write_mode='merge_on_read', compact_deltas=0, compact_deltas_percent=0",
}
ON_READ = [name for name in TABLES if name.startswith("on_read")]

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Readers:
    """Both engines, on the schema of a project after its runs."""

    spark: PlainSpark
    trino: Trino
    schema: str


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Readers]:
    require("trino", trino.missing())
    directory = tmp_path_factory.mktemp("read_by_trino")
    server = MetastoreServer(directory, transaction_tables=False).start()
    try:
        (root := directory / "shown").mkdir()
        project = DbtProject(root, server)
        build(project)
        spark = PlainSpark(server.client_conf, directory)
        started = Trino(server.uri, directory).start()
        yield Readers(spark, started, project.name)
        started.stop()
        spark.stop()
    finally:
        server.stop()


def build(project: DbtProject) -> None:
    """Merge three days into each of the tables."""
    project.write("macros/feed.sql", FEED)
    for name, options in TABLES.items():
        project.write(f"models/{name}.sql", MODEL.format(options=options))
    with project.commands() as dbt:
        for day in DAYS:
            dbt.succeed("run", "--vars", f"day: {day}")


def same(rows: list[list[Any]]) -> list[list[Any]]:
    """Rows in one order, and their times without the zeros at the end that engines write or leave out."""
    cleaned = [[_cleaned(value) for value in row] for row in rows]
    return sorted(cleaned, key=repr)


def _cleaned(value: Any) -> Any:
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+", value):
        return value.rstrip("0").rstrip(".")
    return value


@pytest.mark.parametrize("table", TABLES)
def test_trino_reads_the_rows_that_spark_reads(readers: Readers, table: str) -> None:
    query = f"select * from {readers.schema}.{table}"
    expected = same(readers.spark.sql(query))
    assert len(expected) > 40
    assert same(readers.trino.sql(query)) == expected
    query = f"select count(*), count(distinct id), sum(price) from {readers.schema}.{table} where region = 'south'"
    assert readers.trino.sql(query) == readers.spark.sql(query)


@pytest.mark.parametrize("table", ON_READ)
def test_the_base_and_the_deltas_are_tables_to_trino(readers: Readers, table: str) -> None:
    for part in ("base", "deltas"):
        query = f"select * from {readers.schema}.{table}__{part}"
        expected = same(readers.spark.sql(query))
        assert expected
        assert same(readers.trino.sql(query)) == expected


@pytest.mark.parametrize("table", ["orc_parts", "on_read_orc", "on_read_parquet"])
def test_a_condition_prunes_partitions_through_the_view(readers: Readers, table: str) -> None:
    base = f"{table}__base" if table in ON_READ else table

    def scanned(where: str) -> set[str]:
        """The values of the partition column that Trino's plan reads of the base."""
        query = f"explain (type io, format json) select * from {readers.schema}.{table} {where}"
        ((plan,),) = readers.trino.sql(query)
        return regions_of(json.loads(plan), base)

    assert scanned("") >= {"north", "south", "a/b=c"}
    assert scanned("where region = 'south'") == {"south"}


def regions_of(plan: Any, table: str) -> set[str]:
    """The values of the partition column that a plan reads of a table, by its input and output."""
    return {
        bounds["low"]["value"]
        for scan in plan["inputTableColumnInfos"]
        if scan["table"]["schemaTable"]["table"] == table
        for column in scan["constraint"]["columnConstraints"]
        if column["columnName"] == "region"
        for bounds in column["domain"]["ranges"]
    }
