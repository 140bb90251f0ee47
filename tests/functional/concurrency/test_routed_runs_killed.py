"""`dbt run` of an ingest with routes killed at every step of its commit: each record counts once in its table."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from functional.concurrency.conftest import DbtProject
from functional.concurrency.routed_events import RoutedEvents

#: The steps of a commit over several tables after which a run is killed; those of which each table has one.
STEPS = (
    "staged",
    "manifest written",
    "table claimed",
    "claimed",
    "side data published",
    "swapped",
    "settled",
)


@pytest.mark.slow
def test_a_run_that_is_killed_with_one_table_claimed_and_one_after_the_decision(
    dbt_project: Callable[[str], DbtProject],
) -> None:
    project = dbt_project("killed_routes")
    events = RoutedEvents(project)
    project.run("run")
    for number, step in enumerate(("table claimed", "claimed"), 1):
        events.land(number)
        project.run_killed("run", "--select", "events", at=step)
    project.run("run")
    events.check()


@pytest.mark.slow
def test_each_record_counts_once_after_kills_at_every_step(dbt_project: Callable[[str], DbtProject]) -> None:
    project = dbt_project("killed_routes_everywhere")
    events = RoutedEvents(project)
    project.run("run")
    for number, step in enumerate(STEPS, 1):
        events.land(number)
        project.run_killed("run", "--select", "events", at=step)
    for _ in range(2):
        output = project.run("run", "--select", "events")
    assert "nothing to write" in output
    events.check()
