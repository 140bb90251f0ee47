"""The workflows of the repository's host run what the Makefile has, on the versions that the package declares."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def jobs_of(path: Path) -> dict[str, Any]:
    jobs: dict[str, Any] = yaml.safe_load(path.read_text())["jobs"]
    assert jobs
    return jobs


def commands_of(path: Path) -> str:
    return "\n".join(step.get("run", "") for job in jobs_of(path).values() for step in job["steps"])


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_what_a_workflow_runs_is_there(path: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    commands = commands_of(path)
    assert set(re.findall(r"\bmake ([a-z-]+)", commands)) <= targets
    scripts = re.findall(r"\bscripts/[\w./]+", commands)
    assert [script for script in scripts if not (ROOT / script).is_file()] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_job_may_write_nothing_that_it_need_not(path: Path) -> None:
    assert yaml.safe_load(path.read_text())["permissions"] == {"contents": "read"}


def test_tests_run_on_the_oldest_and_the_newest_python() -> None:
    declared = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    matrix = jobs_of(ROOT / ".github" / "workflows" / "ci.yml")["test"]["strategy"]["matrix"]["include"]
    tested = {row["python"] for row in matrix}
    assert {declared[0], declared[-1]} <= tested <= set(declared)
