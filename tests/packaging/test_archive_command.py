"""``lakemerge archive-classes``, and a dbt command that starts from what it has made."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from dbt.include.lakemerge import PACKAGE_PATH

from lakemerge.java import find_java

pytestmark = pytest.mark.slow
# An archive is made by building a project.
_MOST_SECONDS = 900


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """With a cache folder of its own, and without what the caller's has to say on Java's options."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("SPARK_SUBMIT_OPTS", "HADOOP_CONF_DIR")
    }
    return {**kept, "XDG_CACHE_HOME": str(tmp_path / "cache"), "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}


def run(command: list[str], folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=_MOST_SECONDS,
        check=False,
    )


def archive(environment: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    code = "from dbt.adapters.lakemerge.cli import cli; cli(['archive-classes'])"
    return run([sys.executable, "-c", code], folder, environment)


def test_java_starts_from_the_archive_that_was_made(environment: dict[str, str], tmp_path: Path) -> None:
    if not (find_java().home / "lib" / "server" / "classes.jsa").exists():
        pytest.skip("this Java has no archive of its own classes to begin with")
    made = archive(environment, tmp_path)
    assert made.returncode == 0, made.stderr
    (file,) = Path(environment["XDG_CACHE_HOME"], "lakemerge").glob("classes-*.jsa")
    assert str(file) in made.stdout
    project, log = tmp_path / "project", tmp_path / "classes.log"
    shutil.copytree(Path(PACKAGE_PATH) / "starter_project", project)
    told = {**environment, "SPARK_SUBMIT_OPTS": f"-Xlog:class+load:file={log}"}
    dbt = [sys.executable, "-m", "dbt.cli.main", "build", "--profiles-dir", "."]
    done = run(dbt, project, told)
    assert done.returncode == 0, done.stdout
    loaded = log.read_text().splitlines()
    shared = [line for line in loaded if "source: shared objects file (top)" in line]
    assert len(shared) > 5000
    assert any("org.apache.spark.sql" in line for line in shared)


def test_nothing_is_left_where_there_is_none_to_make(environment: dict[str, str], tmp_path: Path) -> None:
    (empty := tmp_path / "spark").mkdir()
    made = archive({**environment, "SPARK_HOME": str(empty)}, tmp_path)
    assert made.returncode == 1
    assert "ClassesNotArchived: Expected Java to write an archive of its classes" in made.stderr
    assert list(Path(environment["XDG_CACHE_HOME"], "lakemerge").iterdir()) == []
