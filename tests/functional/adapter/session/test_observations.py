"""Counts on the way, on every supported Spark."""

from __future__ import annotations

from typing import Any

import pytest

from lakemerge.engine.spark.observations import observe

METRICS = {"n": "count(*)", "ids": "collect_set(array(cast(id as string)))"}


@pytest.mark.parametrize(("rows", "where"), [(3, "true"), (3, "false"), (0, "true"), (0, "false")])
def test_all_rows_are_counted_though_an_action_needs_none(project: Any, rows: int, where: str) -> None:
    """Spark leaves out of the plan what it sees to be empty, with what counts it; 4.0 then never answers."""
    with project.adapter.connection_named("observations"):
        frame, observed = observe(project.adapter.handle.spark.range(rows), METRICS)
        frame.where(where).write.format("noop").mode("overwrite").save()
        counts = observed.get
    assert counts["n"] == rows
    assert sorted(counts["ids"]) == [[str(number)] for number in range(rows)]
