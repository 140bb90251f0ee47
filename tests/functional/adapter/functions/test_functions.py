"""dbt's suite "functions", as far as Spark has SQL functions; the words are Spark's."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.functions import files, test_udfs
from dbt.tests.util import run_dbt
from dbt_common.events.base_types import EventMsg


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


@pytest.mark.slow
class TestPythonUdfNotSupported(test_udfs.PythonUDFNotSupported):
    pass


@pytest.mark.slow
class TestPythonUdfRuntimeVersionRequired(test_udfs.PythonUDFRuntimeVersionRequired):
    pass


@pytest.mark.slow
class TestPythonUdfEntryPointRequired(test_udfs.PythonUDFEntryPointRequired):
    pass


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
