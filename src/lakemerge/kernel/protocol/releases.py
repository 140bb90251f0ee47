"""Claims that are ended: those of undecided groups, and those that the metastore refuses to show.

An undecided group is given up by its writer, or by whoever finds the writer dead. A claim that stands is never taken
back by a program alone: if the metastore refuses it for good, an operator may have it undone.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace

from lakemerge.errors import LakemergeError, UnsupportedTable
from lakemerge.kernel.ports import Ports
from lakemerge.kernel.ports.metastore import HiveTable
from lakemerge.kernel.ports.system import new_transaction_id, timestamp
from lakemerge.kernel.protocol.claims import claimed_row
from lakemerge.kernel.protocol.drops import Drops, Leftovers
from lakemerge.kernel.protocol.groups import Group, Groups, GroupStatus, Member
from lakemerge.kernel.protocol.rebuild import makes_row_anew, old_name
from lakemerge.kernel.protocol.versions import Versions
from lakemerge.kernel.table.definition import (
    COMMIT_COLUMN,
    TRANSACTION,
    UNDECIDED,
    VERSION,
    moved,
    settled_value,
)
from lakemerge.kernel.table.layout import SIDECARS
from lakemerge.kernel.table.manifest import RELEASE, WHOLE_TABLE, Manifest
from lakemerge.kernel.table.manifests import read_manifest, write_manifest
from lakemerge.kernel.table.state import TableState

_LOG = logging.getLogger("lakemerge")


class Releases:
    """Ends groups that are not decided."""

    def __init__(
        self, ports: Ports, versions: Versions, groups: Groups, drops: Drops, writer: Mapping[str, str]
    ) -> None:
        """
        Args:
            writer: who takes claims back, for the manifests.
        """
        self._files = ports.files
        self._clock = ports.clock
        self._host = ports.host
        self._versions = versions
        self._groups = groups
        self._drops = drops
        self._writer = writer

    def give_up(self, members: tuple[Member, ...]) -> None:
        """Take back the claims of a group that its own writer ends: the first one, then those that depend on it."""
        for member in members:
            self._release(member)

    def end(self, group: Group) -> None:
        """End a group whose writer is taken for dead, unless it is decided by now; its claims may then be released.

        The writer may be asleep, and decide the group when it wakes up. So the first table does not just go back to the
        version before: the writer might claim the next one again by a call that is still on its way. Instead the table
        goes on to a new version that changes nothing.
        """
        first = group.first
        manifest = read_manifest(self._files, first.layout, first.txn)
        if manifest.parent is None:
            self._release(first)
            return
        before = read_manifest(self._files, first.layout, manifest.parent)
        version = before.followed_by(
            txn=new_transaction_id(self._clock, self._host),
            operation=RELEASE,
            committed_at=timestamp(self._clock),
            fenced=(first.txn,),
            writer=self._writer,
        )
        write_manifest(self._files, first.layout, version, before)
        self._versions.compare_and_swap(
            self._groups.row_of(first),
            first.table_id,
            _claim(manifest),
            {VERSION: settled_value(version.version, first.table_id), TRANSACTION: version.txn},
        )

    def undo(self, row: HiveTable, state: TableState) -> bool:
        """Claim a version that restores the one before a claim, in the claim's place; the caller rolls it forward.

        The version has the number of the claimed one, which no reader may ever see, and fences its writer.

        Args:
            row: as it is now, with the claim.

        Returns:
            False, and nothing is done, if the claim is itself of a version that undoes one: another would make the same
            calls, and name the wrong transaction as the one that it undoes.

        Raises:
            UnsupportedTable: there is no version before.
        """
        assert state.claim is not None, "there is a claim"
        claimed = read_manifest(self._files, state.layout, state.claim)
        if claimed.operation == RELEASE:
            return False
        if claimed.parent is None:
            raise UnsupportedTable(
                expected=f"a version of {state.name} before the one that is claimed",
                found="that the claim is that of the table's first version, so that there are no rows yet",
                action="Drop the table (lakemerge_drop), and run its model again.",
            )
        before = read_manifest(self._files, state.layout, claimed.parent)
        # a row that was to take the table's place has partitions of its own
        touched = frozenset() if makes_row_anew(before, claimed) else claimed.touched
        back = tuple(sorted(touched & before.partitions.keys()))
        gone = tuple(sorted(touched - before.partitions.keys() - {WHOLE_TABLE}))
        version = before.followed_by(
            txn=new_transaction_id(self._clock, self._host),
            operation=RELEASE,
            committed_at=timestamp(self._clock),
            written=back,
            removed=gone,
            rewritten=tuple(sorted((*back, *gone))),
            unread=(),
            fenced=(claimed.txn,),
            writer=self._writer,
        )
        write_manifest(self._files, state.layout, version, before)
        keys = [column.name for column in before.partition_columns]
        column = row.parameters.get(COMMIT_COLUMN, "")
        parameters = {COMMIT_COLUMN: ""} if column and column not in keys else {}
        self._versions.compare_and_swap(
            row.name,
            state.table_id,
            state.version_value,
            {VERSION: f"{version.version}:{version.txn}"},
            lambda row: claimed_row(row, version, claimed, parameters),
        )
        return True

    def release(self, own: Member, group: Group) -> None:
        """Take back the claims of a group, unless it is or may be decided.

        Args:
            own: the table for which the caller asks; the claims of the others are taken back as far as that works.
        """
        status = self._groups.status(group)
        if status is GroupStatus.UNDECIDED or self._groups.is_decided(group, status):
            return
        self._release(own)
        for other in group.members[1:]:
            try:
                self._release(other)
            except LakemergeError as error:
                _LOG.info("%s: its claim is not released yet: %s", other.table, error)

    def _release(self, member: Member) -> None:
        """Take back a claim that says that nothing is decided; does nothing if there is no such claim."""
        if not self._groups.is_marked(member):
            return
        if self._groups.is_reserved(member):
            self._withdraw(member)
            return
        manifest = read_manifest(self._files, member.layout, member.txn)
        before = {VERSION: settled_value(manifest.version - 1, member.table_id)}
        row = self._groups.row_of(member)
        self._versions.compare_and_swap(row, member.table_id, _claim(manifest), before)

    def _withdraw(self, member: Member) -> None:
        """Remove a table that was only a name. Its row goes aside first, because a drop cannot compare."""
        layout, txn = member.layout, member.txn
        aside = old_name(member.table, txn)
        paths = (
            layout.data_of(txn),
            *(layout.sidecar_of(kind, txn) for kind in SIDECARS),
            layout.empty_of(txn),
        )
        left = Leftovers(member.table_id, layout.root, whole=False, paths=paths, aside=aside.name)
        claim = f"1:{txn}{UNDECIDED}"

        def move_aside() -> None:
            self._versions.compare_and_swap(
                member.table,
                member.table_id,
                claim,
                {VERSION: f"{claim}:replaced"},
                lambda row: moved(replace(row, name=aside), layout.empty_of(txn)),
            )

        self._drops.withdraw(member.table, left, move_aside)


def _claim(manifest: Manifest) -> str:
    """The value of the version parameter of a claim that says that nothing is decided."""
    return f"{manifest.version}:{manifest.txn}{UNDECIDED}"
