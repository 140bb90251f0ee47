"""A project with no macros of its own, run with the adapter from the wheel."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from environments import REPOSITORY, Consumer, Environment, make_consumer, run, take_first_steps

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


@pytest.mark.slow
def test_an_incremental_model_is_merged_with_the_least_profile_from_any_folder(consumer: Consumer) -> None:
    consumer.dbt("debug")
    assert not {"metastore_db", "spark-warehouse"} & {path.name for path in consumer.folder.iterdir()}
    consumer.dbt("build", "--vars", "day: 1")
    folders = ("--project-dir", consumer.folder, "--profiles-dir", consumer.folder)
    consumer.dbt("build", "--vars", "day: 2", *folders, cwd=consumer.folder.parent)
    results = json.loads((consumer.folder / "target" / "run_results.json").read_text())["results"]
    assert {result["status"] for result in results} == {"success", "pass"}
    # Spark's own names, in the project's folder: by the second build from another one, too
    assert (consumer.folder / "metastore_db").is_dir()
    assert (consumer.folder / "spark-warehouse" / "consumer.db").is_dir()
    assert not (consumer.folder.parent / "metastore_db").exists()


@pytest.mark.slow
def test_the_project_to_begin_with_is_built_and_takes_changes_in(
    wheel_environment: Environment, tmp_path: Path
) -> None:
    steps = take_first_steps(wheel_environment, tmp_path / "a shop")
    assert steps["left by debug"] == [], "what was not there before `dbt debug`, dbt's own files left out"
    assert steps["first"] == {"inserted": 4, "updated": 0, "deleted": 0}
    assert steps["second"] == {"inserted": 0, "updated": 1, "deleted": 0}
    assert steps["versions of P1"] == [["89.00", True], ["95.00", False]]


def test_dbt_init_asks_for_a_profile_of_this_type(wheel_environment: Environment, tmp_path: Path) -> None:
    # dbt lists the adapters that lie beside its own package, which here is in the environment of the tests
    chosen = "from dbt.task.init import InitTask; InitTask.ask_for_adapter_choice = lambda self: 'lakemerge'"
    dbt = f"{chosen}; from dbt.cli.main import cli; cli()"
    answers = "sales\n1\ntables\n3\n"
    run(
        [wheel_environment.python, "-c", dbt, "init", "shop", "--profiles-dir", tmp_path],
        cwd=tmp_path,
        typed=answers,
    )
    profiles = yaml.safe_load((tmp_path / "profiles.yml").read_text())
    assert profiles["shop"]["outputs"]["dev"] == {
        "type": "lakemerge",
        "schema": "sales",
        "metastore": "embedded",
        "warehouse": "tables",
        "threads": 3,
    }


def test_the_wheel_has_the_command_line(wheel_environment: Environment) -> None:
    command = wheel_environment.folder / "bin" / "lakemerge"
    assert "--select" in run([command, "stream", "--help"], cwd=wheel_environment.folder)
    assert "version" in run([command, "--version"], cwd=wheel_environment.folder)


def test_a_package_without_macros_says_so(wheel_environment: Environment) -> None:
    macros = wheel_environment.packages / "lakemerge" / "dbt_package" / "lakemerge" / "macros"
    hidden = macros.with_name("hidden")
    macros.rename(hidden)
    try:
        with pytest.raises(AssertionError, match="ImportError: Expected a folder of macros at"):
            wheel_environment.run_python("import dbt.include.lakemerge")
    finally:
        hidden.rename(macros)
