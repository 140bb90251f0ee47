"""CPU and wall seconds of a piece of work in this process and its Java."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import psutil

_THIS = psutil.Process()


def cpu_seconds() -> float:
    """User and system seconds of this process and of all its living children, Java among them."""
    total = 0.0
    for process in (_THIS, *_THIS.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue  # it has just ended
        total += times.user + times.system
    return total


@dataclass
class Measured:
    """Seconds of several runs of one piece of work."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    @contextmanager
    def run(self) -> Iterator[None]:
        """Measure what is done inside."""
        cpu, wall = cpu_seconds(), time.perf_counter()
        yield
        self.cpu.append(cpu_seconds() - cpu)
        self.wall.append(time.perf_counter() - wall)

    def __str__(self) -> str:
        return f"{statistics.median(self.cpu):7.2f} CPU s {statistics.median(self.wall):7.2f} s"


def median_cpu(runs: Sequence[Measured]) -> float:
    """The medians of several pieces of work, together."""
    return sum(statistics.median(run.cpu) for run in runs)
