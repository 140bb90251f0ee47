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
            ("shown", [("id", "bigint"), ("TheDay", "date")]),
            ("source_table", [("Id", "int"), ("d", "decimal(10,2)")]),
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
            versions = project.adapter.operations.history(self.relation(project))
        assert project.run_sql(f"select count(*) from {project.test_schema}.model", fetch="one")[0] == 0
        assert len(versions) == 2

    def test_a_table_with_versions_is_not_renamed_and_dbt_still_finds_it(self, project: Any) -> None:
        run_dbt(["run"])
        adapter, schema = project.adapter, project.test_schema
        with adapter.connection_named("rename"):
            for _ in range(2):
                with pytest.raises(DbtRuntimeError, match="which has version"):
                    adapter.rename_relation(self.relation(project), self.relation(project, "renamed"))
            assert adapter.get_relation(None, schema, "model").is_table
            assert adapter.get_relation(None, schema, "renamed") is None

    @pytest.mark.slow
    def test_a_view_is_renamed(self, project: Any) -> None:
        run_dbt(["run"])
        adapter, schema = project.adapter, project.test_schema
        for name in ("one", "two"):
            project.run_sql(f"create or replace view {schema}.{name} as select '{name}' as name")
        one, two = (
            self.relation(project, name).incorporate(type=RelationType.View) for name in ("one", "two")
        )
        with adapter.connection_named("rename"):
            adapter.cache_added(one)
            adapter.cache_added(two)
            with pytest.raises(DbtRuntimeError, match="ALREADY_EXISTS"):
                adapter.rename_relation(one, two)
            # by another program, which dbt does not know of
            project.run_sql(f"drop view {schema}.two")
            adapter.rename_relation(one, two)
            assert adapter.get_relation(None, schema, "two").is_view
            assert adapter.get_relation(None, schema, "one") is None
        assert project.run_sql(f"select name from {schema}.two", fetch="one")[0] == "one"

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
        assert "made by another program" in results.results[0].message


PARTS = """
{{ config(materialized='table', partition_by=['day']) }}
select id, cast(id as string) as size, 'a' as note, date'2024-01-01' as day from range(3)
"""


@pytest.mark.slow
class TestAlteredColumns:
    """Packages change columns by dbt's macros; models by `on_schema_change`."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"parts.sql": PARTS}

    @pytest.fixture(autouse=True)
    def parts(self, project: Any) -> None:
        run_dbt(["run"])

    def alter(self, project: Any, macro: str, relation: str = "parts", **changes: Any) -> None:
        adapter = project.adapter
        with adapter.connection_named("alter"):
            table = adapter.Relation.create(schema=project.test_schema, identifier=relation, type="table")
            adapter.execute_macro(macro, kwargs={"relation": table, **changes})

    def columns(self, project: Any) -> list[tuple[str, str]]:
        return [tuple(row[:2]) for row in project.run_sql("describe {schema}.parts", fetch="all")][:4]

    def rows(self, project: Any) -> list[tuple[Any, ...]]:
        rows = project.run_sql("select * from {schema}.parts order by id", fetch="all")
        return [tuple(row)[:-1] for row in rows]  # the partition column is the last

    def test_columns_are_added_without_writing_rows_and_dropped_with_what_they_held(
        self, project: Any
    ) -> None:
        column = project.adapter.Column
        change = "alter_relation_add_remove_columns"
        project.run_sql("alter table {schema}.parts change column note note string comment 'kept'")
        self.alter(project, change, add_columns=[column("Weight", "decimal(8,2)")], remove_columns=None)
        assert self.rows(project)[2] == (2, "2", "a", None)
        project.run_sql("insert into {schema}.parts values (3, '3', 'b', 1.5, date'2024-01-01')")
        self.alter(project, change, add_columns=None, remove_columns=[column("weight", "string")])
        assert self.rows(project) == [(n, str(n), "b" if n == 3 else "a") for n in range(4)]
        # what the column held does not come back
        self.alter(project, change, add_columns=[column("weight", "decimal(8,2)")], remove_columns=None)
        assert self.rows(project)[3] == (3, "3", "b", None)
        comments = project.run_sql("describe {schema}.parts", fetch="all")
        assert [row[2] for row in comments if row[0] == "note"] == ["kept"]
        with project.adapter.connection_named("history"):
            table = project.adapter.Relation.create(schema=project.test_schema, identifier="parts")
            commits = project.adapter.operations.history(table)
        assert [(commit["operation"], commit["partitions"]) for commit in commits[:4]] == [
            ("alter", 0),
            ("alter", 1),
            ("insert", 1),
            ("alter", 0),
        ]

    def test_a_column_gets_another_type_if_no_value_is_lost(self, project: Any) -> None:
        self.alter(project, "alter_column_type", column_name="SIZE", new_column_type="INT")
        assert self.columns(project)[1] == ("size", "int")
        assert self.rows(project)[2] == (2, 2, "a")
        for column, kind in (("note", "int"), ("note", "varchar(0)"), ("id", "decimal(1,1)")):
            with pytest.raises(DbtRuntimeError, match=f"of {column} .* cannot hold") as raised:
                self.alter(project, "alter_column_type", column_name=column, new_column_type=kind)
            assert "IncompatibleColumn" in str(raised.value)
        assert self.rows(project)[2] == (2, 2, "a")

    @pytest.mark.parametrize(
        ("macro", "changes", "message"),
        [
            ("alter_relation_add_remove_columns", {"add": ["ID"]}, "the column id already"),
            ("alter_relation_add_remove_columns", {"add": ["day"]}, "the partition column day"),
            (
                "alter_relation_add_remove_columns",
                {"remove": ["day", "nope"]},
                "no column day; no column nope",
            ),
            ("alter_relation_add_remove_columns", {"remove": ["id", "size", "note"]}, "none beside"),
            ("alter_column_type", {"column_name": "nope", "new_column_type": "int"}, "no column nope"),
            ("alter_column_type", {"column_name": "id", "new_column_type": "no_type"}, "found no_type"),
        ],
    )
    def test_changes_that_are_not_possible_leave_the_table_as_it_was(
        self, project: Any, macro: str, changes: dict[str, Any], message: str
    ) -> None:
        if macro == "alter_relation_add_remove_columns":
            changes = {
                f"{name}_columns": [project.adapter.Column(column, "int") for column in changes.get(name, ())]
                for name in ("add", "remove")
            }
        with pytest.raises(DbtRuntimeError, match=message):
            self.alter(project, macro, **changes)
        assert [name for name, _ in self.columns(project)] == ["id", "size", "note", "day"]

    def test_other_relations_are_refused(self, project: Any) -> None:
        project.run_sql("create or replace view {schema}.shown as select 1 as id")
        for relation, message in (("shown", "a virtual view"), ("absent", "no such table")):
            with pytest.raises(DbtRuntimeError, match=message):
                self.alter(project, "alter_column_type", relation, column_name="id", new_column_type="bigint")


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


@pytest.mark.slow
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
