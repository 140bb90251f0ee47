"""The one call that decides: compare-and-swap of a table's version parameter."""

from __future__ import annotations

import getpass
import logging
import math
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from lakemerge.errors import ClaimHeld
from lakemerge.kernel.ports import Ports
from lakemerge.kernel.ports.metastore import DDL_TIME, HiveColumn, HiveTable, Refused, ReplyLost, ValueChanged
from lakemerge.kernel.ports.names import TableName, passing_name
from lakemerge.kernel.table.definition import (
    ASIDE,
    TABLE_ID,
    TRANSACTION,
    UNDECIDED,
    VERSION,
    TableDefinition,
    new_table,
    version_number,
    with_parameters,
)
from lakemerge.kernel.table.overlay import SHOWS

_LOG = logging.getLogger("lakemerge")
_SENDS = 4
# A write under a lock that got no answer is carried out within this time: the default of ``hive.txn.timeout``, after
# which the metastore gives up a lock whose holder is silent.
_UNANSWERED_SECONDS = 300.0
# Longer than that, because such a lock is kept.
_LOCK_SECONDS = 400.0
_CHANGES = 20


class Versions:
    """Moves version parameters on, one writer at a time."""

    def __init__(self, ports: Ports) -> None:
        self._metastore = ports.metastore
        self._clock = ports.clock
        self._host = ports.host
        self._lock = threading.Lock()
        #: Locks below which a write got no answer, by process and table: a forked child does not have its parent's.
        self._kept: dict[tuple[int, TableName], _KeptLock] = {}

    def compare_and_swap(
        self,
        name: TableName,
        table_id: str,
        expected: str,
        parameters: Mapping[str, str],
        change: Callable[[HiveTable], HiveTable] | None = None,
        seen: HiveTable | None = None,
    ) -> bool:
        """Set table parameters, ``lakemerge.version`` among them, if the version is still the expected one.

        Args:
            table_id: of the table that is meant; the next one of its name counts versions from 1 again.
            expected: the version parameter's value that allows the change.
            parameters: what to set, with values that no other writer sets (they show the outcome after a lost reply).
            change: further changes of the table's row, in the same call.
            seen: the row as an earlier read has found it; see :meth:`row_to_change`.

        Returns:
            Whether the table now has these parameters by this call (or by another process's equal one).

        Raises:
            Refused, ClaimHeld: the metastore refuses the row, or gives no lock; nothing was changed.
            ReplyLost: the outcome is unknown: no answer came, or none to a call that may still take effect.
        """
        if self._metastore.compares is None and self._metastore.get_table(name) is not None:
            # probed here, not between the read and the write, where the pause could let another table take the name
            self.compares(name)
        lost = False
        for _ in range(_SENDS):
            with _no_answer(name, parameters[VERSION], if_refused=lost):
                table = self.row_to_change(name, seen)
            if table is None or table.parameters.get(TABLE_ID) != table_id:
                return False
            found = table.parameters.get(VERSION)
            if found != expected:
                done = all(table.parameters.get(key) == value for key, value in parameters.items())
                if done or not (lost and _may_come_back(expected, found or "", parameters[VERSION])):
                    return done
                break
            row = change(table) if change else table
            try:
                with _no_answer(name, parameters[VERSION], if_refused=lost):
                    self.alter(name, with_parameters(row, parameters), (VERSION, expected))
                return True
            except ReplyLost:
                lost = True  # it may have succeeded, or may yet: look again
            except ValueChanged:
                continue  # another writer was first, or an earlier try: look again
            except Refused:
                if self._metastore.get_table(name) is not None:
                    raise
                # the row has just gone: look again
        raise _unknown(name, parameters[VERSION], "no answer")

    def row_to_change(self, name: TableName, seen: HiveTable | None = None) -> HiveTable | None:
        """A row as it was at one moment, to be written back with changes; ``None`` where there is none.

        A read may see half of a change: the new version, and the location or the transaction of the one before. Written
        back, the older half would undo that change, and the version that is compared would not show it. So the row is
        read until two reads agree: what was half seen in the first is wholly seen in the second.

        Args:
            seen: what any earlier read has found; one more read is enough if it finds the same.
        """
        while (row := self._metastore.get_table(name)) != seen:
            seen = row
        return row

    def change_if(self, name: TableName, key: str, found: HiveTable, row: HiveTable) -> bool:
        """Put a row in the place of the one that was found, if a parameter still has the same value.

        Returns:
            Whether it is known to be done; otherwise, look again.
        """
        try:
            self.alter(name, row, (key, found.parameters[key]))
        except (ReplyLost, ValueChanged):
            return False
        except Refused:
            if self._metastore.get_table(name) is not None:
                raise
            return False  # the row has just gone
        return True

    def change_beside(self, name: TableName, change: Callable[[HiveTable], HiveTable]) -> bool:
        """Change what commits leave alone in a row, such as comments; done again on each commit that comes between.

        Args:
            change: the row as it is to be, given the one that was found.

        Returns:
            Whether anything had to be changed; without a row there is nothing to change.

        Raises:
            LostRace: commits came between every time.
        """
        for tried in range(_CHANGES):
            row = self.row_to_change(name)
            if row is None or (changed := change(row)) == row:
                return tried > 0
            # a view has no version of its own, and names the deltas of one; other programs' rows have neither
            key = next((key for key in (SHOWS, VERSION) if key in row.parameters), DDL_TIME)
            if self.change_if(name, key, row, changed):
                return True
            self._clock.sleep(0.05 * tried)
        raise lost_race(name)

    def adopt(self, table: HiveTable, parameters: Mapping[str, str]) -> bool:
        """Give a table that has no version parameter its first one, unless another writer was faster.

        An absent value cannot be compared, so the time of the last DDL, which every table of the metastore has, is
        compared instead. Whatever takes the row's place later, such as a view, has a later time.

        Args:
            table: the row as it is to be, without these parameters and with the time of the last DDL as it was read.
        """
        before = table.parameters[DDL_TIME]
        name, changed = table.name, with_parameters(table, {**parameters, DDL_TIME: str(int(before) + 1)})
        try:
            self.alter(name, changed, (DDL_TIME, before))
        except ValueChanged:
            return False
        except ReplyLost:
            found = self._metastore.get_table(name)
            return found is not None and found.parameters.get(TRANSACTION) == parameters[TRANSACTION]
        return True

    def compares(self, name: TableName) -> bool:
        """Whether the metastore compares, found out once on an existing table.

        Raises:
            MetastoreError: it does not, and its locks do not work either, so that it can finish no commit.
        """
        with self._lock:
            if self._metastore.compares is None:
                self._metastore.compares = self._probe(name)
                if not self._metastore.compares:
                    _LOG.warning(
                        "This metastore has no compare-and-swap (it lacks HIVE-26882, or direct SQL). lakemerge uses "
                        "its locks instead: a writer that pauses for longer than a lock's time-out can overwrite "
                        "another's commit"
                    )
            return self._metastore.compares

    def _probe(self, name: TableName) -> bool:
        """Try a table; a view would really be changed by that, so another table is made for it."""
        row = self._metastore.get_table(name)
        if row is None or row.kind != "VIRTUAL_VIEW":
            return self._metastore.probe_compare_and_swap(name)
        tried = passing_name(name, "__removed")  # where it is found if this process dies
        definition = TableDefinition(tried, (HiveColumn("tried", "string"),), external=True)
        place = self._metastore.database_location(name.schema)  # it is there, so that no directory is made
        trial = with_parameters(new_table(definition, place, place), {ASIDE: name.name})
        sent = 0
        while True:
            sent += 1
            try:
                found = self._metastore.get_table(tried)
                if found is not None and ASIDE in found.parameters:
                    self._metastore.drop_table(tried)
                self._metastore.create_table(trial)
                compares = self._metastore.probe_compare_and_swap(tried)
            except Refused:
                if sent == _SENDS:
                    raise
                # another process uses the name at this moment
            else:
                self._metastore.drop_table(tried)
                return compares

    def alter(self, name: TableName, row: HiveTable, expected: tuple[str, str]) -> None:
        """Put a row in the place of another, if a parameter has a value; once, by the lock where nothing compares.

        Raises:
            ValueChanged: it has another value; nothing was changed.
            Refused, ReplyLost: as of :meth:`Metastore.alter_table`.
        """
        if self.compares(name):
            self._metastore.alter_table(name, row, expected=expected)
            return
        with self._table_lock(name, _Write.of(name, row)):
            table = self._metastore.get_table(name)
            found = table.parameters.get(expected[0]) if table else None
            if found != expected[1]:
                raise ValueChanged("alter_table under a lock", "changed", f"{expected[0]} is {found!r}")
            if table is not None and table.parameters.get(TABLE_ID) not in (
                None,
                row.parameters.get(TABLE_ID),
            ):
                raise ValueChanged("alter_table under a lock", "changed", "it is another table of the name")
            version = row.parameters.get(VERSION)
            for sent in range(_SENDS):
                with _no_answer(name, version, if_refused=sent > 0):
                    # sending the expectation costs nothing, and one server of several may be newer than the probed one
                    self._metastore.alter_table(name, row, expected=expected)
                with _no_answer(name, version, if_refused=True):
                    now = self._metastore.get_table(row.name)
                if now is None or now.parameters.get(VERSION) == version:
                    return
                # a write of somebody whose lock had timed out has come between; nobody else writes under this one
            raise ReplyLost(
                expected=f"{name} to be at {version}, as it was written under a lock",
                found="that another write replaced it each time",
                action="Run again; see SHOW LOCKS in Hive for who writes without a lock.",
            )

    @contextmanager
    def _table_lock(self, name: TableName, write: _Write) -> Iterator[None]:
        """Hive's exclusive lock on the table, for metastores that do not compare.

        If a write under it gets no answer, it is kept until that write can no longer be carried out. Only this process
        can write meanwhile, and only the same transaction's: what it has sent before, or what settles it.
        """
        lock_id, until = self._take_lock(name, write)
        try:
            yield
        except Refused:
            raise
        except BaseException:
            until = self._clock.monotonic() + _UNANSWERED_SECONDS
            _LOG.warning(
                "%s: a write got no answer; the lock that it was made under is kept for %.0f seconds",
                name,
                _UNANSWERED_SECONDS,
            )
            raise
        finally:
            if self._clock.monotonic() < until:
                with self._lock:
                    self._kept[self._host.pid, name] = _KeptLock(lock_id, until, write)
            else:
                self._give_back(name, lock_id)

    def _take_lock(self, name: TableName, write: _Write) -> tuple[int, float]:
        """A lock that is held, and until when it is to be kept: one that was kept, or a new one."""
        kept = self._kept_for(name, write)
        if kept is not None:
            if self._clock.monotonic() >= kept.until:
                self._give_back(name, kept.lock_id)
            elif self._holds(kept.lock_id):
                return kept.lock_id, kept.until
        user = f"{_user()}-{self._host.token()[:12]}"
        lock_id = self._metastore.lock(name, user=user, host=self._host.owner().host)
        try:
            deadline = self._clock.monotonic() + _LOCK_SECONDS
            while not self._metastore.lock_acquired(lock_id):
                if self._clock.monotonic() > deadline:
                    raise ClaimHeld(
                        expected=f"the metastore's lock on {name} within {_LOCK_SECONDS:.0f} seconds",
                        found="that another process holds it",
                        action="Run again later; see SHOW LOCKS in Hive for the holder.",
                    )
                self._clock.sleep(0.1)
        except BaseException:
            self._give_back(name, lock_id)
            raise
        return lock_id, -math.inf

    def _kept_for(self, name: TableName, write: _Write) -> _KeptLock | None:
        """The lock that was kept; what may not follow on the write without an answer waits until that cannot come."""
        key = (self._host.pid, name)
        while (kept := self._kept.get(key)) is not None and not write.may_follow(kept.write):
            if self._clock.monotonic() >= kept.until:
                break
            self._clock.sleep(0.5)
        with self._lock:
            return self._kept.pop(key, None)

    def _holds(self, lock_id: int) -> bool:
        try:
            return self._metastore.lock_acquired(lock_id)
        except Refused:
            return False  # it has timed out

    def _give_back(self, name: TableName, lock_id: int) -> None:
        try:
            self._metastore.unlock(lock_id)
        except Refused as error:
            _LOG.warning("The lock on %s had timed out before it was given back: %s", name, error)


