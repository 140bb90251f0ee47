"""Values, comments and options with every kind of quote, in each way to write a table; and what packages assume."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from dbt.adapters.contracts.relation import RelationType
from dbt.tests.util import run_dbt, run_dbt_and_capture

pytestmark = pytest.mark.slow

ODD = [
    *("it's", 'say "x"', "back`tick", "semi;colon", "two\nlines", "carriage\rreturn", "tab\tand\\slash\\"),
    *(
        "{{ jinja }}",
        "{% set x = 1 %}",
        "<b>&amp;</b>",
        "50%",
        "a=b/c",
        "-- comment",
        "/* open",
        "$$x$$",
        "r'raw'",
    ),
    *("sep\u2028arator", "ünï"),
]
#: The same signs in a few values: each is a partition in each of a dozen tables.
FEW = ["".join(ODD[place::4]) for place in range(4)]
DELETE = "del\nete"
ROUTED = """
{{{{ config(materialized='incremental', partition_by='p'{more}) }}}}
select cast(null as string) as p, cast(null as int) as id, cast(null as string) as v where false
"""
LANDED = """
{{{{ config(materialized='ingest', format='json', landing='{landing}', settle_seconds=0, partition_by='p',
            route_by='name', routes={{
                'routed': {{'table': 'routed', 'deletes': "op = 'del\\nete'"}},
                'routed_on_read': {{'table': 'routed_on_read', 'deletes': "op = 'del\\nete'"}},
                'routed_log': {{'table': 'routed_log'}},
            }}) }}}}
{{% do ref('routed') %}} {{% do ref('routed_on_read') %}} {{% do ref('routed_log') %}}
"""
ROUTES = ("routed", "routed_on_read", "routed_log")
LANDED_COLUMNS = {"name": "string", "p": "string", "id": "int", "v": "string", "op": "string"}
QUERY = "select p, id, v, ts, op from {{ source('given', 'given') }} where round = {{ var('round', 1) }}"
MERGED = """
{{{{ config(materialized='incremental', incremental_strategy='merge', unique_key=['p', 'id'], sequence_by='ts',
            apply_as_deletes="op = 'del\\nete'", except_column_list=['op'], partition_by='p'{more}) }}}}
"""
KEYED = """
{{{{ config(materialized='incremental', incremental_strategy='{strategy}', partition_by='p'{more}) }}}}
select p, id, v from ({query}) where op <> 'x'
"""
SNAPSHOT = """
{% snapshot kept %}
{{ config(unique_key=['p', 'id'], strategy='check', check_cols=['v'], target_schema=target.schema, partition_by='p') }}
select p, id, v from {{ source('given', 'given') }} where round = {{ var('round', 1) }}
{% endsnapshot %}
"""
SPARKS = """
{{ config(materialized='table', file_format='hive', options={'fileFormat': 'parquet'}) }} select 1 as id
"""
BATCHES = """
{{ config(materialized='incremental', incremental_strategy='microbatch', event_time='at', begin='2026-01-01',
          batch_size='year', partition_by={'field': 'at'}) }}
