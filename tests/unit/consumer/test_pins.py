"""How long a consumer keeps vacuum from versions that it has not read."""

from __future__ import annotations

import dataclasses
import datetime

import pytest

from kernel.consuming import consume
from kernel.support import NO_RETENTION, append, compact, create_appendable
from lakemerge.consumer import Options
from lakemerge.kernel import Kernel, Ports, TableName, vacuum
from lakemerge.testing import SimulatedClock, World

SOURCE, OUTPUT = TableName("s", "t"), TableName("s", "copy")


def with_clock_ahead(world: World, days: int) -> Ports:
    clock = SimulatedClock(world.timeline, datetime.timedelta(days=days))
    return dataclasses.replace(world.process(), clock=clock)


@pytest.mark.parametrize(("consumer", "vacuums"), [(0, 9), (-9, 0), (9, -9)])
def test_a_pin_lasts_whatever_the_clocks_of_those_who_set_it_and_who_vacuum(
    consumer: int, vacuums: int
) -> None:
    world = World()
    mine, other = (Kernel(with_clock_ahead(world, days)) for days in (consumer, vacuums))
    create_appendable(mine, SOURCE, {"p=1": ["a"]})
    consume(mine, SOURCE, OUTPUT, Options(pin=datetime.timedelta(days=7)))
    for text in "bc":
        append(mine, SOURCE, {"p=1": [text]})
    compact(mine, SOURCE)
    vacuum(other, SOURCE, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)
    assert consume(mine, SOURCE, OUTPUT) == ["p=1/_commit=2", "p=1/_commit=3"]
