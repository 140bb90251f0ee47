"""Signs of life of open transactions: a small file each, rewritten as long as the process lives.

The file's modification time is set by the file system, so no two machines' clocks are compared.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass

from lakemerge.errors import StorageError
from lakemerge.kernel.ports import Ports
from lakemerge.kernel.ports.filesystem import log_level
from lakemerge.kernel.ports.system import Owner
from lakemerge.kernel.table.layout import Layout

_LOG = logging.getLogger("lakemerge")

#: Seconds between two checks whether a heartbeat is still being written.
_WHILE_WRITING = 0.02


#: Called once, in the thread that writes heartbeats, with why other processes may take a transaction for dead.
OnLost = Callable[[str], None]


@dataclass
class _Watch:
    """What is known of a heartbeat that has a listener.

    Attributes:
        beaten: when it was last written, by the monotonic clock.
    """

    on_lost: OnLost
    beaten: float


class Heartbeats:
    """Keeps the heartbeat files of this process's open transactions fresh."""

    def __init__(self, ports: Ports, lease_seconds: float) -> None:
        self._files = ports.files
        self._clock = ports.clock
        self._host = ports.host
        self._lease = lease_seconds
        self._begin()

    def _begin(self) -> None:
        """Begin with no open transaction: also in a forked child, which has neither its parent's nor its threads."""
        self._pid = self._host.pid
        #: Of each open transaction: its heartbeat's path, and the id of its table.
        self._open: dict[str, str] = {}
        self._watched: dict[str, _Watch] = {}
        self._lock = threading.Lock()
        self._beating = False
        #: The file that the thread is writing at this moment; empty for none.
        self._writing = ""

    def start(self, layout: Layout, txn: str, on_lost: OnLost | None = None, *, table_id: str = "") -> None:
        """Write a transaction's first heartbeat and keep it fresh until :meth:`stop`.

        Args:
            table_id: of the table whose files it writes, so that a drop of the table knows what it has left.
            on_lost: called if that fails for as long as the lease, or if another process has removed the file; the
                heartbeat ends then.
        """
        if self._host.pid != self._pid:
            self._begin()
        path = layout.heartbeat_of(txn)
        self._host.open_here.add(txn)
        try:
            self._beat(path, table_id)
        except StorageError:
            self._host.open_here.discard(txn)
            raise
        with self._lock:
            if on_lost is not None:
                self._watched[path] = _Watch(on_lost, self._clock.monotonic())
            self._open[path] = table_id
            begins, self._beating = not self._beating, True
        if begins:
            self._clock.repeat(self._lease / 3, self._beat_all, "lakemerge-heartbeat")

    def stop(self, layout: Layout, txn: str) -> None:
        """End a transaction's heartbeat and remove its file."""
        path = layout.heartbeat_of(txn)
        with self._lock:
            self._open.pop(path, None)
        self._watched.pop(path, None)
        self._host.open_here.discard(txn)
        self._wait_for(path)
        self._remove(path)

    def _wait_for(self, path: str) -> None:
        """Let the thread finish a heartbeat that it is writing.

        Otherwise the heartbeat would come after the removal, and its file would stay if this process then ends.
        """
        deadline = self._clock.monotonic() + self._lease
        while self._writing == path and self._clock.monotonic() < deadline:
            self._clock.sleep(_WHILE_WRITING)

    def loss(self, layout: Layout, txn: str) -> str | None:
        """Why other processes may take a watched transaction for dead, or have done so; ``None`` while they may not."""
        path = layout.heartbeat_of(txn)
        watch = self._watched.get(path)
        return self._loss(path, watch) if watch else "that its heartbeat has ended"

    def _loss(self, path: str, watch: _Watch) -> str | None:
        silent = self._clock.monotonic() - watch.beaten
        if silent > self._lease:
            return f"no sign of life for {silent:.0f} seconds"
        try:
            self._files.read_text(path)
        except FileNotFoundError:
            return "that another process has taken the transaction for dead"
        except StorageError:
            pass  # no answer: only the time decides
        return None

    def _lose(self, path: str, watch: _Watch, reason: str) -> None:
        self._open.pop(path, None)
        self._host.open_here.discard(path.rpartition("/")[2])
        if self._watched.pop(path, None) is None:
            return  # stopped meanwhile
        try:
            watch.on_lost(reason)
        except Exception:  # noqa: BLE001 - the heartbeats of other transactions must go on
            _LOG.exception("The listener for lost leases failed")

    def _beat_all(self) -> bool:
        """Write all heartbeats once more; false, which ends the repetition, when there are none."""
        with self._lock:
            paths = sorted(self._open)
            self._beating = bool(paths)
        for path in paths:
            if path in self._open:
                self._beat_quietly(path)
        return bool(paths)

    def _beat_quietly(self, path: str) -> None:
        watch = self._watched.get(path)
        if watch is not None and (reason := self._loss(path, watch)):
            self._lose(path, watch, reason)
            return
        with self._lock:
            if path not in self._open:
                return
            self._writing, table_id = path, self._open[path]
        try:
            self._beat(path, table_id)
            if watch is not None:
                watch.beaten = self._clock.monotonic()
        except StorageError as error:
            _LOG.log(log_level(error), "A heartbeat could not be written: %s", error)
        finally:
            self._writing = ""
        if path not in self._open:  # it was stopped meanwhile, and whoever stopped it does not wait forever
            self._remove(path)

    def _remove(self, path: str) -> None:
        try:
            self._files.delete(path)
        except StorageError as error:
            # the commit itself is over; lakemerge_recover finds a file that stays and takes it for dead
            _LOG.log(log_level(error), "A heartbeat could not be removed: %s", error)

    def _beat(self, path: str, table_id: str) -> None:
        self._files.write_text(path, json.dumps({**self._host.owner().to_json(), "table_id": table_id}))

    def table_of(self, layout: Layout, txn: str) -> str:
        """The id of the table that a transaction works on, by its heartbeat; empty where that does not say."""
        try:
            return str(json.loads(self._files.read_text(layout.heartbeat_of(txn))).get("table_id", ""))
        except (FileNotFoundError, ValueError, AttributeError):
            return ""

    def alive(self, layout: Layout, txn: str, lease_seconds: float, *, now: int | None = None) -> bool:
        """Whether the writer of a transaction may still be at work.

        For writers in this process that is known. A writer in another process is dead if it has no heartbeat, if its
        process is gone from this machine, or if it has been silent for longer than the lease, on whatever machine. A
        writer that is only slow is fenced when it goes on.

        Args:
            now: this moment in milliseconds, if the file system, which has to write for it, is not to be asked.
        """
        if txn in self._host.open_here:
            return True
        path = layout.heartbeat_of(txn)
        try:
            owner = Owner.from_json(json.loads(self._files.read_text(path)))
        except FileNotFoundError:
            return False
        except (ValueError, KeyError, TypeError, StorageError):
            pass  # being rewritten at this moment (Hadoop then finds a wrong checksum): its age decides
        else:
            if self._host.is_gone(owner):
                return False
        return self._age(layout, txn, now) <= lease_seconds

    def _age(self, layout: Layout, txn: str, now: int | None) -> float:
        """Seconds since the last heartbeat, by the file system's clock."""
        now = self._files.now(layout.open) if now is None else now
        times = {entry.name: entry.modified for entry in self._files.list(layout.open)}
        return (now - times.get(txn, 0)) / 1000
