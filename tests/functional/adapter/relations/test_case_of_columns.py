"""Columns are shown as their model spells them, whatever kind of table they are in; the metastore has lower case."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from dbt.tests.util import run_dbt

import lakemerge
from lakemerge.kernel import HiveColumn, TableName

pytestmark = pytest.mark.slow

SELECT = "select 1 as CustomerId, named_struct('Inner', 1) as Deep, cast('x' as varchar(3)) as Short, {more}'p' as Pt"
KEYED = "materialized='incremental', unique_key='customerid', partition_by='pt', on_schema_change='append_new_columns'"
MODELS = {
    "made": "materialized='table', file_format='parquet'",
    "merged": KEYED,
    "on_read": f"{KEYED}, write_mode='merge_on_read'",
    "history": f"{KEYED}, sequence_by='customerid', stored_as_scd_type=2",
    "appended": "materialized='incremental', append_layout='commit_partitioned', incremental_strategy='append', "
    "on_schema_change='append_new_columns'",
    "adopted": "materialized='incremental', unique_key='customerid', on_schema_change='append_new_columns'",
    "staged": f"{KEYED}, publish='after_tests'",
    "shown": "materialized='view'",
}
# Models that read a table while its rows are staged, and partitions of one that are consumed.
READERS = {
    "of_staged": "{{ config(materialized='table', publish='after_tests') }} select * from {{ ref('staged') }}",
    "of_consumed": "{{ config(materialized='incremental', append_layout='commit_partitioned', "
    "except_column_list=['_commit']) }} select * from {{ consume(ref('appended')) }}",
}
NAMES = ["CustomerId", "Deep", "Short", "Pt"]


class TestNames:
    @pytest.fixture(scope="class")
    def models(self, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
        landing = tmp_path_factory.mktemp("landing")
        (landing / "1.json").write_text('{"CustomerId": 1}\n')
        sql = SELECT.format(more="{% if var('more', false) %} 2 as NewOne, {% endif %}")
        # a table keeps the case that it has
        again = sql.replace("CustomerId", "{{ 'CUSTOMERID' if var('more', false) else 'CustomerId' }}")
        files = {
            f"{name}.sql": f"{{{{ config({config}) }}}}\n{sql if name in ('made', 'shown') else again}"
            for name, config in MODELS.items()
        }
        # the sequence is the key here, and another one in the second run
        files["history.sql"] = files["history.sql"].replace(
            "1 as", "{{ 2 if var('more', false) else 1 }} as", 1
        )
        column = "{name: customerID, description: whose}"
        model = f"{{name: merged, config: {{persist_docs: {{columns: true}}}}, columns: [{column}]}}"
        files |= {f"{name}.sql": text for name, text in READERS.items()}
        landed = "{name: landed, columns: [{name: CustomerId, data_type: int}]}"
        files["landed.sql"] = (
            f"{{{{ config(materialized='ingest', landing='{landing}', format='json', settle_seconds=0) }}}}"
        )
        return {**files, "models.yml": f"models: [{model}, {landed}]"}

    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return {"sown.csv": "CustomerId,Pt\n1,p\n"}

    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        config = (
            "config(strategy='check', unique_key='CustomerId', check_cols='all', target_schema=target.schema)"
        )
        sql = SELECT.format(more="{% if var('more', false) %} 2 as NewOne, {% endif %}")
        checked = config.replace("'all'", "['SHORT', 'pt']").replace("CustomerId", "CUSTOMERID")
        timed = checked.replace("check'", "timestamp'").replace(
            "check_cols=['SHORT', 'pt']", "updated_at='AT'"
        )
        dated = sql.replace("select ", "select timestamp '2026-01-01' as At, ")
        return {
            f"{name}.sql": f"{{% snapshot {name} %}}\n{{{{ {one} }}}}\n{text}\n{{% endsnapshot %}}"
            for name, one, text in (
                ("snapped", config, sql),
                ("checked", checked, sql),
                ("timed", timed, dated),
            )
        }

    def names(self, project: Any, table: str) -> list[str]:
        with project.adapter.connection_named("reader"):
            spark = project.adapter.handle.spark
            spark.catalog.refreshTable(f"{project.test_schema}.{table}")
            found = spark.table(f"{project.test_schema}.{table}").columns
            relation = project.adapter.Relation.create(schema=project.test_schema, identifier=table)
            assert [column.name for column in project.adapter.get_columns_in_relation(relation)] == found
            return [name for name in found if not name.startswith(("dbt_", "_"))]

    def row(self, project: Any, table: str) -> Any:
        with project.adapter.connection_named("reader"):
            metastore = project.adapter.handle.application.metastore
            return metastore.get_table(TableName(project.test_schema, table))

    def test_names_keep_their_case_in_every_kind_of_table(self, project: Any) -> None:
        project.run_sql(
            "create table {schema}.adopted "
            "(CustomerId int, Deep struct<Inner:int>, Short varchar(3), Pt string) using orc"
        )
        run_dbt(["build"])
        for table in (*MODELS, *READERS, "snapped"):
            assert self.names(project, table) == NAMES, table
        assert self.names(project, "sown") == ["CustomerId", "Pt"]
        assert self.names(project, "landed") == ["CustomerId"]
        for table in ("merged", "on_read", "on_read__base"):
            row = self.row(project, table)
            assert [c.name for c in (*row.columns, *row.partition_columns)] == [
                "customerid",
                "deep",
                "short",
                "pt",
            ]

        run_dbt(["build", "--vars", "{more: true}", "--exclude", "sown"])
        with_new = [*NAMES[:3], "NewOne", "Pt"]
        for table in ("made", "merged", "on_read", "history", "staged", "of_staged", "shown"):
            assert self.names(project, table) == with_new, table
        for table in ("appended", "adopted", "snapped"):
            assert self.names(project, table) == [*NAMES, "NewOne"], table
        for table in (
            "checked",
            "timed",
        ):  # whose options have the names in another case: nothing has changed
            counted = project.run_sql(f"select count(*) from {{schema}}.{table}", fetch="one")
            assert tuple(counted) == (1,), table
        found = project.run_sql(
            "select CUSTOMERID, deep.inner, short, newone, pt from {schema}.on_read", fetch="all"
        )
        assert [tuple(row) for row in found] == [(1, 1, "x", 2, "p")]
        with project.adapter.connection_named("reader"):
            spark = project.adapter.handle.spark
            described = spark.sql(f"describe {project.test_schema}.merged").collect()
        assert ("CustomerId", "int", "whose") in [tuple(row) for row in described]
        assert self.row(project, "adopted").columns[2].type == "varchar(3)"

        self.a_program_writes_and_reads_by_these_names(project)
        self.other_programs_columns_are_shown(project)

    def a_program_writes_and_reads_by_these_names(self, project: Any) -> None:
        name = f"{project.test_schema}.merged"
        with project.adapter.connection_named("program"):
            spark = project.adapter.handle.application.root
        row = {"CustomerId": 5, "DEEP": {"Inner": 2}, "short": "s", "NewOne": 3, "pt": "p"}
        with lakemerge.transaction(name, spark=spark) as changes:
            changes.upsert(name, row)
            schema = "CustomerId int, DEEP struct<Inner:int>, short string, NewOne int, pt string"
            changes.upsert(name, spark.createDataFrame([{**row, "CustomerId": 6}], schema))
        frame = lakemerge.read_together(name, spark=spark)[name]
        assert frame.columns == self.names(project, "merged") == [*NAMES[:3], "NewOne", "Pt"]
        assert sorted(row.CustomerId for row in frame.collect()) == [1, 5, 6]

    def other_programs_columns_are_shown(self, project: Any) -> None:
        row = self.row(project, "made")
        columns = (*row.columns, HiveColumn("theirs", "int"))
        with project.adapter.connection_named("reader"):
            metastore = project.adapter.handle.application.metastore
            metastore.alter_table(
                row.name, dataclasses.replace(row, storage=dataclasses.replace(row.storage, columns=columns))
            )
            spark = project.adapter.handle.spark
            spark.catalog.refreshTable(f"{project.test_schema}.made")
            found = spark.table(f"{project.test_schema}.made").columns
        assert found == ["customerid", "deep", "short", "newone", "pt", "theirs"]
