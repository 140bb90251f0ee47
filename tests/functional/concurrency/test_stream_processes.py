"""`lakemerge stream` in processes of its own, killed and told to stop: each record is there once."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Callable

import pytest

from functional.concurrency.conftest import DbtProject
from functional.concurrency.landed_events import LandedEvents
from functional.concurrency.stream_process import batch, streaming


@pytest.mark.slow
def test_each_record_once_through_kills_a_lost_target_folder_and_stops(
    dbt_project: Callable[[str], DbtProject],
) -> None:
    project = dbt_project("streamed")
    events = LandedEvents(project, "max_files=1, trigger='processing_time', trigger_interval='1 second'")
    events.land(1)
    with streaming(project) as process:
        reported = batch(process)
        assert (reported["version"], reported["inserted"], reported["quarantined"]) == (1, 4, 2)
        assert reported["behind"] == {"files": 0, "bytes": 0}
        # visible while the process goes on; it is killed when it has nothing to do
        assert events.dumped() == events.expected([1])
        events.land(2)
        assert batch(process)["version"] == 2
    # all that a run could remember outside of the table is gone
    shutil.rmtree(project.root / "target1")
    events.land(*range(3, 9))
    for step in ("staged", "claimed", "swapped"):
        with streaming(project, dies_at=step) as process:
            errors = process.communicate(timeout=120)[1]
            assert process.returncode == -signal.SIGKILL, f"did not die at {step}:\n{errors}"
    with streaming(project) as process:
        reported = batch(process)
        assert 0 < reported["behind"]["files"] < 6
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        assert "Stopped after" in errors
        assert "Traceback" not in errors
        stopped_at = [json.loads(line)["version"] for line in output.splitlines()] or [reported["version"]]
    rows, quarantine = events.dumped()
    assert (len(rows), len(quarantine)) == (4 * stopped_at[-1], 2 * stopped_at[-1])
    with streaming(project) as process:
        while batch(process)["behind"]["files"]:
            pass
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 0
    assert events.dumped() == events.expected(range(1, 9))
