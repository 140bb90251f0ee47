"""The ports to time, chance and the processes of a machine, and their versions for the system that Python runs on."""

from __future__ import annotations

import datetime
import os
import platform
import random
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol


class Clock(Protocol):
    """Time as one process sees it. It decides how long to wait, and never the order of commits."""

    def now(self) -> datetime.datetime:
        """This moment, in UTC."""

    def monotonic(self) -> float:
        """Seconds since some moment, never fewer than before."""

    def sleep(self, seconds: float) -> None: ...

    def repeat(self, seconds: float, action: Callable[[], bool], name: str) -> None:
        """Call an action every ``seconds`` seconds, in the background, until it returns false."""


@dataclass(frozen=True)
class Owner:
    """A process, as others can look for it.

    Attributes:
        started: distinguishes the process from a later one of the same pid; empty where the system does not say.
        machine: the boot and the pid namespace that the pid belongs to; empty where the system does not say.
    """

    host: str
    pid: int
    started: str
    machine: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Owner:
        return cls(str(body["host"]), int(body["pid"]), str(body["started"]), str(body["machine"]))


class Host(Protocol):
    """The process that commits, its machine, and its random numbers."""

    @property
    def open_here(self) -> set[str]:
        """The transactions that are open in this process, whichever kernel they belong to; to be changed in place."""

    @property
    def pid(self) -> int:
        """The id of this process, which differs in a forked child."""

    def owner(self) -> Owner:
        """This process."""

    def is_gone(self, owner: Owner) -> bool:
        """Whether a process is known to have ended; false where that cannot be known from here."""

    def token(self) -> str:
        """32 hexadecimal digits that nobody has had before."""

    def chance(self) -> float:
        """A random number from 0 to 1, which makes waits differ."""


class SystemClock(Clock):
    """The machine's clock, and threads."""

    def now(self) -> datetime.datetime:
        return datetime.datetime.now(datetime.timezone.utc)

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def repeat(self, seconds: float, action: Callable[[], bool], name: str) -> None:
        def run() -> None:
            time.sleep(seconds)
            while action():
                time.sleep(seconds)

        threading.Thread(target=run, name=name, daemon=True).start()


class SystemHost(Host):
    """This process on this machine. All instances share their state."""

    # by the process's id: a forked child does not have its parent's transactions
    _open: ClassVar[dict[int, set[str]]] = {}

    @property
    def open_here(self) -> set[str]:
        return self._open.setdefault(self.pid, set())

    @property
    def pid(self) -> int:
        return os.getpid()

    def owner(self) -> Owner:
        return Owner(platform.node(), self.pid, _start_of(self.pid), _machine())

    def is_gone(self, owner: Owner) -> bool:
        if not owner.machine or owner.machine != _machine() or not owner.started:
            return False
        # a transaction of this process would be in open_here
        return owner.pid == self.pid or _start_of(owner.pid) != owner.started

    def token(self) -> str:
        return uuid.uuid4().hex

    def chance(self) -> float:
        return random.random()


def new_transaction_id(clock: Clock, host: Host) -> str:
    """A unique id that sorts roughly by time; the time in it is for people and decides nothing."""
    return f"{clock.now():%Y%m%dT%H%M%S}-{host.token()[:12]}"


def timestamp(clock: Clock, timespec: str = "seconds") -> str:
    """This moment, ISO 8601 in UTC, to the second or to another ``timespec`` of ``isoformat``."""
    return clock.now().isoformat(timespec=timespec)


def from_milliseconds(milliseconds: int) -> datetime.datetime:
    """The moment this many milliseconds after 1970, the form of file systems' times."""
    return datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.timezone.utc)


def _start_of(pid: int) -> str:
    """When a process of this machine started; empty for none, and for one that has ended unreaped."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in ("Z", "X") else fields[19]


def _machine() -> str:
    """The boot and pid namespace of this process; empty where the system does not tell."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""
