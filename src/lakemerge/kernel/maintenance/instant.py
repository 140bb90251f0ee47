"""Several tables as they were at one moment."""

from __future__ import annotations

from collections.abc import Iterable

from lakemerge.errors import UnsupportedTable
from lakemerge.kernel.kernel import Kernel
from lakemerge.kernel.ports.metastore import HiveTable
from lakemerge.kernel.ports.names import TableName
from lakemerge.kernel.protocol.versions import LostRace
from lakemerge.kernel.table.definition import TABLE_ID, VERSION
from lakemerge.kernel.table.layout import Layout
from lakemerge.kernel.table.manifest import Manifest
from lakemerge.kernel.table.manifests import read_manifest
from lakemerge.kernel.table.overlay import find_row
from lakemerge.kernel.table.state import TableState, current_table
from lakemerge.kernel.tables import no_table

#: What changes with every commit to a table: its id and the version parameter.
_Mark = tuple["str | None", "str | None"]


def as_of_group(kernel: Kernel, names: Iterable[TableName]) -> dict[TableName, Manifest]:
    """The versions of some tables at one moment: each commit over several tables is in all of them, or in none.

    All tables are looked at twice. If none has moved on in between, then there was a moment between the two looks at
    which each had the version that is returned. A commit counts from the moment when it stands, so this may be a
    version that readers of the table find only a moment later: read by the locations that the manifest lists. Nothing
    is written, and no writer is waited for. The files stay for as long as vacuum's retention says.

    Raises:
        TableNotFound, UnsupportedTable: a table is not there, or has no versions.
        ClaimHeld: tables moved on between the looks each time, for ``claim_timeout``.
    """
    wanted = list(dict.fromkeys(names))
    return kernel.retried(lambda: _look_twice(kernel, wanted), LostRace, first=0.01, longest=0.2)


def _look_twice(kernel: Kernel, names: list[TableName]) -> dict[TableName, Manifest]:
    marks: dict[TableName, _Mark] = {}
    found = {name: _standing_version(kernel, name, marks) for name in names}
    for name in list(marks):
        _note(marks, name, find_row(kernel.metastore, name))
    return found


def _note(marks: dict[TableName, _Mark], name: TableName, row: HiveTable | None) -> None:
    """Note the mark of a table at this moment. If it was looked at before, the mark must still be the same."""
    mark = (row.parameters.get(TABLE_ID), row.parameters.get(VERSION)) if row else (None, None)
    if marks.setdefault(name, mark) != mark:
        raise LostRace(
            expected=f"{name} to be unchanged while other tables were read",
            found="that it changed each time",
            action="Run again when fewer writers are at work.",
        )


def _standing_version(kernel: Kernel, name: TableName, marks: dict[TableName, _Mark]) -> Manifest:
    """The newest version of a table that stands.

    Args:
        marks: what the answer is based on is added here.
    """
    current = current_table(kernel.metastore, kernel.files, name)
    _note(marks, name, current.table if current else None)
    if current is None:
        rebuild = kernel.roll_forward.rebuilds.exchanging(name)
        if rebuild is None:
            raise no_table(name)
        return read_manifest(kernel.files, Layout(rebuild.root), rebuild.txn)
    state = current.state
    if state is None or current.manifest is None:
        raise UnsupportedTable(
            expected=f"{name} to have versions",
            found="a table that lakemerge has never written to",
            action="Build a model on it, or read it as it is.",
        )
    if state.claim is not None and (not state.undecided or _is_decided(kernel, state, marks)):
        return read_manifest(kernel.files, state.layout, state.claim)
    if state.is_reserved:
        raise no_table(name)
    return current.manifest


def _is_decided(kernel: Kernel, state: TableState, marks: dict[TableName, _Mark]) -> bool:
    """Whether the group stands whose claim of this table is not confirmed yet: its first table shows that."""
    assert state.claim is not None
    group = kernel.groups.read(state.layout, state.claim)
    row = find_row(kernel.metastore, group.first.table)
    _note(marks, group.first.table, row)
    return kernel.groups.is_decided(group, kernel.groups.status_by(group, row))
