"""The official suites run with Spark's interpreter instead of compiled queries, in the slow ring too.

They look at what dbt does, on tables of a few rows.

With ``--adapter spark`` they run on dbt-spark, for figures to compare with; with ``--publish after_tests`` all nodes
wait for the end of their run.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from dbt.adapters.lakemerge.after_tests.hook import is_ours
from dbt.cli.main import dbtRunner
from pyspark.sql import SparkSession

from dbt_spark_target import in_dbt_spark
from small_spark import INTERPRETED


@pytest.fixture(scope="session")
def runs_dbt_spark(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--adapter") == "spark")


@pytest.fixture(scope="class")
def compiles() -> bool:
    return False


@pytest.fixture(scope="class")
def dbt_profile_target(dbt_profile_target: dict[str, Any], runs_dbt_spark: bool) -> dict[str, Any]:
    """The target of the functional tests, for the adapter that is tested."""
    if not runs_dbt_spark:
        return dbt_profile_target
    settings = {**dbt_profile_target["server_side_parameters"], **INTERPRETED}
    return in_dbt_spark({**dbt_profile_target, "server_side_parameters": settings})


@pytest.fixture(scope="class")
def default_configs(request: pytest.FixtureRequest, runs_dbt_spark: bool) -> dict[str, str]:
    """What nodes are configured with; dbt-spark makes ORC tables if it is told so, lakemerge by default."""
    configs = {"+file_format": "orc"} if runs_dbt_spark else {}
    publish = request.config.getoption("--publish")
    return configs if publish == "at_once" else {**configs, "+publish": publish}


@pytest.fixture(scope="class")
def dbt_project_yml(
    dbt_project_yml: dict[str, Any], project_root: Any, default_configs: dict[str, str]
) -> dict[str, Any]:
    """The project's file, with these configs."""
    if default_configs:
        for resources in ("models", "seeds", "snapshots"):
            given = dbt_project_yml.setdefault(resources, {})
            dbt_project_yml[resources] = {**default_configs, **given}
        Path(project_root, "dbt_project.yml").write_text(yaml.safe_dump(dbt_project_yml))
    return dbt_project_yml


@pytest.fixture(scope="class", autouse=True)
def without_publishing_hook(request: pytest.FixtureRequest) -> Iterator[None]:
    """dbt counts the hook that publishes at the end among the results, and its suites count results."""
    invoke = dbtRunner.invoke

    def without_hook(runner: dbtRunner, *args: Any, **kwargs: Any) -> Any:
        answer: Any = invoke(runner, *args, **kwargs)
        if hasattr(answer.result, "results"):
            answer.result.results = [one for one in answer.result.results if not _publishes(one)]
        return answer

    with pytest.MonkeyPatch.context() as patch:
        if request.config.getoption("--publish") == "after_tests":
            patch.setattr(dbtRunner, "invoke", without_hook)
        yield


def _publishes(result: Any) -> bool:
    return is_ours(getattr(result, "node", None))


@pytest.fixture(scope="class", autouse=True)
def session_of_its_own(runs_dbt_spark: bool) -> Iterator[None]:
    """Temporary views go with the class that made them: dbt-spark has one session a process, which is not left."""
    yield
    session = SparkSession.getActiveSession() if runs_dbt_spark else None
    if session is not None:
        for view in session.sql("show views").collect():
            if view.isTemporary:
                session.catalog.dropTempView(view.viewName)
