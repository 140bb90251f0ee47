"""Some of dbt's official suites with everything published after its tests; `make conformance` runs all of them so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_TESTS = Path(__file__).parents[2]
#: What they test meets what is staged: tests that are stored, unit tests, descriptions, contracts.
_SUITES = ("store_failures", "unit_testing", "persist_docs", "constraints")
_MOST_SECONDS = 1500


@pytest.mark.slow
def test_suites_pass_with_all_nodes_published_after_their_tests() -> None:
    suites = [str(_TESTS / "functional" / "adapter" / suite) for suite in _SUITES]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--publish", "after_tests"]
    done = subprocess.run(
        [*command, *suites],
        cwd=_TESTS.parent,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        capture_output=True,
        text=True,
        timeout=_MOST_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
