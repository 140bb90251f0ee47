"""`dbt debug` where the metastore is a server, and nothing has been built yet."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from bounded import MOST_SECONDS


@pytest.mark.slow
@pytest.mark.parametrize("named", [True, False], ids=["named", "sparks own"])
def test_no_warehouse_is_left_behind(dbt_project: Callable[[str], Any], named: bool) -> None:
    project = dbt_project(f"debugged_{named}".lower())
    if not named:
        profile = json.loads((project.root / "profiles.yml").read_text())
        del profile[project.name]["outputs"]["dev"]["warehouse"]
        project.write("profiles.yml", json.dumps(profile))
    before = set(project.root.iterdir())
    command = [sys.executable, "-c", "from dbt.cli.main import cli; cli()", "debug", "--profiles-dir", "."]
    done = subprocess.run(
        command, check=False, cwd=project.root, capture_output=True, text=True, timeout=MOST_SECONDS
    )
    assert "warehouse: [OK]" in done.stdout
    of_dbt = {project.root / name for name in ("logs", "target", ".user.yml")}
    assert set(project.root.iterdir()) - before <= of_dbt
