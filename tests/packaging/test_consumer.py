"""A project with no macros of its own, run with the adapter from the wheel."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from environments import REPOSITORY, Consumer, Environment, make_consumer, run

from render_macros import Macros

PACKAGES = ("lakemerge", "dbt.adapters.lakemerge", "dbt.include.lakemerge")


@pytest.fixture
def consumer(wheel_environment: Environment, tmp_path: Path) -> Consumer:
    return make_consumer(wheel_environment, tmp_path / "consumer")


@pytest.mark.parametrize("package", PACKAGES)
def test_the_package_comes_from_the_wheel(wheel_environment: Environment, package: str) -> None:
    found = wheel_environment.run_python(f"import {package} as package; print(package.__file__)")
    assert Path(found.strip()).is_relative_to(wheel_environment.packages)


def test_dbt_finds_every_macro(consumer: Consumer) -> None:
    consumer.dbt("--warn-error", "parse")
    manifest = json.loads((consumer.folder / "target" / "manifest.json").read_text())
    found = {
        macro["name"] for macro in manifest["macros"].values() if macro["package_name"] == "dbt_lakemerge"
    }
    assert found == set(Macros(REPOSITORY / "macros").own)


def test_an_incremental_model_is_merged(consumer: Consumer) -> None:
    for day in (1, 2):
        consumer.dbt("build", "--vars", f"day: {day}")
    results = json.loads((consumer.folder / "target" / "run_results.json").read_text())["results"]
    assert {result["status"] for result in results} == {"success", "pass"}


def test_the_wheel_has_the_command_line(wheel_environment: Environment) -> None:
    command = wheel_environment.folder / "bin" / "lakemerge"
    assert "--select" in run([command, "stream", "--help"], cwd=wheel_environment.folder)
    assert "version" in run([command, "--version"], cwd=wheel_environment.folder)


def test_a_package_without_macros_says_so(wheel_environment: Environment) -> None:
    macros = wheel_environment.packages / "dbt" / "include" / "lakemerge" / "macros"
    hidden = macros.with_name("hidden")
    macros.rename(hidden)
    try:
        with pytest.raises(AssertionError, match="ImportError: expected a folder of macros at"):
            wheel_environment.run_python("import dbt.include.lakemerge")
    finally:
        hidden.rename(macros)
