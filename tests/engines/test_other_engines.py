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
from engines.metastores import metastore_on
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
# Days that Java's older classes, and so Hive 2, count in another calendar.
OLD_DAYS = """
{{{{ config(materialized='table', file_format='{file_format}', reader_compatibility='{readers}') }}}}
select id, day, cast(day as timestamp) as at, array(day) as days
from values (1, date'0002-01-01'), (2, date'1500-03-01'), (3, date'1582-10-04'), (4, date'1582-10-15') as t (id, day)
"""
#: What these files are written for, by the metastore, and so by the Hive that reads them.
READERS = {"hive3": "hive3", "hive4": "hive4"}
_SPLIT = "partition_by='region'"
_ON_READ = "write_mode='merge_on_read', compaction='off'"
_OLD_HIVE = "reader_compatibility='hive2'"
_ORC = f"file_format='orc', {_OLD_HIVE}"
_PARQUET = f"file_format='parquet', {_OLD_HIVE}"
TABLES = {
    "orc_whole": _ORC,
    "orc_parts": f"{_ORC}, {_SPLIT}",
    "parquet_whole": _PARQUET,
    "parquet_parts": f"{_PARQUET}, {_SPLIT}",
    "history": f"{_ORC}, stored_as_scd_type=2, {_SPLIT}",
    "on_read_orc": f"{_ORC}, {_SPLIT}, {_ON_READ}",
    "on_read_parquet": f"{_PARQUET}, {_SPLIT}, {_ON_READ}",
    "on_read_whole": f"{_ORC}, {_ON_READ}",
}
ON_READ = [name for name in TABLES if name.startswith("on_read")]
# Names that are not in lower case, in tables that get a column on the second day.
SPELLED = """
{{{{ config(materialized='incremental', incremental_strategy='merge', unique_key='Id', sequence_by='LoadDay',
          {options}) }}}}
{{% set day = var('day') | int %}}
select
    cast(id as int) as Id,
    {day} as LoadDay,
    {{% if {keeps_name} %}} if(id % 3 = 0, null, concat('n', id)) as CustomerName, {{% endif %}}
    named_struct('Inside', cast(id * 10 + {day} as int), 'OTHER', 'o') as DeepOne,
    {{% if day > 1 %}} concat('on ', {day}) as NoteOfDay, {{% endif %}}
    concat('R', id % 2) as RegionOf
from range({day} * 2, {day} * 2 + 4)
"""
_ADDED = "on_schema_change='append_new_columns'"
_ADDED_ORC, _SPLIT_SPELLED = f"{_ORC}, {_ADDED}", "partition_by='regionof'"
CASED = {
    "spelled_orc": _ADDED_ORC,
    "spelled_orc_parts": f"{_ADDED_ORC}, {_SPLIT_SPELLED}",
    "spelled_parquet": f"{_PARQUET}, {_ADDED}, {_SPLIT_SPELLED}",
    "spelled_on_read": f"{_ADDED_ORC}, {_SPLIT_SPELLED}, {_ON_READ}",
    "spelled_on_read_parquet": f"{_PARQUET}, {_ADDED}, {_ON_READ}",
    "spelled_history": f"{_ADDED_ORC}, stored_as_scd_type=2, {_SPLIT_SPELLED}",
    # loses a column in the middle on the third day
    "spelled_synced": f"{_ORC}, {_SPLIT_SPELLED}, on_schema_change='sync_all_columns'",
}
SNAPSHOT = f"""
{{% snapshot spelled_kept %}}
{{{{ config(strategy='check', unique_key='Id', check_cols='all', {_ORC}) }}}}
select * from {{{{ ref('spelled_orc') }}}}
{{% endsnapshot %}}
"""
#: What finds the rows that hold now, in tables that keep others.
CURRENT = {"spelled_history": "`__END_AT` is null", "spelled_kept": "DBT_valid_to is null"}

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Shown:
    """The tables of a project after its runs, and a Spark that knows nothing of lakemerge."""

    server: MetastoreServer
    directory: Path
    schema: str
    spark: PlainSpark


