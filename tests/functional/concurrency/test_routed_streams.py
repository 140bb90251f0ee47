"""`lakemerge stream` of an ingest with routes: each batch is one commit of all tables, and each record counts once."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest

from functional.concurrency.conftest import DbtProject
from functional.concurrency.routed_events import RoutedEvents
from functional.concurrency.stream_process import batch, streaming


@pytest.mark.slow
def test_each_record_counts_once_in_its_table_through_a_kill(
    dbt_project: Callable[[str], DbtProject],
) -> None:
    project = dbt_project("streamed_routes")
    events = RoutedEvents(project, "max_files=1, trigger='processing_time', trigger_interval='1 second',")
    project.run("run")
    events.land(1)
    with streaming(project) as process:
        reported = batch(process)
        assert (reported["inserted"], reported["quarantined"]) == (6, 1)
        events.land(2)
        assert batch(process)["version"] == reported["version"] + 1
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=120)
        assert (process.returncode, output) == (0, ""), errors
    events.check()
    events.land(3)
    events.land(4)
    with streaming(project, dies_at="claimed") as process:
        errors = process.communicate(timeout=120)[1]
        assert process.returncode == -signal.SIGKILL, errors
    with streaming(project) as process:
        # the third file was read by the commit that this one finishes
        assert batch(process)["behind"] == {"files": 0, "bytes": 0}
    events.check()
