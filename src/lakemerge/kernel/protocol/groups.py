"""Groups: commits of several tables that stand together or not at all.

Each table is claimed first, by a claim with a mark that says that nothing is decided. The first table then decides for
all: one compare-and-swap of its version parameter either drops the mark, or ends the claim. No third process can make
both happen. Nothing else has to be looked at: whoever finds another table of the group claimed looks at the first one.

The first table is settled only when the claims of all others are confirmed, that is, have become claims like any other.
So if a claim still has the mark, and the first table has no claim of the group any more, the group was given up.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from lakemerge.errors import CorruptTable, TableTooNew
from lakemerge.kernel.ports import Ports
from lakemerge.kernel.ports.metastore import HiveTable
from lakemerge.kernel.ports.names import TableName
from lakemerge.kernel.protocol.claims import claimed_row
from lakemerge.kernel.protocol.rebuild import Rebuilds
from lakemerge.kernel.protocol.versions import Versions
from lakemerge.kernel.table.definition import TABLE_ID, TRANSACTION, UNDECIDED, VERSION
from lakemerge.kernel.table.layout import Layout
from lakemerge.kernel.table.manifest import Manifest
from lakemerge.kernel.table.manifests import commits, read_commit, read_manifest
from lakemerge.kernel.table.overlay import find_row

# Not a number, unlike a manifest's format: an older program that reads the file as a manifest reports it as too new.
_FORMAT = "group"


class GroupStatus(Enum):
    """How far a group has come, by its first table."""

    #: It is claimed, and nothing is decided.
    UNDECIDED = "undecided"
    #: It is decided, and the first table is not settled: other tables may still have the mark.
    DECIDED = "decided"
    #: It was given up, or it is finished; in the second case no other table has the mark.
    OVER = "over"
    #: There is no such table any more.
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Member:
    """A table's part of a group.

    Attributes:
        root: the table's directory, which holds the manifest of the transaction.
    """

    table: TableName
    table_id: str
    root: str
    txn: str

    @property
    def layout(self) -> Layout:
        return Layout(self.root)


@dataclass(frozen=True)
class Group:
    """A group as each of its tables keeps it.

    Attributes:
        members: in the order of their claims; the first one decides.
        parameters: what the commit sets in this table's row, for a process that confirms the claim for its writer.
    """

    members: tuple[Member, ...]
    parameters: Mapping[str, str]

    @property
    def first(self) -> Member:
        return self.members[0]

    def to_json(self) -> str:
        members = [
            {"schema": one.table.schema, "table": one.table.name, "table_id": one.table_id}
            | {"root": one.root, "txn": one.txn}
            for one in self.members
        ]
        body = {"format": _FORMAT, "members": members, "parameters": dict(self.parameters)}
        return json.dumps(body, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str, source: str) -> Group:
        """Read a group. Raises CorruptTable or TableTooNew."""
        try:
            body = json.loads(text)
            if body["format"] != _FORMAT:
                raise TableTooNew(
                    expected=f"a group in {source}",
                    found=f"format {body['format']}",
                    action="A newer lakemerge wrote it: upgrade this one.",
                )
            members = tuple(
                Member(TableName(one["schema"], one["table"]), one["table_id"], one["root"], one["txn"])
                for one in body["members"]
            )
            return cls(members, dict(body["parameters"]))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise _corrupt(source, f"{type(error).__name__}: {error}") from error


class Groups:
    """Finds out how groups stand, and confirms the claims of those that are decided."""

    def __init__(self, ports: Ports, versions: Versions, rebuilds: Rebuilds) -> None:
        self._metastore = ports.metastore
        self._files = ports.files
        self._versions = versions
        self._rebuilds = rebuilds

    def write(self, layout: Layout, txn: str, group: Group) -> None:
        """Record the group that a commit is part of, before its claim."""
        self._files.write_text(layout.group_of(txn), group.to_json())

    def read(self, layout: Layout, txn: str) -> Group:
        """The group that a commit is part of. Raises CorruptTable where its record is gone."""
        path = layout.group_of(txn)
        try:
            return Group.from_json(self._files.read_text(path), path)
        except FileNotFoundError as error:
            raise _corrupt(path, "no such file") from error

    def status(self, group: Group) -> GroupStatus:
        """How a group stands at this moment."""
        return self.status_by(group, find_row(self._metastore, group.first.table))

    @staticmethod
    def status_by(group: Group, row: HiveTable | None) -> GroupStatus:
        """How a group stands by a row of its first table's name."""
        if row is None or row.parameters.get(TABLE_ID) != group.first.table_id:
            return GroupStatus.UNKNOWN
        if _is_marked(row, group.first):
            return GroupStatus.UNDECIDED
        return GroupStatus.DECIDED if _claim_of(row) == group.first.txn else GroupStatus.OVER

    def is_marked(self, member: Member) -> bool:
        """Whether a table is claimed by its part of a group, with the mark that nothing is decided."""
        row = self._row(member)
        return row is not None and _is_marked(row, member)

    def is_reserved(self, member: Member) -> bool:
        """Whether a table's row shows nothing yet, and only takes its name."""
        row = self._row(member)
        return row is not None and row.parameters.get(TRANSACTION) == f"{member.txn}{UNDECIDED}"

    def is_decided(self, group: Group, status: GroupStatus) -> bool:
        """Whether a group stands: the first table shows this, or the others if the first one is gone."""
        if status is GroupStatus.UNKNOWN:
            return self.has_confirmed(group.members)
        return status is GroupStatus.DECIDED

    def has_confirmed(self, members: Iterable[Member]) -> bool:
        """Whether some table of a group has its commit: then it was decided, even if its first table is gone."""
        for member in members:
            for layout, newest in self._rebuilds.newest_of(member.table, member.table_id):
                found = commits(self._files, layout, read_commit(self._files, layout, newest))
                if any(commit.txn == member.txn for commit in found):
                    return True
        return False

    def confirm(self, member: Member) -> bool:
        """Remove the mark from a claim, so that it stands; for the first table, this decides the group.

        Returns:
            Whether the claim stands by this call; false if the table has no such claim, or no longer has it.
        """
        row = self._row(member)
        if row is None or not _is_marked(row, member):
            return False
        layout, claim = member.layout, member.txn
        group, manifest = self.read(layout, claim), read_manifest(self._files, layout, claim)
        parent = read_manifest(self._files, layout, manifest.parent) if manifest.parent else None
        stands = {VERSION: f"{manifest.version}:{claim}", **({} if parent else {TRANSACTION: claim})}
        return self._versions.compare_and_swap(
            row.name,
            member.table_id,
            f"{manifest.version}:{claim}{UNDECIDED}",
            stands,
            lambda row: claimed_row(row, manifest, parent, group.parameters),
            seen=row,
        )

    def confirm_others(self, layout: Layout, manifest: Manifest) -> bool:
        """Confirm all claims of a decided group, before its first table is settled.

        Args:
            layout, manifest: of any commit; only the first one of a group has others to wait for.

        Returns:
            Whether there are others.
        """
        if manifest.group != manifest.txn:
            return False
        for member in self.read(layout, manifest.txn).members[1:]:
            self.confirm(member)
        return True

    def row_of(self, member: Member) -> TableName:
        """The name of the row that has a table's versions."""
        row = self._row(member)
        return row.name if row is not None else member.table

    def _row(self, member: Member) -> HiveTable | None:
        """The row of a table, as long as it is the one that the group was begun with."""
        row = find_row(self._metastore, member.table)
        return row if row is not None and row.parameters.get(TABLE_ID) == member.table_id else None


def _claim_of(row: HiveTable) -> str:
    return row.parameters.get(VERSION, "").partition(":")[2]


def _is_marked(row: HiveTable, member: Member) -> bool:
    return _claim_of(row) == f"{member.txn}{UNDECIDED}"


def _corrupt(source: str, found: str) -> CorruptTable:
    return CorruptTable(
        expected=f"the description of a commit over several tables in {source}",
        found=found,
        action="Restore the file from a backup. Without it the claim cannot be finished or released.",
    )
