"""Names, types and values that Spark takes: a table reads back what was written, or nothing is written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt

import lakemerge
from lakemerge.kernel import TableName
from odd_names import ODD_NAMES as NAMES

pytestmark = pytest.mark.slow

# Besides the columns of these names, two of constant values, by which tables are partitioned.
KEPT = "materialized='incremental', unique_key='id'"
TABLES: Mapping[str, str] = {
    "plain": "materialized='table', file_format='orc', partition_by='.p.t'",
    "merged": f"{KEPT}, file_format='parquet', partition_by='Größe p=t'",
    "on_read": "materialized='incremental', unique_key=['id', '.p.t'], write_mode='merge_on_read', "
    "partition_by='Größe p=t'",
    "history": f"{KEPT}, sequence_by='seq', stored_as_scd_type=2, partition_by=['.p.t', 'Größe p=t']",
    "replaced": f"{KEPT}, incremental_strategy='delete+insert', partition_by='.p.t'",
    "overwritten": "materialized='incremental', incremental_strategy='insert_overwrite', partition_by='.p.t'",
    "appended": "materialized='incremental', append_layout='commit_partitioned', partition_by='.p.t'",
}
REFUSED = {
    "line_end": ("1 as `a\nb`", "UnsupportedColumnName", "a line end"),
    "backtick": ("1 as `a``b`", "UnsupportedColumnName", "a`b (a backtick"),
    "twice": ("1 as a, 2 as A", "COLUMN_ALREADY_EXISTS", "`a`"),
    "hyphen": (
        "named_struct('x', array(named_struct('a-b', 1))) as s",
        "UnsupportedColumnName",
        "s.x.element.a-b",
    ),
    "nothing": ("array() as a", "UnsupportedColumnType", "a (void)"),
    "interval": ("named_struct('x', interval 1 day) as s", "UnsupportedColumnType", "s (interval day)"),
    "variant": ("parse_json('1') as v", "UnsupportedColumnType", "v (variant)"),
    "long": ("1 as one, repeat('ü', 127) as pt", "PartitionValueTooLong", "the partition column pt"),
    "escaped": (
        "1 as one, repeat('=', 85) as pt",
        "PartitionValueTooLong",
        "one of 258, which begins with ====",
    ),
    "many": (
        "1 as one, repeat('a', 200) as p1, repeat('b', 200) as p2, repeat('c', 200) as p3, repeat('d', 200) as pt",
        "PartitionValueTooLong",
        "p1, p2, p3, pt",
    ),
}
VALUES = "repeat('ü', 126)", "repeat('=', 84)", "repeat('x', 252)", "null", "''"


def quoted(name: str) -> str:
    return f"`{name}`"


def columns(number: int) -> str:
    return ",\n".join(f"{number * place} as {quoted(name)}" for place, name in enumerate(NAMES, 1))


def model_of(config: str) -> str:
    """One row, and in the second run this row changed and another one."""

    def row(key: int, number: int) -> str:
        return f"select {key} as id, {number} as seq, {columns(number)}, 'p' as `Größe p=t`, 'q' as `.p.t`"

    later = f"{row(1, 2)}\nunion all\n{row(2, 2)}"
    return f"{{{{ config({config}) }}}}\n{{% if var('again', false) %}}{later}{{% else %}}{row(1, 1)}{{% endif %}}"


class TestOddNames:
    @pytest.fixture(scope="class")
    def files_of_types(self, tmp_path_factory: pytest.TempPathFactory) -> Path:
        return tmp_path_factory.mktemp("files_of_types")

    @pytest.fixture(scope="class")
    def models(self, tmp_path_factory: pytest.TempPathFactory, files_of_types: Path) -> dict[str, str]:
        landing = tmp_path_factory.mktemp("landing")
        values = ("ü" * 127, "ü" * 126, "=" * 85)
        (landing / "1.json").write_text("".join(f'{{"id": 1, "Pt": "{value}"}}\n' for value in values))
        found = {f"{name}.sql": model_of(config) for name, config in TABLES.items()}
        for name, (selected, *_) in REFUSED.items():
            by = "['p1', 'p2', 'p3', 'pt']" if name == "many" else "'pt'"
            config = (
                f"materialized='table', partition_by={by}" if " as pt" in selected else "materialized='table'"
            )
            found[f"{name}.sql"] = f"{{{{ config({config}) }}}}\nselect {selected}"
        rows = " union all ".join(f"select {n} as id, {value} as pt" for n, value in enumerate(VALUES))
        kept = "materialized='incremental', unique_key='id', partition_by='pt'"
        late = "{% if var('again', false) %} union all select 9, repeat('ü', 127) {% endif %}"
        found["delta.sql"] = f"{{{{ config({kept}, write_mode='merge_on_read') }}}}\n{rows}{late}"
        collated = "select 1 as id, 'A' collate utf8_lcase as t, array(named_struct('x', 'A' collate utf8_lcase)) as s"
        found["collated.sql"] = (
            f"{{{{ config({kept.replace('pt', 't')}, write_mode='merge_on_read') }}}}\n{collated}"
        )
        given = "materialized='ingest', format='json', settle_seconds=0, partition_by='pt'"
        found["landed.sql"] = f"{{{{ config({given}, landing='{landing}') }}}}"
        columns_of_records = "[{name: id, data_type: int}, {name: Pt, data_type: string}]"
        declared = [{"name": name, "data_type": "int"} for name in NAMES]
        typed = {"name": "typed", "columns": declared}
        found["landed.yml"] = (
            f"models: [{{name: landed, columns: {columns_of_records}}}, {json.dumps(typed, ensure_ascii=False)}]"
        )
        found["typed.sql"] = (
            f"{{{{ config(materialized='ingest', format='orc', landing='{files_of_types}', settle_seconds=0, "
            "record_columns=['_file']) }}"
        )
        return found

    def test_each_reads_back_or_is_refused(self, project: Any, files_of_types: Path) -> None:
        with project.adapter.connection_named("another program"):
            frame = project.adapter.handle.spark.sql(f"select {columns(2)}")
            frame.coalesce(1).write.mode("overwrite").orc(f"file://{files_of_types}/made")
        results = {r.node.name: r for r in run_dbt(["run"], expect_pass=False)}
        for name, (_, error, text) in REFUSED.items():
            assert str(results[name].status) == "error", name
            assert error in results[name].message, results[name].message
            assert text in results[name].message, results[name].message
        adapter = project.adapter
        with adapter.connection_named("reader"):
            metastore = adapter.handle.application.metastore
            for name in REFUSED:
                assert metastore.get_table(TableName(project.test_schema, name)) is None
        failed = {name for name, result in results.items() if str(result.status) != "success"}
        assert failed == set(REFUSED)
        found = project.run_sql("select octet_length(pt) from {schema}.landed", fetch="all")
        assert [tuple(row) for row in found] == [(252,)]
        found = project.run_sql("select distinct reason from {schema}.landed__quarantine", fetch="all")
        assert [tuple(row) for row in found] == [("too_long",)]
        before = project.run_sql("select count(*) from {schema}.delta__deltas", fetch="one")

        again = {r.node.name: r for r in run_dbt(["run", "--vars", "{again: true}"], expect_pass=False)}
        assert {name for name, result in again.items() if str(result.status) != "success"} == {
            *REFUSED,
            "delta",
        }
        assert "PartitionValueTooLong" in again["delta"].message
        assert project.run_sql("select count(*) from {schema}.delta__deltas", fetch="one") == before
        found = project.run_sql("select id, octet_length(pt) from {schema}.delta", fetch="all")
        assert sorted(found) == [(0, 252), (1, 84), (2, 252), (3, None), (4, None)]
        found = project.run_sql("select id, t, s[0].x, typeof(t) from {schema}.collated", fetch="all")
        assert [tuple(row) for row in found] == [(1, "A", "A", "string")]
        with adapter.connection_named("reader"):
            spark = adapter.handle.spark
            selected = ", ".join(map(quoted, NAMES))
            wanted = tuple(2 * place for place, _ in enumerate(NAMES, 1))
            first = tuple(place for place, _ in enumerate(NAMES, 1))
            for table in TABLES:
                newest = "where __END_AT is null" if table == "history" else ""
                rows = spark.sql(f"select {selected} from {project.test_schema}.{table} {newest}").collect()
                more = [first] if table == "appended" else []
                assert sorted(map(tuple, rows)) == [*more, wanted, wanted], table
            (row,) = spark.sql(f"select {selected}, _file from {project.test_schema}.typed").collect()
            assert tuple(row)[:-1] == wanted
            assert row["_file"].endswith(".orc")
            names = [f"{project.test_schema}.{table}" for table in ("plain", "merged", "on_read", "appended")]
            for name, frame in lakemerge.read_together(*names, spark=spark).items():
                rows = sorted(map(tuple, frame.selectExpr(*map(quoted, NAMES)).collect()))
                assert rows[-2:] == [wanted] * 2, name
