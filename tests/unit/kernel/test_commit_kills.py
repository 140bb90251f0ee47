"""Every kind of commit and operation whose process dies, after each of its writes, in memory.

`tests/kernel/test_crash.py` kills processes on a real metastore: some in the fast ring, all in the slow one.
"""

from __future__ import annotations

import itertools

import pytest

from kernel.commits import COMMITS, EVERY, Kind
from kernel.counted import NAME, killed_after
from kernel.recovery import Pictures, check_recovery
from kernel.support import picture
from lakemerge.kernel import Kernel
from lakemerge.testing import World


def expected(kind: Kind) -> Pictures:
    """What readers see of the table before and after."""
    kernel = Kernel(World().process())
    kind.prepare(kernel, NAME)
    old = picture(kernel, NAME)
    kind.run(kernel, NAME)
    return old, picture(kernel, NAME)


@pytest.mark.parametrize("kind", EVERY)
def test_killed_after_any_write(kind: str) -> None:
    """The table is the old one or the new, nothing is left behind, and the next commit counts."""
    pictures = expected(EVERY[kind])
    for write in itertools.count(1):
        world = World()
        kernel = Kernel(world.process())
        EVERY[kind].prepare(kernel, NAME)
        if not killed_after(world, write, EVERY[kind]):
            break
        check_recovery(kernel, NAME, pictures, claimed=None)
    assert write > len(COMMITS[kind].steps if kind in COMMITS else ())
