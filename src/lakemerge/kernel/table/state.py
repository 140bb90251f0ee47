"""The state of a table: what its parameters and its manifest say."""

from __future__ import annotations

from dataclasses import dataclass

from lakemerge.errors import CorruptTable
from lakemerge.kernel.ports.filesystem import FileSystem
from lakemerge.kernel.ports.metastore import HiveTable, Metastore
from lakemerge.kernel.ports.names import TableName
from lakemerge.kernel.table.definition import (
    ASIDE,
    COMMIT_COLUMN,
    ROOT,
    TABLE_ID,
    TRANSACTION,
    UNDECIDED,
    VERSION,
    same_keys,
    version_number,
)
from lakemerge.kernel.table.layout import Layout, normal
from lakemerge.kernel.table.manifest import WHOLE_TABLE, Manifest
from lakemerge.kernel.table.manifests import read_manifest
from lakemerge.kernel.table.overlay import find_row, model_name


@dataclass(frozen=True)
class TableState:
    """A table of lakemerge's at one moment.

    Attributes:
        table: the row that has the versions; the base's row if a view is in the table's place.
        version: the number of the last settled version.
        txn: its transaction.
        claim: the transaction that has claimed the next version, ``None`` when settled.
        undecided: whether the claim belongs to a group that is not decided: the next version may never exist.
    """

    table: HiveTable
    layout: Layout
    version: int
    txn: str
    claim: str | None
    table_id: str
    undecided: bool = False

    @property
    def is_reserved(self) -> bool:
        """Whether only the name is taken, for a table that an undecided group is to make."""
        return is_reserved(self.table)

    @property
    def name(self) -> TableName:
        """The name that people know the table by; its row has another while a view has its place."""
        return model_name(self.table)

    @property
    def commit_column(self) -> str:
        """The last partition column of a table of the append kind; empty for other tables."""
        return self.table.parameters.get(COMMIT_COLUMN, "")

    def is_stray(self, location: str) -> bool:
        """Whether a partition that no version has points here because a writer came too late.

        Such a location is an empty directory of a commit. If appends register partitions at their files, it may also be
        a directory with a commit's files.
        """
        found = normal(location)
        ours = (self.layout.empty, self.layout.data) if self.commit_column else (self.layout.empty,)
        return any(found.startswith(f"{normal(folder)}/") for folder in ours)

    @property
    def version_value(self) -> str:
        """The version parameter as the metastore holds it, the value to compare with."""
        return self.table.parameters[VERSION]


def is_reserved(table: HiveTable) -> bool:
    """Whether a row only holds the name of a table for a group that is not decided."""
    return table.parameters.get(TRANSACTION, "").endswith(UNDECIDED)


def state_of(table: HiveTable) -> TableState | None:
    """The state that a table's parameters describe; ``None`` for a table that lakemerge has not adopted.

    Raises:
        CorruptTable: some of the parameters are missing or not readable.
    """
    value = table.parameters.get(VERSION)
    if value is None or ASIDE in table.parameters:
        return None
    _, claimed, claim = value.partition(":")
    try:
        version = version_number(value) - (1 if claimed else 0)
        return TableState(
            table=table,
            layout=Layout(table.parameters[ROOT]),
            version=version,
            txn=table.parameters[TRANSACTION].removesuffix(UNDECIDED),
            claim=claim.removesuffix(UNDECIDED) or None,
            table_id=table.parameters[TABLE_ID],
            undecided=claim.endswith(UNDECIDED),
        )
    except (KeyError, ValueError) as error:
        raise CorruptTable(
            expected=f"the table parameters {VERSION}, {TRANSACTION}, {ROOT} and {TABLE_ID} on {table.name}",
            found=f"{VERSION}={value!r} and {type(error).__name__}: {error}",
            action="Set them back, or remove all four to have the table adopted afresh as it is.",
        ) from error


@dataclass(frozen=True)
class CurrentTable:
    """A table of the metastore as it was at one moment.

    Attributes:
        state: ``None`` if lakemerge has not adopted the table.
        manifest: of the last settled version; ``None`` with the state.
    """

    table: HiveTable
    state: TableState | None
    manifest: Manifest | None


def current_table(metastore: Metastore, files: FileSystem, name: TableName) -> CurrentTable | None:
    """See a table as it is at one moment; ``None`` where the metastore has none of this name.

    The metastore reads a table's row by several statements, and over Derby even its parameters are not of one
    moment: a commit that happens meanwhile may be half seen, with the version of one moment and the transaction, the
    columns or the location of another. The manifest shows this, because it has those of its version. A row that does
    not fit its manifest is read again until two reads agree: a change that was half seen in the first is wholly seen in
    the second.

    Raises:
        CorruptTable: the parameters contradict each other or the manifest.
    """
    before = None
    while True:
        table = find_row(metastore, name)
        if table is None:
            return None
        agrees, before = table == before, table
        state = state_of(table)
        try:
            manifest = read_manifest(files, state.layout, state.txn) if state else None
        except CorruptTable:
            if agrees:
                raise
            continue
        current = CurrentTable(table, state, manifest)
        if agrees:
            _require_version(current)
        if agrees or _fits(current):
            return current


def _fits(current: CurrentTable) -> bool:
    if current.state is None or current.manifest is None:
        return False
    # a claim may have changed the columns already
    if current.state.claim is None and not same_keys(current.table.columns, current.manifest.columns):
        return False
    whole = current.manifest.partitions.get(WHOLE_TABLE)
    if whole and normal(current.table.location) != normal(current.state.layout.absolute(whole.location)):
        return False
    return _has_version(current.state, current.manifest)


def _has_version(state: TableState, manifest: Manifest) -> bool:
    # a table that is being made has the first version's transaction from the beginning; elsewhere a claim of the very
    # transaction that is settled has been read half
    being_made = manifest.parent is None and state.claim == state.txn
    return manifest.version == state.version or being_made


def _require_version(current: CurrentTable) -> None:
    state, manifest = current.state, current.manifest
    if state and manifest and not _has_version(state, manifest):
        raise CorruptTable(
            expected=f"{current.table.name} to be at the version of its transaction {state.txn}, {manifest.version}",
            found=f"{VERSION}={state.version_value!r}",
            action="Another program has set one of the two; set it back.",
        )
