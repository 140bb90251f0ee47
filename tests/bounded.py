"""A limit for the processes that tests wait for: one that hangs fails its test, and does not hold up all others."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: More than any command of the tests takes on a machine with other work.
MOST_SECONDS = 400.0


@contextmanager
def killed_after(process: subprocess.Popen[Any], seconds: float = MOST_SECONDS) -> Iterator[None]:
    """Kill a process that is still waited for after this time: who reads its output then meets the end of it."""
    timer = threading.Timer(seconds, process.kill)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def next_line(process: subprocess.Popen[str], seconds: float = MOST_SECONDS) -> str:
    """The next line that a process prints; empty if it prints none in this time."""
    assert process.stdout is not None
    with killed_after(process, seconds):
        return process.stdout.readline()
