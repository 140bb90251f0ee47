"""dbt's suite "functions", as far as Spark has SQL functions; the words are Spark's."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.functions import files, test_udfs
from dbt.tests.util import run_dbt
from dbt_common.events.base_types import EventMsg

from releases import needs_spark_4

pytestmark = needs_spark_4("functions in SQL")


class Udf(test_udfs.UDFsBasic):
    expected_volatility = ""

    def is_function_create_event(self, event: EventMsg) -> bool:
        return (
            event.data.node_info.node_name == "price_for_xlarge"
            and "create or replace function" in event.data.sql
        )

    def check_function_volatility(self, sql: str) -> None:
        returns = " ".join(sql.partition("returns ")[2].split())
        assert returns.startswith(f"float {self.expected_volatility} return".replace("  ", " "))


class TestUdf(Udf):
    pass


@pytest.mark.slow
class TestDeterministicUdf(Udf):
    expected_volatility = "deterministic"

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"functions": {"+volatility": "deterministic"}}


@pytest.mark.slow
class TestNonDeterministicUdf(Udf):
    expected_volatility = "not deterministic"

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"functions": {"+volatility": "non-deterministic"}}


@pytest.mark.slow
class TestStableUdf(Udf):
    # Spark has no such word: dbt warns and leaves it out
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"functions": {"+volatility": "stable"}}


@pytest.mark.slow
class TestErrorForUnsupportedType(test_udfs.ErrorForUnsupportedType):
    pass


class TestCanFindScalarFunctionRelation(test_udfs.CanFindScalarFunctionRelation):
    def test_what_is_found_stands_in_no_model_s_way(self, project: Any, adapter: Any) -> None:
        """dbt's own test, which comes first, has made the function."""
        with adapter.connection_named("models"):
            assert adapter.get_relation(None, project.test_schema, "price_for_xlarge") is None
            (found,) = adapter.list_relations_without_caching(
                adapter.Relation.create(schema=project.test_schema)
            )
            adapter.drop_relation(found)
            assert adapter.list_relations_without_caching(found.without_identifier()) == []


FOLDED = """
functions:
  - name: sum_squared
    arguments:
      - {name: value, data_type: array<double>}
    returns: {data_type: double}
  - name: summed
    config: {type: aggregate}
    arguments:
      - {name: value, data_type: double}
    returns: {data_type: double}
  - name: in_python
    config: {entry_point: in_python, runtime_version: "3.11"}
    arguments:
      - {name: value, data_type: double}
    returns: {data_type: double}
  - name: granted
    config: {grants: {select: [someone]}}
    arguments:
      - {name: value, data_type: double}
    returns: {data_type: double}
"""


class TestWhatSparkHasNoFunctionsFor:
    @pytest.fixture(scope="class")
    def functions(self) -> dict[str, str]:
        return {
            "functions.yml": FOLDED,
            "sum_squared.sql": "power(aggregate(value, 0D, (total, item) -> total + item), 2)",
            "summed.sql": "sum(value)",
            "in_python.py": "def in_python(value):\n    return value\n",
            "granted.sql": "value",
        }

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"values.sql": "select explode(array(1D, 2D, 3D)) as value"}

    def test_the_messages_say_what_to_use(self, project: Any) -> None:
        results = run_dbt(["build"], expect_pass=False).results
        reported = {result.node.name: " ".join(result.message.split()) for result in results}
        assert "Let it take an array" in reported["summed"]
        assert "call it as summed(collect_list(value))" in reported["summed"]
        assert (
            "found in_python in python, which Spark does not keep in the metastore" in reported["in_python"]
        )
        assert "Spark cannot grant rights" in reported["granted"]
        inline = "select {{ function('sum_squared') }}(collect_list(value)) from {{ ref('values') }}"
        shown = run_dbt(["show", "--inline", inline])
        assert shown.results[0].agate_table.rows[0].values()[0] == 36.0
        kept = project.run_sql(f"show user functions in {project.test_schema}", fetch="all")
        assert [row[0].rpartition(".")[2] for row in kept] == ["sum_squared"]


@pytest.mark.slow
class TestPythonUdfRuntimeVersionRequired(test_udfs.PythonUDFRuntimeVersionRequired):
    pass


@pytest.mark.slow
class TestPythonUdfEntryPointRequired(test_udfs.PythonUDFEntryPointRequired):
    pass


@pytest.mark.slow
class TestSqlUdfDefaultArgument(Udf):
    @pytest.fixture(scope="class")
    def functions(self) -> dict[str, str]:
        return {
            "price_for_xlarge.sql": files.MY_UDF_SQL,
            "price_for_xlarge.yml": files.MY_UDF_WITH_DEFAULT_ARG_YML,
        }

    def test_udfs(self, project: Any, sql_event_catcher: Any) -> None:
        run_dbt(["build", "--debug"], callbacks=[sql_event_catcher.catch])
        assert "default 100" in sql_event_catcher.caught_events[0].data.sql
        shown = run_dbt(["show", "--inline", "select {{ function('price_for_xlarge') }}()"])
        assert shown.results[0].agate_table.rows[0].values()[0] == 200
