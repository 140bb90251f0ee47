"""CPU and wall seconds of a piece of work in this process and its Java."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def _children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += [int(child) for child in (task / "children").read_text().split()]
    return found


def cpu_seconds() -> float:
    """User and system seconds of this process and of all its living children, Java among them."""
    total, pending = 0.0, [os.getpid()]
    while pending:
        pid = pending.pop()
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            pending += _children(pid)
        except FileNotFoundError:
            continue  # it has just ended
        total += (int(fields[11]) + int(fields[12])) / _TICKS
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