@dataclass(frozen=True)
class _KeptLock:
    """A lock that is kept because a write under it got no answer.

    Attributes:
        until: by the process's own clock.
        write: which got no answer.
    """

    lock_id: int
    until: float
    write: _Write


@dataclass(frozen=True)
class _Write:
    """What is written to a table.

    Attributes:
        whose: the transaction whose claim or version it is.
        new_name: that the row gets; empty if it keeps its own.
    """

    whose: str
    new_name: str

    @classmethod
    def of(cls, name: TableName, row: HiveTable) -> _Write:
        claim = row.parameters.get(VERSION, "").partition(":")[2]
        whose = claim or row.parameters.get(TRANSACTION) or row.parameters.get(SHOWS, "")
        return cls(whose, row.name.name if row.name != name else "")

    def may_follow(self, unanswered: _Write) -> bool:
        """Whether it may be sent while another write may still come.

        A claim that says that nothing is decided is something else than the claim that follows it: if it came after
        that, whoever finds it would take the commit back. No new name is given before or after: a write by the old one
        would take the place of what has it by then, which needs no lock to be made.
        """
        return self == unanswered and not self.new_name


@contextmanager
def _no_answer(name: TableName, version: str | None, *, if_refused: bool) -> Iterator[None]:
    """A call after one that may have been carried out: that this one is refused says nothing of that one."""
    try:
        yield
    except ValueChanged:
        raise
    except (Refused, ClaimHeld) as error:
        if if_refused:
            raise _unknown(name, version, error.found) from error
        raise


def _unknown(name: TableName, version: str | None, found: str) -> ReplyLost:
    return ReplyLost(
        expected=f"the metastore to say whether {name} is at {version}",
        found=found,
        action="Run again: the next commit (or lakemerge_recover) finds out and finishes or redoes the work.",
    )


def _user() -> str:
    """Who this process runs as. In a container the user may have no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return str(os.getuid()) if hasattr(os, "getuid") else "lakemerge"


def _may_come_back(expected: str, found: str, wanted: str) -> bool:
    """Whether a version parameter may return to the value that a call without an answer still compares with.

    The claim of a group that is not decided may be taken back. A commit whose claim takes effect after that would have
    been given up by then, and its files deleted. A late claim of a group does no harm: whoever finds it ends the group.
    """
    if not found.endswith(UNDECIDED) or wanted.endswith(UNDECIDED):
        return False
    return ":" not in expected and version_number(found) == version_number(expected) + 1


class LostRace(ClaimHeld):
    """Another writer claimed first; nothing is lost but the attempt."""


def lost_race(name: TableName) -> LostRace:
    return LostRace(
        expected=f"to claim the next version of {name}",
        found="that other writers were first each time",
        action="Run again when fewer writers are at work.",
    )