select timestamp '2026-01-02 00:00:00' as at
"""
COMMENT = "".join(ODD).replace("{%", "").replace("{{", "").replace("\r", "")
DROP = """
{% macro drop_without_schema() %}
    {% set made = api.Relation.create(identifier='lakemerge_made_here', type='table') %}
    {% do run_query('create table ' ~ made ~ ' stored as orc as select 1 as a') %}
    {% do log('columns: ' ~ adapter.get_columns_in_relation(made) | map(attribute='name') | list, info=true) %}
    {% do adapter.drop_relation(made) %}
{% endmacro %}
"""


class OddValues:
    values: list[str]

    @pytest.fixture(scope="class")
    def landing(self, tmp_path_factory: pytest.TempPathFactory) -> Path:
        return tmp_path_factory.mktemp("landing")

    @pytest.fixture(scope="class")
    def models(self, landing: Path) -> dict[str, str]:
        sources = {
            "version": 2,
            "sources": [
                {"name": "given", "schema": "{{ target.schema }}", "tables": [{"name": "given"}]},
                {"name": "absent", "schema": "no_such_schema", "tables": [{"name": "anything"}]},
                {"name": "of_package", "database": "{{ target.database }}", "tables": [{"name": "some"}]},
            ],
            "models": [
                {
                    "name": "merged",
                    "description": COMMENT,
                    "columns": [{"name": "v", "description": COMMENT}],
                    "config": {"tags": [COMMENT], "meta": {"odd": COMMENT}},
                },
                {
                    "name": "landed",
                    "columns": [{"name": name, "data_type": kind} for name, kind in LANDED_COLUMNS.items()],
                },
            ],
        }
        query = QUERY
        return {
            "merged.sql": MERGED.format(
                more=", persist_docs={'relation': true, 'columns': true}, tblproperties={'odd': \"it's `x`; <b>\"}"
            )
            + query,
            "on_read.sql": MERGED.format(more=", write_mode='merge_on_read'") + query,
            "versions.sql": MERGED.format(more=", stored_as_scd_type=2") + query,
            "replaced.sql": KEYED.format(
                strategy="delete+insert", more=", unique_key=['p', 'id']", query=query
            ),
            "overwritten.sql": KEYED.format(strategy="insert_overwrite", more="", query=query),
            "added.sql": KEYED.format(
                strategy="append", more=", append_layout='commit_partitioned'", query=query
            ),
            "routed.sql": ROUTED.format(more=", unique_key=['p', 'id']"),
            "routed_on_read.sql": ROUTED.format(more=", unique_key=['p', 'id'], write_mode='merge_on_read'"),
            "routed_log.sql": ROUTED.format(more=", append_layout='commit_partitioned'"),
            "landed.sql": LANDED.format(landing=landing),
            "sparks.sql": SPARKS,
            "batches.sql": BATCHES,
            "sources.yml": json.dumps(sources),
        }

    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        return {"kept.sql": SNAPSHOT}

    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return {"typed.csv": "id,name\n1,a\n"}

    @pytest.fixture(scope="class")
    def macros(self) -> dict[str, str]:
        return {"drop.sql": DROP}

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"seeds": {"+column_types": {"name": "varchar"}, "+file_format": ""}}

    @pytest.fixture(scope="class")
    def writes_artifacts(self) -> bool:
        return True

    @pytest.fixture(scope="class", autouse=True)
    def given(self, project: Any) -> None:
        rows = [(p, 1, p, 1, "up", 1) for p in self.values]
        rows += [(p, 1, f"{p}!", 2, DELETE if place % 2 else "up", 2) for place, p in enumerate(self.values)]
        with project.adapter.connection_named("given"):
            frame = project.adapter.handle.spark.createDataFrame(
                rows, "p string, id int, v string, ts int, op string, round int"
            )
            frame.write.mode("overwrite").format("orc").saveAsTable(f"{project.test_schema}.given")

    def rows(self, project: Any, columns: str, name: str) -> list[tuple[Any, ...]]:
        found = project.run_sql(f"select {columns} from {project.test_schema}.{name}", fetch="all")
        return sorted(tuple(row) for row in found)

    def land(self, landing: Path, number: int, end: str, ops: tuple[str, str]) -> None:
        """A record for each value and each route."""
        with (landing / f"{number}.json").open("w") as file:
            for name in ROUTES:
                for place, p in enumerate(self.values):
                    record = {"name": name, "p": p, "id": 1, "v": p + end, "op": ops[place % 2]}
                    file.write(json.dumps(record, ensure_ascii=False) + "\n")

    def test_values_stay_what_they_are(self, project: Any, landing: Path) -> None:
        self.land(landing, 1, "", ("up", "up"))
        run_dbt(["build", "--exclude", "batches"])
        first = sorted((p, 1, p) for p in self.values)
        for name in ("merged", "on_read", "replaced", "overwritten", "added", *ROUTES):
            assert self.rows(project, "p, id, v", name) == first, name
        assert self.rows(project, "p, id, v", "kept") == first
        assert self.rows(project, "id, name", "typed") == [(1, "a")]
        self.land(landing, 2, "!", ("up", DELETE))
        run_dbt(["build", "--exclude", "batches", "typed", "--vars", "round: 2"])
        second = sorted((p, 1, f"{p}!") for p in self.values)
        merged = sorted((p, 1, f"{p}!") for p in self.values[::2])
        assert self.rows(project, "p, id, v", "merged") == merged
        assert self.rows(project, "p, id, v", "on_read") == merged
        assert self.rows(project, "p, id, v", "routed") == merged
        assert self.rows(project, "p, id, v", "routed_on_read") == merged
        assert self.rows(project, "p, id, v", "routed_log") == sorted(first + second)
        assert self.rows(project, "p, id, v", "landed") == sorted(3 * (first + second))
        assert self.rows(project, "p, id, v", "replaced") == second
        assert self.rows(project, "p, id, v", "overwritten") == second
        assert self.rows(project, "p, id, v", "added") == sorted(first + second)
        assert self.rows(project, "p, id, v", "kept where dbt_valid_to is null") == second
        assert self.rows(project, "p, id, v", "versions where __end_at is null") == merged
        assert self.rows(project, "p, id, v", "versions where __start_at = 1") == first
        run_dbt(
            [
                "run-operation",
                "lakemerge_compact",
                "--args",
                "{select: [merged, on_read, added], sort_by: id}",
            ]
        )
        assert self.rows(project, "p, id, v", "on_read") == merged
        assert self.rows(project, "p, id, v", "added") == sorted(first + second)
        with project.adapter.connection_named("look"):
            metastore = project.adapter.handle.application.metastore
            (row,) = metastore.tables(project.test_schema, ["merged"])
            assert metastore.tables("no_such_schema", ["merged"]) == []
        assert row.parameters["comment"] == COMMENT
        assert row.parameters["odd"] == "it's `x`; <b>"


class TestOddValues(OddValues):
    values = FEW

    def test_the_catalog_has_what_there_is(self, project: Any) -> None:
        run_dbt(["run", "--select", "sparks"])
        run_dbt(["docs", "generate"])
        catalog = json.loads(Path(project.project_root, "target/catalog.json").read_text())
        assert "model.test.sparks" in catalog["nodes"]
        assert set(catalog["sources"]) <= {"source.test.given.given"}
        assert catalog["errors"] is None

    def test_a_table_without_a_schema_is_in_the_current_database(self, project: Any) -> None:
        _, output = run_dbt_and_capture(["run-operation", "drop_without_schema"])
        assert "columns: ['a']" in output
        with project.adapter.connection_named("look"):
            metastore = project.adapter.handle.application.metastore
            assert "lakemerge_made_here" not in {row.name for row in metastore.table_summaries("default")}
            made = project.adapter.Relation.create(identifier="x", type=RelationType.View)
            project.adapter.handle.spark.sql("create temporary view x as select 1 as id")
            assert [column.name for column in project.adapter.get_columns_in_relation(made)] == ["id"]
            project.adapter.drop_relation(made)

    def test_the_error_of_a_batch_reaches_the_terminal(self, project: Any) -> None:
        _, output = run_dbt_and_capture(["run", "--select", "batches"], expect_pass=False)
        assert "partition_by must be a string or a list of strings" in output


class TestEachOddValue(OddValues):
    values = ODD
