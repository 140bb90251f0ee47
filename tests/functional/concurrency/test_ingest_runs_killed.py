"""`dbt run` of an ingest killed at every step of its commit, and two at once: each record is there once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from functional.concurrency.conftest import DbtProject
from functional.concurrency.landed_events import LandedEvents

STEPS = ("staged", "manifest written", "claimed", "side data published", "swapped", "settled")


@pytest.mark.slow
def test_each_record_once_after_kills_at_every_step_and_two_runs_at_once(
    dbt_project: Callable[[str], DbtProject],
) -> None:
    project = dbt_project("killed_ingest")
    events = LandedEvents(project, "max_files=2")
    for number, step in enumerate(STEPS, 1):
        events.land(number)
        project.run_killed("run", at=step)
    events.land(7, 8, 9)
    with project.two_at_once() as both:
        both("run")
    for _ in range(4):  # two files a run
        output = project.run("run")
        if "nothing to write" in output:
            break
    assert "nothing to write" in output
    assert events.dumped() == events.expected(range(1, 10))
