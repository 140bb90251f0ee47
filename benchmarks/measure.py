"""CPU and wall seconds of a piece of work in this process and its Java."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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


def compiler_seconds() -> float:
    """Those of them that the threads took in which Java compiles; 0 where there is no ``/proc`` to tell."""
    total = 0.0
    for process in _THIS.children(recursive=True):
        try:
            for thread in process.threads():
                name = Path(f"/proc/{process.pid}/task/{thread.id}/comm").read_text(encoding="utf-8")
                if name.startswith(("C1 Compiler", "C2 Compiler")):
                    total += thread.user_time + thread.system_time
        except (psutil.NoSuchProcess, OSError):
            continue  # it has just ended, or it is another system
    return total


@dataclass
class Measured:
    """Seconds of several runs of one piece of work.

    Attributes:
        cpu: user and system seconds.
        compiling: those of them in which Java compiled: of a process's youth, not of the work.
        wall: seconds that passed.
    """

    cpu: list[float] = field(default_factory=list)
    compiling: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    @contextmanager
    def run(self) -> Iterator[None]:
        """Measure what is done inside."""
        compiling, cpu, wall = compiler_seconds(), cpu_seconds(), time.perf_counter()
        yield
        self.wall.append(time.perf_counter() - wall)
        self.cpu.append(cpu_seconds() - cpu)
        self.compiling.append(compiler_seconds() - compiling)

    @property
    def compiled_cpu(self) -> list[float]:
        """CPU seconds of the runs without those in which Java compiled."""
        return [cpu - compiling for cpu, compiling in zip(self.cpu, self.compiling, strict=True)]

    def __str__(self) -> str:
        cpu, wall = statistics.median(self.cpu), statistics.median(self.wall)
        return f"{cpu:7.2f} CPU s ({statistics.median(self.compiling):.2f} compiling) {wall:7.2f} s"


@dataclass(frozen=True)
class Ratio:
    """How many times the CPU seconds of one piece of work another one took, by medians.

    Attributes:
        all: of all CPU seconds.
        compiled: without those in which Java compiled, of both.
    """

    all: float
    compiled: float

    @classmethod
    def of(cls, taken: Measured, least: Sequence[Measured]) -> Ratio:
        """Compare with several pieces of work together."""
        return cls(
            all=statistics.median(taken.cpu) / sum(statistics.median(run.cpu) for run in least),
            compiled=statistics.median(taken.compiled_cpu)
            / sum(statistics.median(run.compiled_cpu) for run in least),
        )

    def __str__(self) -> str:
        return f"{self.all:.2f} ({self.compiled:.2f} without Java's compiling)"


class CountedCalls:
    """Counts calls from Python to Java from now on."""

    def __init__(self) -> None:
        from py4j.clientserver import JavaClient
        from py4j.java_gateway import GatewayClient

        self.calls = 0
        for kind in (GatewayClient, JavaClient):
            if "send_command" in vars(kind):
                kind.send_command = self._counted(kind.send_command)

    def _counted(self, send: Any) -> Any:
        def send_command(*arguments: Any, **named: Any) -> Any:
            self.calls += 1
            return send(*arguments, **named)

        return send_command


def jobs_of(spark: Any) -> int:
    """How many jobs a session's Spark has run, or at least begun."""
    return int(spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs())
