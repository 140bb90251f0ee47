"""How long a run may have partitions, by the clock that the kernel is given."""

from __future__ import annotations

import datetime

from kernel.consuming import consumer_of
from kernel.support import create_appendable
from lakemerge.consumer import Options
from lakemerge.consumer.working_set import AVAILABLE, IN_PROGRESS
from lakemerge.kernel import Kernel, TableName
from lakemerge.testing import World

SOURCE, OUTPUT = TableName("s", "raw"), TableName("s", "clean")


def test_a_run_that_takes_longer_than_the_timeout_loses_its_partitions() -> None:
    world = World()
    kernel = Kernel(world.process())
    create_appendable(kernel, SOURCE, {"p=1": ["a"]})
    consumer = consumer_of(kernel, SOURCE, OUTPUT, Options(timeout=datetime.timedelta(hours=12)))
    consumer.claim()
    world.timeline.pass_by(11 * 3600)
    assert [row.state for row in consumer.refresh()] == [IN_PROGRESS]
    world.timeline.pass_by(2 * 3600)
    (row,) = consumer.refresh()
    assert (row.state, row.failures) == (AVAILABLE, 1)
    assert row.changed_at.startswith("2024-01-01T13:")
