"""Signs of life of open transactions: a small file each, rewritten as long as the process lives.

Its time of change is the file system's own, so no two machines' clocks are compared.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import platform
import threading
from pathlib import Path

from lakemerge.errors import StorageError
from lakemerge.kernel.filesystem import FileSystem
from lakemerge.kernel.layout import Layout

_LOG = logging.getLogger("lakemerge")
# The transactions that are open in this process, whichever kernel they belong to.
_OPEN_HERE: set[str] = set()


def _start_of(pid: int) -> str:
    """When a process of this machine started, so that a pid used again is not mistaken for it.

    Empty for none, and for one that has ended unreaped.
    """
    try:
        found = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if found[0] in ("Z", "X") else found[19]
    except (OSError, IndexError):
        return ""


def _machine() -> str:
    """The boot and pid namespace of this process; empty where the system does not tell."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""


class Heartbeats:
    """Keeps the heartbeat files of this process's open transactions fresh."""

    def __init__(self, files: FileSystem, lease_seconds: float) -> None:
        self._files = files
        self._lease = lease_seconds
        self._open: set[str] = set()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, layout: Layout, txn: str) -> None:
        """Write a transaction's first heartbeat and keep it fresh until :meth:`stop`."""
        path = layout.heartbeat_of(txn)
        _OPEN_HERE.add(txn)
        try:
            self._beat(path)
        except StorageError:
            _OPEN_HERE.discard(txn)
            raise
        with self._lock:
            self._open.add(path)
            if self._thread is None or not self._thread.is_alive():
                self._wake.clear()
                self._thread = threading.Thread(target=self._run, name="lakemerge-heartbeat", daemon=True)
                self._thread.start()

    def stop(self, layout: Layout, txn: str) -> None:
        """End a transaction's heartbeat and remove its file."""
        path = layout.heartbeat_of(txn)
        with self._lock:
            self._open.discard(path)
        _OPEN_HERE.discard(txn)
        try:
            self._files.delete(path)
        except StorageError as error:
            # the commit itself is over, and a file that stays is found dead by lakemerge_recover
            _LOG.warning("A heartbeat could not be removed: %s", error)

    def _run(self) -> None:
        while not self._wake.wait(self._lease / 3):
            with self._lock:
                paths = sorted(self._open)
                if not paths:
                    self._thread = None
                    return
            for path in paths:
                # under the lock, so that a heartbeat that was stopped is not written once more
                with self._lock:
                    if path in self._open:
                        self._beat_quietly(path)

    def _beat_quietly(self, path: str) -> None:
        try:
            self._beat(path)
        except StorageError as error:
            _LOG.warning("A heartbeat could not be written: %s", error)

    def _beat(self, path: str) -> None:
        pid = os.getpid()
        owner = {"host": platform.node(), "pid": pid, "started": _start_of(pid), "machine": _machine()}
        self._files.write_text(path, json.dumps(owner))

    def alive(self, layout: Layout, txn: str, lease_seconds: float) -> bool:
        """Whether the writer of a transaction may still be at work.

        Of this process that is known. Of others: not one that is gone from this very machine, nor one that has been
        silent for longer than the lease, be it here or elsewhere. One that is only slow is fenced when it goes on.
        """
        if txn in _OPEN_HERE:
            return True
        path = layout.heartbeat_of(txn)
        try:
            owner = json.loads(self._files.read_text(path))
        except FileNotFoundError:
            return False
        except (ValueError, StorageError):
            owner = {}  # being rewritten at this moment (Hadoop then finds a wrong checksum): its age decides
        if owner.get("machine") and owner["machine"] == _machine():
            if owner["pid"] == os.getpid():
                return False
            if owner["started"] and _start_of(owner["pid"]) != owner["started"]:
                return False
        return self._age(layout, txn) <= lease_seconds

    def _age(self, layout: Layout, txn: str) -> float:
        """Seconds since the last heartbeat, by the file system's clock."""
        probe = f"{layout.open}/.now-{os.getpid()}-{threading.get_ident()}"
        self._files.write_text(probe, "")
        try:
            times = {entry.name: entry.modified for entry in self._files.list(layout.open)}
        finally:
            with contextlib.suppress(StorageError):  # a probe left behind is hidden and harmless
                self._files.delete(probe)
        now = times[probe.rpartition("/")[2]]
        return (now - times.get(txn, 0)) / 1000
