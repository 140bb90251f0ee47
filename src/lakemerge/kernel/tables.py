"""Tables as they are: settled, with what dead writers left finished and what other programs wrote taken in."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable
from typing import TypeVar

from lakemerge.errors import (
    ClaimHeld,
    ClaimRefused,
    CorruptTable,
    ForeignWrite,
    LakemergeError,
    TableNotFound,
    UnsupportedTable,
)
from lakemerge.kernel.external.changes import ExternalChanges
from lakemerge.kernel.external.late import LateFiles
from lakemerge.kernel.ports import Ports
from lakemerge.kernel.ports.metastore import HiveTable, Refused
from lakemerge.kernel.ports.names import TableName
from lakemerge.kernel.protocol.creations import Creations
from lakemerge.kernel.protocol.drops import Drops
from lakemerge.kernel.protocol.groups import Group, GroupStatus
from lakemerge.kernel.protocol.lease import Heartbeats
from lakemerge.kernel.protocol.rebuild import Rebuild
from lakemerge.kernel.protocol.releases import Releases
from lakemerge.kernel.protocol.roll_forward import RollForward
from lakemerge.kernel.protocol.versions import LostRace, Versions
from lakemerge.kernel.retries import retried
from lakemerge.kernel.settings import Settings
from lakemerge.kernel.table.definition import (
    TABLE_ID,
    VERSION,
    TableDefinition,
    check_supported,
    same_keys,
    version_number,
)
from lakemerge.kernel.table.layout import Layout
from lakemerge.kernel.table.manifest import RELEASE, Manifest
from lakemerge.kernel.table.manifests import read_manifest
from lakemerge.kernel.table.overlay import find_row
from lakemerge.kernel.table.state import CurrentTable, TableState, current_table, is_reserved, state_of

T = TypeVar("T")

#: After taking in what other programs did, a table is looked at again immediately. After this many times in a row it is
#: an error: each time the table had changed within milliseconds, or the metastore contradicts itself.
_MAX_TAKEN_IN = 20

_LOG = logging.getLogger("lakemerge")


def _no_step(_: str) -> None:
    return None


class Tables:
    """Finds tables in a settled state, and brings them into one. One for each process; safe for threads."""

    def __init__(
        self, ports: Ports, settings: Settings | None = None, *, step: Callable[[str], None] = _no_step
    ) -> None:
        """
        Args:
            step: called with the name of each step of a commit when it is done, for tests that kill there.
        """
        self.settings = settings or Settings()
        self.metastore, self.files, self.row_files = ports.metastore, ports.files, ports.row_files
        self.clock, self.host = ports.clock, ports.host
        self.step = step
        self.versions = Versions(ports)
        self.heartbeats = Heartbeats(ports, self.settings.lease_seconds)
        self.creations = Creations(ports)
        owner = self.host.owner()
        self.writer = {"host": owner.host, "pid": str(owner.pid), **self.settings.writer}
        self.external = ExternalChanges(ports, self.versions, self.heartbeats, self.writer)
        self.roll_forward = RollForward(ports, self.versions, step)
        self.late = LateFiles(self)
        rolling = self.roll_forward
        self.drops = Drops(
            ports,
            rolling.rebuilds,
            rolling.removals,
            rolling.overlays,
            rolling.side_tables,
            self.heartbeats,
            self.creations,
            self.settings.lease_seconds,
        )
        self.groups, self.removals = rolling.groups, rolling.removals
        self.releases = Releases(ports, self.versions, self.groups, self.drops, self.writer)

    def same_process(self, other: Tables) -> bool:
        """Whether both reach the same world as the same process; their settings may differ."""
        return (self.metastore, self.files, self.host) == (other.metastore, other.files, other.host)

    # -- opening -------------------------------------------------------------------------------

    def table(self, name: TableName) -> HiveTable:
        """The metastore's row of a table, its base's where it is merged on read. Raises TableNotFound."""
        table = find_row(self.metastore, name)
        if table is None:
            raise no_table(name)
        return table

    def change_row(self, name: TableName, change: Callable[[HiveTable], HiveTable]) -> bool:
        """Change what commits do not concern in the row of a table or view, such as comments, while commits may go on.

        Args:
            change: the row as it is to be, given the one that was found. Called again if a commit comes between.

        Returns:
            Whether anything had to be changed.

        Raises:
            TableNotFound: there is no row of this name.
            ClaimHeld: commits came between every time.
        """
        self.table(name)
        return self.versions.change_beside(name, change)

    def current(self, name: TableName) -> CurrentTable:
        """A table as it is at this moment, without changing anything. Raises TableNotFound."""
        current = current_table(self.metastore, self.files, name)
        if current is None:
            raise no_table(name)
        return current

    def current_state(self, name: TableName) -> TableState | None:
        """The state of a table without changing anything; ``None`` if it has no version. Raises TableNotFound."""
        current = self.current(name)
        return None if current.state is None or current.state.is_reserved else current.state

    def manifest(self, state: TableState, txn: str | None = None) -> Manifest:
        """The manifest of the settled version, or of a transaction."""
        return read_manifest(self.files, state.layout, txn or state.txn)

    def open(self, name: TableName) -> TableState:
        """The settled state of a table: adopts a plain one, and finishes the commit of a writer that died.

        Raises:
            TableNotFound, UnsupportedTable: there is no such table, or none that lakemerge may write.
            ClaimHeld: a live writer did not finish within ``claim_timeout``.
        """
        return self.settled(name)[0]

    def settled(self, name: TableName) -> tuple[TableState, Manifest]:
        """As :meth:`open`, with the manifest of the settled version."""
        return self._waiting(lambda: self._settled(name))

    def _waiting(self, action: Callable[[], T]) -> T:
        """Do something again for as long as a live writer is in the way."""
        return self.retried(action, ClaimHeld, first=0.02, longest=1)

    def retried(
        self,
        action: Callable[[], T],
        *errors: type[Exception],
        first: float,
        longest: float,
        attempts: int | None = None,
    ) -> T:
        """Call an action again after some errors, for ``claim_timeout`` or ``attempts`` times in all.

        Args:
            first, longest: the waits in between, as of :func:`lakemerge.kernel.retries.retried`.
        """
        seconds = self.settings.claim_timeout if attempts is None else None
        return retried(
            self.clock,
            self.host,
            action,
            *errors,
            first=first,
            longest=longest,
            seconds=seconds,
            attempts=attempts,
        )

    def _settled(self, name: TableName) -> tuple[TableState, Manifest]:
        while True:
            try:
                current = current_table(self.metastore, self.files, name)
            except CorruptTable:
                if not self._remove_ghost(name):
                    raise
                continue
            if current is None:
                self._rebuild(name)
            elif current.state is None or current.manifest is None:
                self.drops.finish(name)  # otherwise that drop would later delete what lies in its places
                self.external.adopt(current.table)
            elif current.state.claim is None:
                check_supported(current.table)
                current.manifest.require_writer(str(name))
                self.roll_forward.overlays.ensure(current.state.name, current.manifest)
                return current.state, current.manifest
            else:
                self._finish(current.state)

    def _finish(self, state: TableState) -> None:
        """Finish the commit that has claimed a table, or end it; does nothing where the table is gone meanwhile."""
        try:
            if state.undecided:
                self._end_group(state)
            else:
                self._rescue(state)
        except (CorruptTable, TableNotFound):
            table = find_row(self.metastore, state.name)
            if table is not None and table.parameters.get(TABLE_ID) == state.table_id:
                raise
            # it was dropped with its manifests, or its row is made anew once more: the caller looks again

    def _remove_ghost(self, name: TableName) -> bool:
        """Take out a row that was made after its writer had given up, and after its files were deleted.

        Such a row has its first version, or its claim, and there is no manifest of it; nor are there any rows that an
        accident might have left without their manifest.

        Returns:
            Whether there was one.
        """
        row = find_row(self.metastore, name)
        state = state_of(row) if row is not None and VERSION in row.parameters else None
        if row is None or state is None or version_number(state.version_value) != 1:
            return False
        layout, txn = state.layout, state.txn
        if state.claim not in (None, txn) or any(
            self.files.exists(path)
            for path in (layout.manifest_of(txn), layout.creation_of(txn), layout.data_of(txn))
        ):
            return False
        gone = self.removals.remove(name, row)
        if gone:
            _LOG.warning("%s: a row that came after its writer (%s) had given up is removed", name, txn)
        return gone

    def exists(self, name: TableName) -> bool:
        """Whether the metastore has the table, after finishing what a writer that died left of it."""
        try:
            self._waiting(lambda: self._require_row(name))
        except TableNotFound:
            return False
        return True

    def _require_row(self, name: TableName) -> bool:
        """Whether a table's row was missing because a writer died while it made the row anew; it is there afterwards.

        A row that only holds a name, for a group that is to make the table, counts as none.

        Raises:
            TableNotFound: there is no such table.
            ClaimHeld: the writer is alive.
        """
        if self._remove_ghost(name):
            raise no_table(name)
        table = find_row(self.metastore, name)
        if table is not None and is_reserved(table):
            with contextlib.suppress(TableNotFound):  # its group was given up, and its name is free
                self._settled(name)
            table = find_row(self.metastore, name)
        missing = table is None
        if missing:
            self._rebuild(name)
        return missing

    def _rebuild(self, name: TableName) -> None:
        """Finish a writer that died between taking a table's row away and putting it back. Raises TableNotFound."""
        rebuilds = self.roll_forward.rebuilds
        while True:
            row, begun = rebuilds.row_or_begun(name)
            if row is not None:
                return
            if not begun:
                raise no_table(name)
            rebuild = begun[0]
            if self.heartbeats.alive(Layout(rebuild.root), rebuild.txn, self.settings.lease_seconds):
                raise _held(name, rebuild.txn)
            try:
                if rebuilds.is_prepared(name, rebuild.txn):
                    self._finish_rebuild(name, rebuild)
                else:  # its row has had its place, or the table was dropped; the process died before it cleaned up
                    rebuilds.clear(name, rebuild.txn)
            except (CorruptTable, TableNotFound):
                if rebuilds.is_prepared(name, rebuild.txn):
                    raise
                # the table was dropped with its manifests

    def _finish_rebuild(self, name: TableName, rebuild: Rebuild) -> None:
        _LOG.warning("%s: its metastore row is made anew for a writer that died (%s)", name, rebuild.txn)
        layout = Layout(rebuild.root)
        manifest = read_manifest(self.files, layout, rebuild.txn)
        self.roll_forward.run(name, layout, manifest, for_another=True)
        self.files.delete(layout.heartbeat_of(rebuild.txn))
        self._look_after(name, layout, manifest)

    def default_root(self, name: TableName) -> str:
        """The directory of a table that names none: one in the database's directory."""
        return self.roll_forward.rebuilds.default_root(name)

    def layout_of(self, table: TableState | TableDefinition) -> Layout:
        """Where a table is, or is to be made."""
        if isinstance(table, TableState):
            return table.layout
        return Layout(self.files.qualify(table.root) if table.root else self.default_root(table.name))

    def _rescue(self, state: TableState) -> None:
        """Finish the commit of the claim's holder, if it is dead."""
        assert state.claim is not None
        name = state.name
        manifest = read_manifest(self.files, state.layout, state.claim)
        manifest.require_writer(str(name))
        if self.heartbeats.alive(state.layout, state.claim, manifest.lease_seconds):
            raise _held(name, state.claim)
        now = find_row(self.metastore, name)
        if now is None or now.parameters.get(VERSION) != state.version_value:
            return  # not dead, but done meanwhile
        _LOG.warning("%s: version %d is finished for a writer that died", name, manifest.version)
        try:
            self.roll_forward.run(name, state.layout, manifest, for_another=True)
        except (Refused, UnsupportedTable) as error:
            now = find_row(self.metastore, name)
            if now is None or now.parameters.get(VERSION) != state.version_value:
                raise
            raise _refused(name, manifest, error) from error
        self.files.delete(state.layout.heartbeat_of(manifest.txn))
        self._look_after(name, state.layout, manifest)
        if manifest.group is not None:
            self._rescue_others(name, self.groups.read(state.layout, manifest.txn))

    def _rescue_others(self, name: TableName, group: Group) -> None:
        """Finish the other tables of a decided group as far as possible; whoever opens one of the rest finishes it."""
        for member in group.members:
            if member.table == name:
                continue
            try:
                self._require_row(member.table)
                state = self.current_state(member.table)
                mine = state is not None and (state.table_id, state.claim) == (member.table_id, member.txn)
                if state is not None and mine and not state.undecided:
                    self._rescue(state)
            except LakemergeError as error:
                _LOG.info("%s: its part of a group is not finished yet: %s", member.table, error)

    def _end_group(self, state: TableState) -> None:
        """End a claim that belongs to an undecided group as far as this table shows: finish it, or take it back.

        Raises:
            ClaimHeld: its writer is alive.
        """
        assert state.claim is not None
        name, txn = state.name, state.claim
        group = self.groups.read(state.layout, txn)
        own = next(member for member in group.members if member.txn == txn)
        status = self.groups.status(group)
        # a group that is over can no longer come to stand, whether its writer is alive or not
        if status is not GroupStatus.OVER:
            manifest = read_manifest(self.files, state.layout, txn)
            manifest.require_writer(str(name))
            if self.heartbeats.alive(state.layout, txn, manifest.lease_seconds):
                raise _held(name, txn)
        if self.groups.is_decided(group, status):
            _LOG.warning("%s: a commit of %d tables is finished: its writer died", name, len(group.members))
            self.groups.confirm(own)
            return
        if status is GroupStatus.UNDECIDED:
            _LOG.warning("%s: a commit of %d tables is given up: its writer died", name, len(group.members))
            self.releases.end(group)
        self.releases.release(own, group)

    def _look_after(self, name: TableName, layout: Layout, manifest: Manifest) -> None:
        """Look for what other programs wrote while the commit was made, which had to be finished for its writer."""
        if manifest.parent is not None:
            self.late.after(name, layout, read_manifest(self.files, layout, manifest.parent), manifest)

    # -- what other programs did ---------------------------------------------------------------

    def commit_external_changes(
        self, name: TableName, names: Iterable[str] | None, *, missing: bool = False
    ) -> tuple[TableState, frozenset[str]]:
        """Look whether other programs changed partitions (``None``: all) and commit what they did.

        Args:
            missing: whether to look for partitions that the table does not know as well.

        Returns:
            The state after it, and the names of the partitions that had been changed.
        """
        wanted = None if names is None else frozenset(names)
        seen: set[str] = set()
        return self.retried(
            lambda: self._commit_external_changes(name, wanted, missing, seen),
            LostRace,
            first=0.01,
            longest=0.5,
        )

    def _commit_external_changes(
        self, name: TableName, wanted: frozenset[str] | None, missing: bool, seen: set[str]
    ) -> tuple[TableState, frozenset[str]]:
        state, manifest = self.settled(name)
        changed: list[str] = []
        taken_in = 0
        while taken_in < _MAX_TAKEN_IN:
            found = self.external.inspect(state, manifest, wanted, missing=missing)
            astray = [
                partition
                for partition, entry in found.present.items()
                if (known := manifest.partitions.get(partition))
                and known.location != entry.location
                and state.layout.owns(state.layout.absolute(entry.location))
            ]
            dropped = self.roll_forward.repairs.dropped_late(state, manifest, found.absent)
            if (astray or found.strays or dropped) and state.table.partitioned:
                self.roll_forward.repairs.repair(state, [*astray, *found.strays], restore=dropped)
                state, manifest = self.settled(name)
                continue
            changed = self.external.differs(manifest, found)
            same_schema = same_keys(state.table.columns, manifest.columns)
            if not changed and same_schema:
                return state, frozenset(seen)
            policy = self.settings.on_foreign_write
            if self.external.commit(state, found, changed, policy):
                seen |= set(changed)
                taken_in += 1
            state, manifest = self.settled(name)
        raise _never_still(name, changed)


