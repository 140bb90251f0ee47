"""dbt's suite "constraints": contracts, and what is enforced on the staged rows."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.constraints import fixtures
from dbt.tests.adapter.constraints.test_constraints import (
    BaseConstraintsRollback,
    BaseIncrementalConstraintsColumnsEqual,
    BaseIncrementalConstraintsRollback,
    BaseIncrementalContractSqlHeader,
    BaseIncrementalForeignKeyConstraint,
    BaseTableConstraintsColumnsEqual,
    BaseTableContractSqlHeader,
    BaseViewConstraintsColumnsEqual,
)
from dbt.tests.util import read_file, relation_from_name, run_dbt, run_dbt_and_capture, write_file


def in_spark(text: str) -> str:
    """A fixture of dbt with Spark's names of types and functions."""
    return (
        text.replace("data_type: text", "data_type: string")
        .replace("data_type: integer", "data_type: int")
        .replace("current_setting('timezone')", "current_timezone()")
        .replace("set session time zone", "set time zone")
        .replace("(\"from\" = 'blue')", "(`from` = 'blue')")
        .replace("'\"from\"'", "'`from`'")
    )


SCHEMA_YML = in_spark(fixtures.model_schema_yml)


class ColumnsEqual:
    @pytest.fixture
    def string_type(self) -> str:
        return "string"

    @pytest.fixture
    def int_type(self) -> str:
        return "int"

    @pytest.fixture
    def data_types(self) -> list[list[str]]:
        return [
            ["1", "int", "int"],
            ["'1'", "string", "string"],
            ["true", "boolean", "boolean"],
            ["array('1', '2', '3')", "array<string>", "array<string>"],
            ["array(1, 2, 3)", "array<int>", "array<int>"],
            ["named_struct('a', 1)", "struct<a:int>", "struct<a:int>"],
            ["cast('2019-01-01' as date)", "date", "date"],
            ["cast('2019-01-01' as timestamp)", "timestamp", "timestamp"],
            ["cast(1.0 as decimal(4, 2))", "decimal(4,2)", "decimal(4,2)"],
        ]


@pytest.mark.fast("test__constraints_wrong_column_order")
class TestTableConstraintsColumnsEqual(ColumnsEqual, BaseTableConstraintsColumnsEqual):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "my_model_wrong_order.sql": fixtures.my_model_wrong_order_sql,
            "my_model_wrong_name.sql": fixtures.my_model_wrong_name_sql,
            "constraints_schema.yml": SCHEMA_YML,
        }


@pytest.mark.slow
class TestViewConstraintsColumnsEqual(ColumnsEqual, BaseViewConstraintsColumnsEqual):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "my_model_wrong_order.sql": fixtures.my_model_view_wrong_order_sql,
            "my_model_wrong_name.sql": fixtures.my_model_view_wrong_name_sql,
            "constraints_schema.yml": SCHEMA_YML,
        }


@pytest.mark.slow
class TestIncrementalConstraintsColumnsEqual(ColumnsEqual, BaseIncrementalConstraintsColumnsEqual):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "my_model_wrong_order.sql": fixtures.my_model_incremental_wrong_order_sql,
            "my_model_wrong_name.sql": fixtures.my_model_incremental_wrong_name_sql,
            "constraints_schema.yml": SCHEMA_YML,
        }


class Rollback:
    @pytest.fixture(scope="class")
    def expected_error_messages(self) -> list[str]:
        return ["my_model", "not_null", "id"]


@pytest.mark.slow
class TestTableConstraintsRollback(Rollback, BaseConstraintsRollback):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"my_model.sql": fixtures.my_model_sql, "constraints_schema.yml": SCHEMA_YML}


@pytest.mark.slow
class TestIncrementalConstraintsRollback(Rollback, BaseIncrementalConstraintsRollback):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"my_model.sql": fixtures.my_incremental_model_sql, "constraints_schema.yml": SCHEMA_YML}


class SqlHeader:
    @pytest.fixture(scope="class")
    def header_models(self) -> dict[str, str]:
        return {"constraints_schema.yml": in_spark(fixtures.model_contract_header_schema_yml)}

    def test_the_header_holds_for_the_rows(self, project: Any) -> None:
        rows = project.run_sql(
            f"select column_name from {project.test_schema}.my_model_contract_sql_header", fetch="all"
        )
        assert [row[0] for row in rows] == ["Asia/Kolkata"]
        assert project.run_sql("select current_timezone()", fetch="one")[0] != "Asia/Kolkata"


