"""The official suites run with Spark's interpreter instead of compiled queries.

They look at what dbt does, on tables of a few rows: compiling each query takes more than running it.
The tests of merge, readers and commits have Spark as it is.
"""

from __future__ import annotations

from typing import Any

import pytest

INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


@pytest.fixture(scope="class")
def dbt_profile_target(dbt_profile_target: dict[str, Any]) -> dict[str, Any]:
    """The target of the functional tests, with these settings besides."""
    settings = {**dbt_profile_target["server_side_parameters"], **INTERPRETED}
    return {**dbt_profile_target, "server_side_parameters": settings}
