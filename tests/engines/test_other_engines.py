"""Tables, histories and views of merge on read, after three days of merges: Trino and Hive read what Spark reads."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from engines import hive, trino
from engines.hive import Hive
from engines.installed import require
from engines.plain_spark import PlainSpark
from engines.trino import Trino
from functional.concurrency.conftest import DbtProject
from kernel.servers import MetastoreServer
from lakemerge.kernel.ports.names import DEFAULT_PARTITION, unescape

DAYS = (1, 2, 3)
# Each day changes half of the keys of the day before, deletes some, adds some, and moves rows between partitions.
FEED = """
{% macro feed(day) %}
select
    id,
    cast({{ day }} as bigint) as day,
    if(id % 11 = 0, null, concat('naïve 日本 ', id)) as Name,
    cast(id * 1.25 as decimal(12, 2)) as Price,
    id / 7.0d as share,
    id % 2 = 0 as even,
    date_add(date'2026-11-01', cast(id as int)) as listed_on,
    timestamp_millis(1700000000123 + id * 1000) as Changed_At,
    array(name_of, null) as tags,
    id % 7 = {{ day }} % 7 as gone,
    element_at(array('north', 'south', 'a/b=c', null), cast((id + {{ day }}) % 4 as int) + 1) as Region
from (select id, concat('t', id) as name_of from range({{ day }} * 20, {{ day }} * 20 + 40))
{% endmacro %}
"""
MODEL = """
{{{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', sequence_by='day',
          apply_as_deletes='gone', except_column_list=['gone'], {options}) }}}}
{{{{ feed(var('day')) }}}}
"""
_SPLIT = "partition_by='region'"
_ON_READ = "write_mode='merge_on_read', compact_deltas=0, compact_deltas_percent=0"
# Hive knows ZSTD from release 4 on, which is what ORC files have by default.
_ORC = "file_format='orc', tblproperties={'orc.compress': 'ZLIB'}"
TABLES = {
    "orc_whole": _ORC,
    "orc_parts": f"{_ORC}, {_SPLIT}",
    "parquet_whole": "file_format='parquet'",
    "parquet_parts": f"file_format='parquet', {_SPLIT}",
    "history": f"{_ORC}, stored_as_scd_type=2, {_SPLIT}",
    "on_read_orc": f"{_ORC}, {_SPLIT}, {_ON_READ}",
    "on_read_parquet": f"file_format='parquet', {_SPLIT}, {_ON_READ}",
    "on_read_whole": f"{_ORC}, {_ON_READ}",
}
ON_READ = [name for name in TABLES if name.startswith("on_read")]

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Shown:
    """The tables of a project after its runs, and a Spark that knows nothing of lakemerge."""

    server: MetastoreServer
    directory: Path
    schema: str
    spark: PlainSpark


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    directory = tmp_path_factory.mktemp("read_by_others")
    server = MetastoreServer(directory, transaction_tables=False).start()
    try:
        (root := directory / "shown").mkdir()
        project = DbtProject(root, server)
        build(project)
        spark = PlainSpark(server.client_conf, directory)
        yield Shown(server, directory, project.name, spark)
        spark.stop()
    finally:
        server.stop()


def build(project: DbtProject) -> None:
    """Merge three days into each of the tables."""
    project.write("macros/feed.sql", FEED)
    for name, options in TABLES.items():
        project.write(f"models/{name}.sql", MODEL.format(options=options))
    project.write("models/zstd.sql", MODEL.format(options="file_format='orc'"))
    with project.commands() as dbt:
        for day in DAYS:
            dbt.succeed("run", "--vars", f"day: {day}")


@pytest.fixture(scope="module", params=["trino", "hive"])
def engine(request: pytest.FixtureRequest) -> Iterator[Trino | Hive]:
    require(request.param, (trino if request.param == "trino" else hive).missing())
    shown = request.getfixturevalue("shown")
    started = (
        Trino(shown.server.uri, shown.directory).start()
        if request.param == "trino"
        else Hive(shown.server.client_conf, shown.directory).start()
    )
    yield started
    started.stop()


def same(rows: list[list[Any]]) -> list[list[Any]]:
    """Rows in one order, with values as text that does not depend on the engine."""
    return sorted(([_text(value) for value in row] for row in rows), key=repr)


def _text(value: Any) -> str | None:
    if value is None or value == DEFAULT_PARTITION:  # which Hive shows for a null in a partition column
        return None
    if isinstance(value, bool | list):
        value = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    value = str(value)
    if re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+", value):
        return value.rstrip("0").rstrip(".")  # engines write them, or leave them out
    return value


@pytest.mark.parametrize("table", TABLES)
def test_it_reads_the_rows_that_spark_reads(shown: Shown, engine: Trino | Hive, table: str) -> None:
    query = f"select * from {shown.schema}.{table}"
    expected = same(shown.spark.sql(query))
    assert len(expected) > 40
    assert same(engine.sql(query)) == expected
    query = (
        f"select count(*), count(distinct id), sum(price) from {shown.schema}.{table} where region = 'south'"
    )
    assert same(engine.sql(query)) == same(shown.spark.sql(query))


@pytest.mark.parametrize("table", ON_READ)
def test_the_base_and_the_deltas_are_tables_to_it(shown: Shown, engine: Trino | Hive, table: str) -> None:
    for part in ("base", "deltas"):
        query = f"select * from {shown.schema}.{table}__{part}"
        expected = same(shown.spark.sql(query))
        assert expected
        assert same(engine.sql(query)) == expected


@pytest.mark.parametrize("table", ["orc_parts", "on_read_orc", "on_read_parquet"])
def test_a_condition_prunes_partitions_through_the_view(
    shown: Shown, engine: Trino | Hive, table: str
) -> None:
    base = f"{table}__base" if table in ON_READ else table

    def scanned(where: str) -> set[str]:
        """The values of the partition column that the engine's plan reads of the base."""
        query = f"select * from {shown.schema}.{table} {where}"
        read_by = regions_by_trino if isinstance(engine, Trino) else regions_by_hive
        return read_by(engine, query, base)

    assert scanned("") >= {"north", "south", "a/b=c"}
    assert scanned("where region = 'south'") == {"south"}


def regions_by_trino(engine: Any, query: str, table: str) -> set[str]:
    """The values of the partition column that a plan reads of a table, by its input and output."""
    ((plan,),) = engine.sql(f"explain (type io, format json) {query}")
    return {
        bounds["low"]["value"]
        for scan in json.loads(plan)["inputTableColumnInfos"]
        if scan["table"]["schemaTable"]["table"] == table
        for column in scan["constraint"]["columnConstraints"]
        if column["columnName"] == "region"
        for bounds in column["domain"]["ranges"]
    }


def regions_by_hive(engine: Any, query: str, table: str) -> set[str]:
    """The same, by the partitions that the query depends on: ``schema@table@region=value``."""
    ((plan,),) = engine.sql(f"explain dependency {query}")
    names = [one["partitionName"].split("@") for one in json.loads(plan)["input_partitions"]]
    return {unescape(name[2].partition("=")[2]) for name in names if name[1] == table}


def test_the_codec_of_new_orc_files_is_one_that_trino_knows_and_old_releases_of_hive_do_not(
    shown: Shown, engine: Trino | Hive
) -> None:
    query = f"select * from {shown.schema}.zstd"
    if isinstance(engine, Trino):
        assert same(engine.sql(query)) == same(shown.spark.sql(query))
    else:
        with pytest.raises(Py4JJavaError, match="Unknown compression"):
            engine.sql(query)
