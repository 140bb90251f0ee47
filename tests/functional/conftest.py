"""Fixtures of the functional tests: dbt's own, on one Spark application a process.

The metastore is Derby in memory. ``project`` (from dbt-tests-adapter) makes a dbt project and a schema
for each test class.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

# A conftest.py below the root may not name plugins, so dbt's fixtures are imported.
from dbt.tests.fixtures.project import *  # noqa: F403
from dbt_common.behavior_flags import BehaviorFlagRendered
from pyspark.sql import SparkSession

from jinja_once import parse_once
from lakemerge.engine.spark.session import Application
from small_spark import INTERPRETED, JAVA_OPTIONS, SMALL_SPARK

# Of some hundred thousand objects that dbt makes in a run, most live to its end: a collector that comes as often as by
# default looks at them again and again.
gc.set_threshold(100_000, 50, 50)


def _owner_of_flags() -> str:
    return "dbt.adapters.base.impl"


# dbt looks through all frames of the stack, with their sources, for the module that a flag of its own comes from: below
# pytest, a fifth of the time of a short run.
BehaviorFlagRendered._default_source = staticmethod(_owner_of_flags)  # type: ignore[method-assign]

# Two thirds of the time in which dbt reads a project.
parse_once()

SPARK_SETTINGS = {
    **SMALL_SPARK,
    # This one lives for minutes: what is called a few dozen times pays for its compilation. A fourteenth of its time.
    "spark.driver.extraJavaOptions": f"{JAVA_OPTIONS} -XX:CompileThresholdScaling=0.2",
    "spark.master": "local[2]",
    "spark.default.parallelism": "2",
    "spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:derby:memory:lakemerge;create=true",
}


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The warehouse of this process: Spark has one for its whole life."""
    return tmp_path_factory.mktemp("warehouse")


@pytest.fixture(scope="class")
def compiles(request: pytest.FixtureRequest) -> bool:
    """Whether Spark compiles queries, as it does for users. For a few rows, that takes longer than running them."""
    return bool(request.config.getoption("--compiled"))


@pytest.fixture(scope="class", autouse=True)
def sessions(compiles: bool) -> Iterator[None]:
    """Have the sessions of connections interpret queries, unless Spark is to compile them.

    Not by the profile: what the process's first class has there is what all sessions begin with.
    """
    if compiles:
        yield
        return
    make = Application.new_session

    def interpreting(application: Application, settings: Mapping[str, str]) -> SparkSession:
        return make(application, {**INTERPRETED, **settings})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Application, "new_session", interpreting)
        yield


@pytest.fixture(scope="class")  # type: ignore[no-redef]
def dbt_profile_target(warehouse: Path) -> dict[str, Any]:
    """The target of the profile that dbt's fixtures write; they add the schema."""
    return {
        "type": "lakemerge",
        "threads": 4,
        "warehouse": str(warehouse),
        "metastore": "embedded",
        "server_side_parameters": dict(SPARK_SETTINGS),
    }


@pytest.fixture(scope="class")  # type: ignore[no-redef]
def profile_user() -> str:
    """The owner that Spark gives to tables and views."""
    import getpass

    return getpass.getuser()


@pytest.fixture(scope="class")  # type: ignore[no-redef]
def logs_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """dbt's logs, outside of the repository."""
    folder = str(tmp_path_factory.mktemp("logs"))
    os.environ["DBT_LOG_PATH"] = folder
    yield folder
    del os.environ["DBT_LOG_PATH"]


@pytest.fixture(scope="class")
def writes_artifacts() -> bool:
    """Whether dbt writes its artifacts, manifest.json above all: a quarter of its own time, and few tests read them."""
    return False


@pytest.fixture(scope="class", autouse=True)
def artifacts(writes_artifacts: bool) -> Iterator[None]:
    """dbt's own switch for its artifacts, set as `writes_artifacts` says."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DBT_WRITE_JSON", str(writes_artifacts).lower())
        yield
