"""`make test-cluster` runs the tests of each part once, with the services that they need."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "test_cluster.sh"


def run(folder: Path, *parts: str) -> subprocess.CompletedProcess[str]:
    """Run the script beside installers that do nothing, with a pytest that prints its arguments."""
    shutil.copy(SCRIPT, folder)
    for installer in SCRIPT.parent.glob("install_*.sh"):
        (folder / installer.name).write_text("#!/bin/sh\n")
        (folder / installer.name).chmod(0o755)
    command = ["sh", str(folder / SCRIPT.name), *parts]
    environment = {"PATH": "/usr/bin:/bin", "PYTEST": "echo called with"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_each_part_is_one_call_with_tests_that_exist(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.returncode == 0, done.stderr
    parts = re.findall(r"^\[(.*)\] \d+ s$", done.stderr, re.MULTILINE)
    calls = done.stdout.splitlines()
    assert len(calls) == len(parts) > 5
    for call in calls:
        assert call.startswith("called with tests/")
        paths = re.findall(r"tests/\S+", call)
        assert [path for path in paths if not (ROOT / path).exists()] == []
    guide = (ROOT / "docs" / "guides" / "cluster.md").read_text()
    assert [part for part in parts if f"`{part}`" not in guide and f"={part}`" not in guide] == []


def test_an_unknown_part_is_refused(tmp_path: Path) -> None:
    done = run(tmp_path, "kernel-on-hdsf")
    assert done.returncode == 2
    assert "found kernel-on-hdsf" in done.stderr
