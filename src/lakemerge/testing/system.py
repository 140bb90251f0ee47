"""Time that passes when it is told to, and processes that live and die by name."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable

from lakemerge.kernel.ports import Clock, Host, Owner

_START = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)


class Timeline:
    """The time of a simulated world, in seconds since its beginning.

    Attributes:
        seconds: how much has passed.
    """

    def __init__(self) -> None:
        self.seconds = 0.0

    def pass_by(self, seconds: float) -> None:
        """Let time pass."""
        self.seconds += max(0.0, seconds)

    @property
    def milliseconds(self) -> int:
        """Since 1970."""
        return int((_START.timestamp() + self.seconds) * 1000)


class SimulatedClock(Clock):
    """One process's clock on a timeline; a sleep lets the time pass.

    Attributes:
        skew: how far it is ahead of the timeline.
    """

    def __init__(self, timeline: Timeline, skew: datetime.timedelta = datetime.timedelta(0)) -> None:
        self._timeline = timeline
        self.skew = skew

    def now(self) -> datetime.datetime:
        return _START + datetime.timedelta(seconds=self._timeline.seconds) + self.skew

    def monotonic(self) -> float:
        return self._timeline.seconds

    def sleep(self, seconds: float) -> None:
        self._timeline.pass_by(seconds)

    def repeat(self, seconds: float, action: Callable[[], bool], name: str) -> None:
        """Does nothing: a simulation has one thread, so nothing runs in the background."""


class SimulatedHost(Host):
    """A process of a simulated machine.

    Attributes:
        running: the pids of the machine that live.
    """

    def __init__(self, pid: int, running: set[int], dice: random.Random, machine: str = "one") -> None:
        self._open: dict[int, set[str]] = {}
        self.running = running
        self._pid = pid
        self._dice = dice
        self._machine = machine
        running.add(pid)

    @property
    def open_here(self) -> set[str]:
        return self._open.setdefault(self.pid, set())

    @property
    def pid(self) -> int:
        return self._pid

    def owner(self) -> Owner:
        return Owner("simulated", self.pid, str(self.pid), self._machine)

    def is_gone(self, owner: Owner) -> bool:
        same = bool(owner.machine) and owner.machine == self._machine
        return same and (owner.pid == self.pid or owner.pid not in self.running)

    def token(self) -> str:
        return f"{self._dice.getrandbits(128):032x}"

    def chance(self) -> float:
        return self._dice.random()
