"""How long a consumer keeps vacuum from versions that it has not read."""

from __future__ import annotations

import dataclasses
import datetime

import pytest

from kernel.consuming import consume
from kernel.support import NO_RETENTION, append, compact, create_appendable
from lakemerge.consumer import Options
from lakemerge.kernel import Kernel, Pin, Ports, TableName, set_pin, vacuum
from lakemerge.kernel.maintenance.pins import pins
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


@pytest.mark.parametrize(("known", "expected"), [(None, 5), ("3", 3), ("7", 5), ("being rewritten", 0)])
def test_a_run_that_begins_moves_no_pin_forward(known: str | None, expected: int) -> None:
    """What a pin needs that cannot be read is not known, so all is kept."""
    kernel = Kernel(World().process())
    create_appendable(kernel, SOURCE, {"p=1": ["a"]})
    layout, pin = kernel.open(SOURCE).layout, Pin("c of s.copy", 5, "2030-01-01T00:00:00+00:00")
    set_pin(kernel.files, layout, pin)
    (entry,) = kernel.files.list(layout.pins)
    if known is None:
        kernel.files.delete(entry.path)
    else:
        text = kernel.files.read_text(entry.path)
        kernel.files.write_text(entry.path, text.replace("5", known, 1) if known.isdigit() else known)
    set_pin(kernel.files, layout, pin, unless_older=True)
    assert [one.version for one in pins(kernel.files, layout)] == [expected]
