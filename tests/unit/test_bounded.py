"""A process that says nothing is killed, and who waits for it goes on."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from bounded import killed_after, next_line

SILENT = "import time; print('first', flush=True); time.sleep(600)"


@pytest.mark.parametrize("reads", ["line", "all"])
def test_a_silent_process_is_killed(reads: str) -> None:
    start = time.monotonic()
    process = subprocess.Popen([sys.executable, "-c", SILENT], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process:
        assert next_line(process, 60) == "first\n"
        if reads == "line":
            assert next_line(process, 0.5) == ""
        else:
            with killed_after(process, 0.5):
                assert process.stdout.read() == ""
    assert process.returncode == -signal.SIGKILL
    assert time.monotonic() - start < 60