@pytest.fixture(scope="module")
def shown(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    directory = tmp_path_factory.mktemp("read_by_others")
    metastore = request.config.getoption("--metastore")
    with metastore_on(metastore, directory) as server:
        (root := directory / "shown").mkdir()
        project = DbtProject(root, server)
        build(project, READERS.get(metastore, "hive2"))
        spark = PlainSpark(server.spark_conf, directory)
        yield Shown(server, directory, project.name, spark)
        spark.stop()


def build(project: DbtProject, readers: str) -> None:
    """Merge three days into each of the tables."""
    project.write("macros/feed.sql", FEED)
    for name, options in TABLES.items():
        project.write(f"models/{name}.sql", MODEL.format(options=options))
    for file_format in ("orc", "parquet"):
        project.write(
            f"models/old_days_{file_format}.sql", OLD_DAYS.format(file_format=file_format, readers=readers)
        )
    project.write("models/zstd.sql", MODEL.format(options="file_format='orc'"))
    for name, options in CASED.items():
        keeps_name = "day < 3" if name == "spelled_synced" else "true"
        text = SPELLED.format(options=options, keeps_name=keeps_name, day="{{ day }}")
        project.write(f"models/{name}.sql", text)
    project.write("snapshots/spelled_kept.sql", SNAPSHOT)
    with project.commands() as dbt:
        for day in DAYS:
            dbt.succeed("build", "--vars", f"day: {day}")


@pytest.fixture(scope="module", params=["trino", "hive"])
def engine(request: pytest.FixtureRequest) -> Iterator[Trino | Hive]:
    metastore = request.config.getoption("--metastore")
    require(request.param, trino.missing() if request.param == "trino" else hive.missing(metastore))
    shown = request.getfixturevalue("shown")
    started = (
        Trino(shown.server.uri, shown.directory).start()
        if request.param == "trino"
        else Hive(shown.server.client_conf, shown.directory, metastore).start()
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


def needs_jobs(engine: Trino | Hive) -> None:
    """What follows is more than a plain select."""
    if isinstance(engine, Hive) and not engine.runs_jobs:
        pytest.skip("jobs of Hive 3.1 need Java 8")


@pytest.mark.parametrize("table", TABLES)
def test_it_reads_the_rows_that_spark_reads(shown: Shown, engine: Trino | Hive, table: str) -> None:
    query = f"select * from {shown.schema}.{table}"
    expected = same(shown.spark.sql(query))
    assert len(expected) > 40
    if table in ON_READ:
        needs_jobs(engine)
    assert same(engine.sql(query)) == expected
    needs_jobs(engine)
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
    needs_jobs(engine)
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
    if isinstance(engine, Trino) or engine.knows_zstd:
        assert same(engine.sql(query)) == same(shown.spark.sql(query))
    else:
        with pytest.raises(Py4JJavaError, match="Unknown compression"):
            engine.sql(query)


@pytest.mark.parametrize("file_format", ["orc", "parquet"])
def test_hive_reads_old_days_of_files_that_are_written_for_it(
    shown: Shown, engine: Trino | Hive, file_format: str
) -> None:
    if isinstance(engine, Trino):
        pytest.skip("takes the days of such files as they stand")
    if engine.release == "hive3" and file_format == "orc":
        pytest.skip("knows no calendar in ORC: shows days as they stand")
    query = f"select id, day, at, days from {shown.schema}.old_days_{file_format}"
    found = same(engine.sql(query))
    assert found == same(shown.spark.sql(query))
    assert [row[1] for row in found] == ["0002-01-01", "1500-03-01", "1582-10-04", "1582-10-15"]


def names_of(engine: Any, table: str) -> list[str]:
    """The names of a table's columns as an engine shows them."""
    names = [str(row[0] or "").strip() for row in engine.sql(f"describe {table}")]
    return names[: next((place for place, name in enumerate(names) if name[:1] in ("", "#")), None)]


def spelled_row(key: int, day: int) -> dict[str, Any]:
    """A row of the models of names that are not in lower case."""
    return {
        "Id": key,
        "LoadDay": day,
        "CustomerName": f"n{key}" if key % 3 else None,
        "DeepOne.Inside": key * 10 + day,
        "DeepOne.OTHER": "o",
        "NoteOfDay": f"on {day}" if day > 1 else None,
        "RegionOf": f"R{key % 2}",
    }


@pytest.mark.parametrize("table", [*CASED, "spelled_kept"])
def test_names_that_are_not_in_lower_case(shown: Shown, engine: Trino | Hive, table: str) -> None:
    name, gone = f"{shown.schema}.{table}", "CustomerName" if table == "spelled_synced" else ""
    columns = [column for column in spelled_row(0, 1) if column != gone]
    spelled = names_of(shown.spark, name)
    assert {column.partition(".")[0] for column in columns} <= set(spelled)
    assert gone not in spelled
    # neither of them knows the property in which Spark keeps the case
    assert names_of(engine, name) == [column.lower() for column in spelled]

    needs_jobs(engine)  # by their conditions
    last = {key: day for day in DAYS for key in range(day * 2, day * 2 + 4)}
    rows = [[spelled_row(key, day)[column] for column in columns] for key, day in last.items()]
    for reader in (shown.spark, engine):
        holds = CURRENT.get(table, "true")
        holds = holds.replace("`", '"') if isinstance(reader, Trino) else holds
        assert same(reader.sql(f"select {', '.join(columns)} from {name} where {holds}")) == same(rows)
        found = reader.sql(f"select ID from {name} where {holds} and REGIONOF = 'R1' and LOADDAY = 3")
        assert same(found) == same([[7], [9]])