def _never_still(name: TableName, changed: list[str]) -> ForeignWrite:
    shown = ", ".join(part or "the table's files" for part in changed[:5])
    return ForeignWrite(
        expected=f"{name} not to change while the changes of other programs are adopted",
        found=f"that it had changed again after each of {_MAX_TAKEN_IN} versions that did so: {shown or 'its columns'}",
        action="Stop the program that writes to it, and run again.",
    )


def _held(name: TableName, txn: str) -> ClaimHeld:
    return ClaimHeld(
        expected=f"the newest version of {name} to be settled",
        found=f"that {txn} holds its claim and is alive",
        action="Wait for that run to end; if it hangs, end it and run lakemerge_recover.",
    )


def _refused(name: TableName, manifest: Manifest, error: LakemergeError) -> ClaimRefused:
    action = "Correct what the message names, and run again."
    if manifest.operation == RELEASE:
        action += " It undoes a version that was refused, and cannot be undone itself."
    else:
        action += (
            " If that cannot be corrected, have the version undone by "
            f"`dbt run-operation lakemerge_recover --args '{{table: {name}, undo_refused: true}}'`."
        )
    return ClaimRefused(
        expected=f"the metastore to take version {manifest.version} of {name}, which a writer that died has claimed",
        found=error.found,
        action=action,
    )


def no_table(name: TableName) -> TableNotFound:
    """The error that says that there is no table of a name."""
    return TableNotFound(
        expected=f"the table {name}",
        found="that the metastore has no such table",
        action="Check its name and the schema of the profile.",
    )
