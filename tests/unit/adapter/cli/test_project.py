"""A dbt project read by the command line; dbt itself parses it, and no session is started."""

from __future__ import annotations

from pathlib import Path

import pytest
from dbt.adapters.lakemerge import connections
from dbt.adapters.lakemerge.cli.project import DbtFailed, Project

from lakemerge.errors import InvalidConfig

PROFILE = "shop: {target: dev, outputs: {dev: {type: lakemerge, schema: shop, warehouse: %s, metastore: embedded}}}\n"
INGEST = "{{ config(materialized='ingest', landing='/in') }}"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "models").mkdir()
    (tmp_path / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    (tmp_path / "profiles.yml").write_text(PROFILE % (tmp_path / "warehouse"))
    (tmp_path / "models" / "alerts.sql").write_text(INGEST)
    (tmp_path / "models" / "orders.sql").write_text(INGEST)
    (tmp_path / "models" / "master.sql").write_text("select 1 as id")
    return tmp_path


def project(root: Path) -> Project:
    folders = ["--project-dir", str(root), "--profiles-dir", str(root)]
    return Project([*folders, "--target-path", str(root / "target"), "--log-path", str(root / "logs")])


def test_models_by_dbts_selection(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = project(root).models(["alerts", "+master"])
    assert found == {"model.shop.alerts": "ingest", "model.shop.master": "view"}
    assert set(project(root).models(["config.materialized:ingest"])) == {
        "model.shop.alerts",
        "model.shop.orders",
    }
    assert project(root).models(["none"]) == {}
    assert capsys.readouterr().out == ""
    assert not (root / "warehouse").exists()


def test_what_dbt_says_is_not_lost(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "models" / "master.sql").write_text("select * from {{ ref('nowhere') }}")
    with pytest.raises(DbtFailed, match="nowhere") as raised:
        project(root).models(["alerts"])
    assert "\n" not in str(raised.value)
    assert capsys.readouterr() == ("", "")


def test_why_a_model_failed_is_told_once_and_in_one_line(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise InvalidConfig(expected="this", found="that,\non two lines", action="Correct it.")

    monkeypatch.setattr(connections, "application", refuse)
    with pytest.raises(DbtFailed) as raised:
        project(root).run(["alerts"], 1)
    assert str(raised.value).count("Expected this; found that, on two lines. Correct it") == 1
    assert "\n" not in str(raised.value)
    assert capsys.readouterr() == ("", "")
