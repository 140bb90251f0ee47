"""A world in memory, and a kernel in it."""

from __future__ import annotations

import pytest

from lakemerge.kernel import Kernel
from lakemerge.testing import World


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def kernel(world: World) -> Kernel:
    return Kernel(world.process())