@pytest.mark.slow
class TestTableContractSqlHeader(SqlHeader, BaseTableContractSqlHeader):
    @pytest.fixture(scope="class")
    def models(self, header_models: dict[str, str]) -> dict[str, str]:
        sql = in_spark(fixtures.my_model_contract_sql_header_sql)
        return {**header_models, "my_model_contract_sql_header.sql": sql}


@pytest.mark.slow
class TestIncrementalContractSqlHeader(SqlHeader, BaseIncrementalContractSqlHeader):
    @pytest.fixture(scope="class")
    def models(self, header_models: dict[str, str]) -> dict[str, str]:
        sql = in_spark(fixtures.my_model_incremental_contract_sql_header_sql)
        return {**header_models, "my_model_contract_sql_header.sql": sql}


class Enforcement:
    """In place of the tests that compare DDL: Hive tables have no constraints in their DDL."""

    good = "select 'blue' as color, 1 as id, '2019-01-01' as date_day"
    bad = "select 'blue' as color, -1 as id, '2019-01-01' as date_day"
    materialized = "table"

    def write_model(self, sql: str) -> None:
        config = (
            "{{ config(materialized='" + self.materialized + "', on_schema_change='append_new_columns') }}"
        )
        write_file(
            f"{config}\n-- depends_on: {{{{ ref('foreign_key_model') }}}}\n{sql}", "models", "my_model.sql"
        )

    def test_constraints_are_enforced_or_warned_of(self, project: Any) -> None:
        schema = read_file("models", "constraints_schema.yml").format(schema=project.test_schema)
        write_file(schema, "models", "constraints_schema.yml")
        self.write_model(self.good)
        _, output = run_dbt_and_capture(["run"])
        for constraint in self.not_enforced:
            assert f"{constraint} constraint" in output.lower() or constraint in output.lower()
        self.write_model(self.bad)
        (result,) = run_dbt(["run", "--select", "my_model"], expect_pass=False)
        assert self.failing in result.message
        rows = project.run_sql(
            f"select * from {relation_from_name(project.adapter, 'my_model')}", fetch="all"
        )
        assert [tuple(row) for row in rows] == [(1, "blue", "2019-01-01")]

    failing = "id > 0"
    not_enforced = ("unique", "primary_key", "foreign_key")

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "my_model.sql": self.good,
            "foreign_key_model.sql": fixtures.foreign_key_model_sql,
            "constraints_schema.yml": in_spark(self.schema_yml),
        }

    schema_yml = fixtures.model_fk_constraint_schema_yml


class TestTableConstraintsRuntimeEnforcement(Enforcement):
    pass


@pytest.mark.slow
class TestIncrementalConstraintsRuntimeEnforcement(Enforcement):
    materialized = "incremental"


@pytest.mark.slow
class TestModelConstraintsRuntimeEnforcement(Enforcement):
    schema_yml = fixtures.constrained_model_schema_yml


@pytest.mark.slow
class TestConstraintQuotedColumn:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "my_model.sql": fixtures.my_model_with_quoted_column_name_sql,
            "constraints_schema.yml": in_spark(fixtures.model_quoted_column_schema_yml),
        }

    def test_constraint_on_a_reserved_word(self, project: Any) -> None:
        run_dbt(["run"])
        sql = fixtures.my_model_with_quoted_column_name_sql
        write_file(sql.replace("'blue'", "'red'"), "models", "my_model.sql")
        (result,) = run_dbt(["run"], expect_pass=False)
        assert "`from` = 'blue'" in result.message
        write_file(sql.replace("'blue'", "cast(null as string)"), "models", "my_model.sql")
        (result,) = run_dbt(["run"], expect_pass=False)
        assert "not_null" in result.message


@pytest.mark.slow
class TestIncrementalForeignKeyConstraint(BaseIncrementalForeignKeyConstraint):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "schema.yml": in_spark(fixtures.incremental_foreign_key_schema_yml),
            "raw_numbers.sql": fixtures.incremental_foreign_key_model_raw_numbers_sql,
            "stg_numbers.sql": fixtures.incremental_foreign_key_model_stg_numbers_sql,
        }
