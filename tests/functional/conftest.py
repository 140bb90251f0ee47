"""Fixtures of the functional tests: dbt's own, on one Spark application a process.

The metastore is Derby in memory. ``project`` (from dbt-tests-adapter) makes a dbt project and a schema
for each test class.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# A conftest.py below the root may not name plugins, so dbt's fixtures are imported.
from dbt.tests.fixtures.project import *  # noqa: F403

# The first compiler only: nothing here runs long enough for the second to pay. With it alone Java keeps 48 MB
# for compiled code, and stops compiling when Spark's generated classes have filled that. And the collector without
# threads of its own, which would take the cores from the other test processes.
_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC"

SPARK_SETTINGS = {
    "spark.master": "local[2]",
    "spark.default.parallelism": "2",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.extraJavaOptions": _JAVA_OPTIONS,
    "spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:derby:memory:lakemerge;create=true",
}


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The warehouse of this process: Spark has one for its whole life."""
    return tmp_path_factory.mktemp("warehouse")


@pytest.fixture(scope="class")
def dbt_profile_target(warehouse: Path) -> dict[str, Any]:
    """The target of the profile that dbt's fixtures write; they add the schema."""
    return {
        "type": "lakemerge",
        "threads": 4,
        "warehouse": str(warehouse),
        "metastore": "embedded",
        "server_side_parameters": dict(SPARK_SETTINGS),
    }


@pytest.fixture(scope="class")
def profile_user() -> str:
    """The owner that Spark gives to tables and views."""
    import getpass

    return getpass.getuser()


@pytest.fixture(scope="class")
def logs_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """dbt's logs, outside of the repository."""
    folder = str(tmp_path_factory.mktemp("logs"))
    os.environ["DBT_LOG_PATH"] = folder
    yield folder
    del os.environ["DBT_LOG_PATH"]
