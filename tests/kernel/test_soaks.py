"""Short runs of the soaks, so that each still runs, and finds what it would find within a minute or two."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bounded import killed_after

_TESTS = Path(__file__).parent.parent
_MOST_SECONDS = 1400.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "options"),
    [
        ("kernel.soak_ingest", ("--commits", "80", "--kills", "3")),
        ("kernel.soak_transfers", ("--minutes", "1")),
        ("functional.concurrency.soak_tables", ("--minutes", "1")),
    ],
)
def test_a_soak_ends_with_its_figures(module: str, options: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", module, *options]
    process = subprocess.Popen(
        command, cwd=_TESTS, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    with process, killed_after(process, _MOST_SECONDS):
        printed, _ = process.communicate()
    assert process.returncode == 0, printed[-8000:]
