from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from dbt.adapters.lakemerge.spark.configuration import Configuration
from dbt.adapters.lakemerge.spark.full_disks import local_folders, with_full_disks


def configuration(settings: dict[str, str], folder: Path) -> Configuration:
    return Configuration(settings, "", folder / "db" / "_metastore_db", folder / "warehouse")


def test_an_error_of_a_full_disk_names_the_folders_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = tmp_path / "full"
    full.mkdir()
    usage = shutil.disk_usage
    monkeypatch.setattr(
        shutil, "disk_usage", lambda path: SimpleNamespace(free=0) if Path(path) == full else usage(path)
    )
    text = "Caused by: java.io.IOException: No space left on device"
    found = with_full_disks(text, [tmp_path, full / "not" / "there", full])
    assert found.startswith(text)
    assert f"no space left for {full}/not/there, {full}." in found
    assert with_full_disks("something else", [full]) == "something else"
    assert with_full_disks(text, [tmp_path]) == text


def test_the_folders_that_spark_writes_to(tmp_path: Path) -> None:
    settings = {
        "spark.local.dir": "/a, /b",
        "spark.driver.extraJavaOptions": "-Xss16m -Djava.io.tmpdir=/tmp/java",
    }
    others = [tmp_path / "db", tmp_path / "warehouse"]
    found = local_folders(configuration(settings, tmp_path), {})
    assert found == [Path("/a"), Path("/b"), Path("/tmp/java"), *others]
    assert local_folders(configuration(settings, tmp_path), {"SPARK_LOCAL_DIRS": "/c"})[0] == Path("/c")
    assert local_folders(configuration({}, tmp_path), {}) == [Path("/tmp"), *others]
