from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from dbt.adapters.lakemerge.cli import cli
from dbt.adapters.lakemerge.credentials import LakemergeCredentials
from dbt.cli.main import dbtRunner
from dbt.include.lakemerge import PACKAGE_PATH
from dbt.task import init as dbt_init


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def made(name: str) -> Result:
    return CliRunner().invoke(cli, ["init", name])


def test_the_project_has_its_name_everywhere_and_is_read_without_java(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = made("shop")
    assert result.exit_code == 0, result.output
    assert "cd shop" in result.output
    texts = {path.name: path.read_text() for path in (here / "shop").rglob("*") if path.is_file()}
    assert not [name for name, text in texts.items() if "starter" in text]
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    monkeypatch.setenv("PATH", "")
    arguments = ["ls", "--project-dir", "shop", "--profiles-dir", "shop", "--log-level", "none"]
    listed = dbtRunner().invoke(arguments)
    assert listed.success, listed.exception
    assert {"shop.products", "shop.product_changes"} <= set(listed.result)  # type: ignore[arg-type]


def test_a_folder_that_exists_is_left_alone(here: Path) -> None:
    (here / "shop").mkdir()
    result = made("shop")
    assert result.exit_code == 1
    assert "Expected a new folder" in result.stderr
    assert not list((here / "shop").iterdir())


@pytest.mark.parametrize("name", ["my-shop", "2shops", "dbt_shop", "shop/x", "..", "Sh op"])
def test_a_name_that_dbt_or_hive_refuse_is_refused(here: Path, name: str) -> None:
    result = made(name)
    assert result.exit_code == 1
    assert repr(name) in result.stderr
    assert not list(here.iterdir())


TEMPLATE = yaml.safe_load((Path(PACKAGE_PATH) / "profile_template.yml").read_text())


@pytest.mark.parametrize("choice", range(1, 1 + len(TEMPLATE["prompts"]["_choose_metastore"])))
def test_each_answer_to_dbt_init_gives_a_profile(choice: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(text: str, default: Any = None, **_: Any) -> Any:
        if "enter a number" in text:
            return choice
        return "thrift://metastore:9083" if text.startswith("metastore") else default or "shop"

    monkeypatch.setattr(dbt_init.click, "prompt", answer)
    task = dbt_init.InitTask(args=None)  # type: ignore[arg-type]
    target = task.generate_target_from_input(TEMPLATE["prompts"], dict(TEMPLATE["fixed"]))
    assert target.pop("type") == "lakemerge"
    assert target.pop("threads") == 2
    credentials = LakemergeCredentials(**target)
    assert credentials.metastore in ("embedded", "thrift://metastore:9083", None)
