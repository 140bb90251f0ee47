"""Waits for other writers that last for hours."""

from __future__ import annotations

import pytest

from kernel.support import Died, create, merge
from lakemerge.errors import ClaimHeld
from lakemerge.kernel import Kernel, Settings, TableName
from lakemerge.testing import World

NAME = TableName("s", "t")


def test_a_wait_of_an_hour_ends_as_a_short_one(world: World) -> None:
    """After some minutes it has looked a thousand times."""

    def die(step: str) -> None:
        if step == "claimed":
            raise Died

    create(Kernel(world.process()), NAME, {"p=1": ["old"]})
    holder = Kernel(world.process(), Settings(lease_seconds=100_000), step=die)
    with pytest.raises(Died):
        merge(holder, NAME, {"p=1": ["claimed"]})
    waiting = Kernel(world.process(), Settings(claim_timeout=3600))
    began = world.timeline.seconds
    with pytest.raises(ClaimHeld):
        merge(waiting, NAME, {"p=1": ["new"]})
    assert world.timeline.seconds - began >= 3600
