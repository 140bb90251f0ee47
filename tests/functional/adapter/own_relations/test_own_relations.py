"""Relations as the metastore has them: types, columns, drops, renames, what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.adapters.contracts.relation import RelationType
from dbt.tests.util import run_dbt, write_file
from dbt_common.exceptions import DbtRuntimeError

TABLE_SQL = "{{ config(materialized='table') }} select 1 as id"


class TestRelations:
    @pytest.fixture(scope="class", autouse=True)
    def relations(self, project: Any) -> None:
        schema = project.test_schema
        for statement in (
            f"create table {schema}.parts (id bigint comment 'key', v varchar(7), s struct<A:int>) "
            "partitioned by (day date) stored as orc",
            f"create view {schema}.shown as select id, day as TheDay from {schema}.parts",
            f"create table {schema}.source_table (Id int, d decimal(10,2)) using parquet",
        ):
            project.run_sql(statement)

    def test_types_are_exact(self, project: Any) -> None:
        with project.adapter.connection_named("list"):
            schema = project.adapter.Relation.create(schema=project.test_schema.upper())
            found = {
                row.identifier: str(row.type)
                for row in project.adapter.list_relations_without_caching(schema)
            }
            nothing = project.adapter.list_relations_without_caching(
                project.adapter.Relation.create(schema="no_such_schema")
            )
        assert found == {"parts": "table", "shown": "view", "source_table": "table"}
        assert nothing == []

    @pytest.mark.parametrize(
        ("name", "columns"),
        [
            (
                "parts",
                [("id", "bigint"), ("v", "varchar(7)"), ("s", "struct<a:int>"), ("day", "date")],
            ),
            ("shown", [("id", "bigint"), ("theday", "date")]),
            ("source_table", [("id", "int"), ("d", "decimal(10,2)")]),
            ("absent", []),
        ],
    )
    def test_columns(self, project: Any, name: str, columns: list[tuple[str, str]]) -> None:
        with project.adapter.connection_named("columns"):
            relation = project.adapter.Relation.create(schema=project.test_schema, identifier=name)
            found = project.adapter.get_columns_in_relation(relation)
        assert [(column.name, column.data_type.lower()) for column in found] == columns

    def test_a_relation_is_dropped_whatever_type_it_is_thought_to_be(self, project: Any) -> None:
        project.run_sql(f"create view {project.test_schema}.wrong as select 1 as id")
        with project.adapter.connection_named("drop"):
            relation = project.adapter.Relation.create(
                schema=project.test_schema, identifier="wrong", type=RelationType.Table
            )
            project.adapter.drop_relation(relation)
            # a second time there is nothing to drop
            project.adapter.drop_relation(relation)
            assert project.adapter.get_columns_in_relation(relation) == []


class TestVersionedTable:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"model.sql": TABLE_SQL}

    def relation(self, project: Any, name: str = "model") -> Any:
        return project.adapter.Relation.create(
            schema=project.test_schema, identifier=name, type=RelationType.Table
        )

    def test_truncation_is_a_version(self, project: Any) -> None:
        run_dbt(["run"])
        with project.adapter.connection_named("truncate"):
            project.adapter.truncate_relation(self.relation(project))
            versions = project.adapter.table_history(self.relation(project))
        assert project.run_sql(f"select count(*) from {project.test_schema}.model", fetch="one")[0] == 0
        assert len(versions) == 2

    def test_a_table_with_versions_is_not_renamed(self, project: Any) -> None:
        run_dbt(["run"])
        with (
            project.adapter.connection_named("rename"),
            pytest.raises(DbtRuntimeError, match="which has version"),
        ):
            project.adapter.rename_relation(self.relation(project), self.relation(project, "renamed"))

    def test_a_view_that_fails_leaves_the_table_it_was_to_replace(self, project: Any) -> None:
        run_dbt(["run"])
        write_file("{{ config(materialized='view') }} select no_such_column", "models", "model.sql")
        run_dbt(["run"], expect_pass=False)
        assert project.run_sql(f"select * from {project.test_schema}.model", fetch="all")[0][0] == 1
        write_file("{{ config(materialized='view') }} select 2 as id", "models", "model.sql")
        run_dbt(["run"])
        assert project.run_sql(f"select * from {project.test_schema}.model", fetch="all")[0][0] == 2

    def test_a_table_of_others_is_not_dropped_for_a_view(self, project: Any, tmp_path: Any) -> None:
        project.run_sql(
            f"create external table {project.test_schema}.others (id int) stored as orc location '{tmp_path}'"
        )
        write_file("{{ config(materialized='view') }} select 2 as id", "models", "others.sql")
        results = run_dbt(["run", "--select", "others"], expect_pass=False)
        assert "made by others" in results.results[0].message


@pytest.mark.parametrize("materialized", ["view", "table", "incremental"])
class TestGrants:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        sql = "{{ config(materialized='%s', grants={'select': ['someone']}) }} select 1 as id"
        return {f"{kind}_model.sql": sql % kind for kind in ("view", "table", "incremental")}

    def test_grants_are_refused_before_anything_is_made(self, project: Any, materialized: str) -> None:
        name = f"{materialized}_model"
        results = run_dbt(["run", "--select", name], expect_pass=False)
        assert "Spark cannot grant rights on Hive tables" in results.results[0].message
        with project.adapter.connection_named("grants"):
            relation = project.adapter.Relation.create(schema=project.test_schema, identifier=name)
            assert project.adapter.get_columns_in_relation(relation) == []


class TestSeedTypes:
    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return {"typed.csv": "id,amount\n1,1.25\n2,\n3,nonsense\n"}

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"seeds": {"test": {"+column_types": {"amount": "decimal(10,2)"}}}}

    def test_a_value_that_does_not_fit_its_type_fails_the_seed(self, project: Any) -> None:
        results = run_dbt(["seed"], expect_pass=False)
        assert "found 'nonsense'" in results.results[0].message
        write_file("id,amount\n1,1.25\n2,\n", "seeds", "typed.csv")
        run_dbt(["seed"])
        rows = project.run_sql(f"select amount from {project.test_schema}.typed order by id", fetch="all")
        assert [str(row[0]) for row in rows] == ["1.25", "None"]
