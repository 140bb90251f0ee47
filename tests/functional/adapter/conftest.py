"""The official suites run with Spark's interpreter instead of compiled queries.

They look at what dbt does, on tables of a few rows: compiling each query takes more than running it.
The tests of merge, readers and commits have Spark as it is.

With ``--adapter spark`` they run on dbt-spark, for figures to compare with.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from dbt.adapters.lakemerge.credentials import LakemergeCredentials
from dbt.adapters.lakemerge.spark.configuration import Configuration, session_settings
from pyspark.sql import SparkSession

from lakemerge.java import ensure_java

INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


@pytest.fixture(scope="session")
def runs_dbt_spark(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--adapter") == "spark")


@pytest.fixture(scope="class")
def dbt_profile_target(dbt_profile_target: dict[str, Any], runs_dbt_spark: bool) -> dict[str, Any]:
    """The target of the functional tests, with these settings besides."""
    settings = {**dbt_profile_target["server_side_parameters"], **INTERPRETED}
    target = {**dbt_profile_target, "server_side_parameters": settings}
    return in_dbt_spark(target) if runs_dbt_spark else target


def in_dbt_spark(target: dict[str, Any]) -> dict[str, Any]:
    """The same Spark as a target of dbt-spark, with all that lakemerge sets by itself."""
    ensure_java()
    fields = {name: value for name, value in target.items() if name not in ("type", "threads")}
    credentials = LakemergeCredentials(schema="any", **fields)
    return {
        "type": "spark",
        "method": "session",
        "host": "localhost",
        "threads": target["threads"],
        "server_side_parameters": {
            **Configuration.of(credentials).application,
            **session_settings(credentials),
        },
    }


@pytest.fixture(scope="class")
def dbt_project_yml(
    dbt_project_yml: dict[str, Any], project_root: Any, runs_dbt_spark: bool
) -> dict[str, Any]:
    """The project's file; dbt-spark makes ORC tables if it is told so, where lakemerge makes them by default."""
    if runs_dbt_spark:
        for resources in ("models", "seeds", "snapshots"):
            dbt_project_yml.setdefault(resources, {}).setdefault("+file_format", "orc")
        Path(project_root, "dbt_project.yml").write_text(yaml.safe_dump(dbt_project_yml))
    return dbt_project_yml


@pytest.fixture(scope="class", autouse=True)
def session_of_its_own(runs_dbt_spark: bool) -> Iterator[None]:
    """Temporary views go with the class that made them: dbt-spark has one session a process, which is not left."""
    yield
    session = SparkSession.getActiveSession() if runs_dbt_spark else None
    if session is not None:
        for view in session.sql("show views").collect():
            if view.isTemporary:
                session.catalog.dropTempView(view.viewName)
