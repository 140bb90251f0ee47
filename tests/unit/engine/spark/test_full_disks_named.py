from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from lakemerge.engine.spark.configuration import Configuration
from lakemerge.engine.spark.full_disks import local_folders, with_full_disks


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
    assert with_full_disks(text, []) == text


@pytest.mark.parametrize(
    ("text", "free", "named"),
    [
        ("Refused: … found MetaException: … a user in a read-only database is not permitted …", 0, True),
        ("HiveException: … It is not permitted to disable read-only mode on a connection.", 0, True),
        ("javax.jdo.JDODataStoreException: …", 0, True),
        ("javax.jdo.JDODataStoreException: …", 2**30, False),
        ("NullKey: …", 0, False),
    ],
)
def test_whatever_an_embedded_metastore_says_its_full_disk_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, free: int, named: bool
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=free))
    found = with_full_disks(text, [tmp_path / "warehouse"], tmp_path / "db")
    assert found == (f"{text}\nThere is no space left for {tmp_path}/db. Free some first." if named else text)


def test_a_disk_without_inodes_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_files=10, f_favail=0))
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=2**30))
    assert f"no space left for {tmp_path}." in with_full_disks("No space left on device", [tmp_path])


def test_a_quota_may_be_of_each_folder(tmp_path: Path) -> None:
    found = with_full_disks("Disk quota exceeded", [tmp_path / "a", tmp_path / "b"])
    assert f"one of {tmp_path}/a, {tmp_path}/b." in found


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
