"""Processes that run one at a time, in an order that a seed decides, on simulated time."""

from __future__ import annotations

import random
from collections.abc import Callable

from greenlet import greenlet

from lakemerge.testing import Timeline

_MOST_STEPS = 200_000


class Killed(BaseException):
    """The process that this is raised in is dead: nothing that it still tries has any effect."""


class Stuck(AssertionError):
    """A process neither ended nor gave an error within very many steps."""


class Task:
    """A thread of a process.

    Attributes:
        wakes: when it goes on, in simulated seconds.
    """

    def __init__(self, process: Process, run: Callable[[], None], hub: greenlet) -> None:
        self.process = process
        self.wakes = 0.0
        self.over = False
        self._run = run
        self.coroutine = greenlet(self._main, hub)

    def _main(self) -> None:
        try:
            self._run()
        except Killed:
            pass
        finally:
            self.over = True


class Process:
    """Something that can be killed or stopped as a whole."""

    def __init__(self, scheduler: Scheduler, name: str, pid: int, running: set[int]) -> None:
        """
        Args:
            running: the pids of the processes that live; this one's leaves it with its death.
        """
        self._scheduler = scheduler
        self._running = running
        self.name = name
        self.pid = pid
        self.dead = False
        self.stopped_until = 0.0
        self.error: BaseException | None = None

    def start(self, run: Callable[[], object], delay: float = 0.0) -> None:
        """Begin a thread of it."""
        self._scheduler.add(self, self._guarded(run), delay)

    def _guarded(self, run: Callable[[], object]) -> Callable[[], None]:
        def main() -> None:
            try:
                run()
            except Exception as error:  # noqa: BLE001 - of any kind: who runs the process looks at it
                self.error = error
                self._end()

        return main

    @property
    def now(self) -> float:
        """Simulated seconds."""
        return self._scheduler.timeline.seconds

    def die(self) -> None:
        """End at once, without any clearing up."""
        self._end()
        raise Killed

    def _end(self) -> None:
        self.dead = True
        self._running.discard(self.pid)

    def stop_for(self, seconds: float) -> None:
        """Do nothing for a while, as a process does that is swapped out: its heartbeats stop as well."""
        self.stopped_until = self._scheduler.timeline.seconds + seconds
        self.go_on()

    def go_on(self, seconds: float = 0.0) -> None:
        """Let others run; go on after so many seconds."""
        if self.dead:
            raise Killed
        self._scheduler.switch(seconds)
        if self.dead:
            raise Killed


class Scheduler:
    """Runs tasks until none is left.

    Attributes:
        steps: how often one of them was chosen.
    """

    def __init__(self, dice: random.Random, timeline: Timeline) -> None:
        self.timeline = timeline
        self.steps = 0
        self._dice = dice
        self._tasks: list[Task] = []
        self._running: Task | None = None
        self._hub = greenlet.getcurrent()
        self._dropped: list[greenlet] = []  # the killed: kept, for collecting one would run its clearing up

    def add(self, process: Process, run: Callable[[], None], delay: float) -> None:
        task = Task(process, run, self._hub)
        task.wakes = self.timeline.seconds + delay
        self._tasks.append(task)

    def switch(self, seconds: float) -> None:
        """Let the running task wait."""
        assert self._running is not None
        self._running.wakes = self.timeline.seconds + seconds
        self._hub.switch()

    def run(self, until: Callable[[], bool] = lambda: False) -> None:
        """Run until no task is left, or a condition holds. Raises Stuck."""
        self._hub = greenlet.getcurrent()
        while not until():
            self._dropped += [task.coroutine for task in self._tasks if task.process.dead and not task.over]
            self._tasks = [task for task in self._tasks if not task.over and not task.process.dead]
            if not self._tasks:
                return
            now = self.timeline.seconds
            ready = [task for task in self._tasks if max(task.wakes, task.process.stopped_until) <= now]
            if not ready:
                first = min(max(task.wakes, task.process.stopped_until) for task in self._tasks)
                self.timeline.pass_by(first - now)
                continue
            self._running = ready[int(self._dice.random() * len(ready))]
            self._running.coroutine.parent = self._hub
            self.steps += 1
            if self.steps > _MOST_STEPS:
                raise Stuck(f"{self._running.process.name} is still at work after {self.steps} steps")
            self.timeline.pass_by(self._dice.random() * 0.02)
            self._running.coroutine.switch()
