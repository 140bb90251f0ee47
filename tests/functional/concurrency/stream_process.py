"""`lakemerge stream` in a process of its own, and the batches that it tells of."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bounded import next_line
from functional.concurrency.conftest import DbtProject


@contextmanager
def streaming(project: DbtProject, *, dies_at: str = "none") -> Iterator[subprocess.Popen[str]]:
    """The command on the model of landed events; killed at the end, if it has not ended."""
    arguments = ("--select", "events", "--log-format", "json")
    process = project.start_stream(*arguments, dies_at=dies_at)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def batch(process: subprocess.Popen[str]) -> dict[str, Any]:
    """The next batch that the process tells of."""
    assert process.stderr is not None
    line = next_line(process)
    assert line.startswith("{"), line or process.stderr.read()
    reported: dict[str, Any] = json.loads(line)
    return reported
