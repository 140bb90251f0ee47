"""A world in memory: one metastore, one file system and one timeline, for any number of processes."""

from __future__ import annotations

import itertools
import random

from lakemerge.kernel.ports import Ports
from lakemerge.testing.files import MemoryFiles
from lakemerge.testing.metastore import MemoryMetastore
from lakemerge.testing.row_files import MemoryRowFiles
from lakemerge.testing.system import SimulatedClock, SimulatedHost, Timeline


class World:
    """What the processes of a simulation share.

    Attributes:
        running: the pids of the processes that live.
    """

    def __init__(self, seed: int = 0) -> None:
        self.timeline = Timeline()
        self.metastore = MemoryMetastore(self.timeline)
        self.files = MemoryFiles(self.timeline)
        self.dice = random.Random(seed)
        self.running: set[int] = set()
        self._pids = itertools.count(100)

    def new_pid(self) -> int:
        """A pid that no process has had."""
        return next(self._pids)

    def process(self) -> Ports:
        """The world as one more process sees it."""
        return Ports(
            metastore=self.metastore,
            files=self.files,
            row_files=MemoryRowFiles(self.files),
            clock=SimulatedClock(self.timeline),
            host=SimulatedHost(self.new_pid(), self.running, self.dice),
        )


def memory_ports() -> Ports:
    """The ports of the only process of a new world."""
    return World().process()
