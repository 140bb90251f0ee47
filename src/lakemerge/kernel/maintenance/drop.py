"""Dropping a table with all its versions."""

from __future__ import annotations

import contextlib

from lakemerge.errors import CorruptTable, TableTooNew
from lakemerge.kernel.kernel import Kernel
from lakemerge.kernel.ports.metastore import HiveTable
from lakemerge.kernel.ports.names import TableName
from lakemerge.kernel.protocol.drops import Leftovers
from lakemerge.kernel.table.definition import TABLE_ID
from lakemerge.kernel.table.manifests import read_manifest
from lakemerge.kernel.table.overlay import find_row, model_name
from lakemerge.kernel.table.state import state_of


def drop(kernel: Kernel, name: TableName, *, keep_files: bool = False) -> None:
    """Drop a table or view with all its versions; no error where there is none.

    The metastore's row is dropped first, so that no reader finds half a table. For a table that is merged on read, the
    base's row is dropped before the view's. A drop that died is finished by the next drop, or before the next table of
    this name is made.

    Args:
        keep_files: leave the files, as Hive does for external tables.
    """
    found = find_row(kernel.metastore, name)
    if found is not None:
        name = model_name(found)  # the view's name, if it is the base's row
    kernel.drops.finish(name)
    dropped: HiveTable | None = None
    left: Leftovers | None = None
    # a row that another process is making anew at this moment cannot be dropped now, and comes back
    while kernel.exists(name):
        table = find_row(kernel.metastore, name)
        if table is None:
            continue
        table_id = table.parameters.get(TABLE_ID, "")
        if dropped is not None and not _same(dropped, table):
            break  # the next table of the name
        if not keep_files and _has_own_files(table):
            left = kernel.drops.prepare(table)
            if left is None:
                continue
        state = state_of(table)
        if state is not None:
            kernel.creations.close_of(state.layout, table_id)
        _let_others_know(kernel, name, table_id)
        kernel.metastore.drop_table(table.name)
        dropped = table
    kernel.roll_forward.overlays.clear(name)
    if left is not None:
        kernel.drops.complete(name, left)
    elif dropped is not None and TABLE_ID in dropped.parameters:
        kernel.roll_forward.side_tables.drop(name, dropped.parameters[TABLE_ID])
    else:
        kernel.drops.finish(name)  # another process was faster, and may have died in its drop


def _same(one: HiveTable, other: HiveTable) -> bool:
    """Whether two rows of one name are of the same table. Without ids (another program's table) their times decide."""
    ids = [row.parameters.get(TABLE_ID) for row in (one, other)]
    return ids[0] == ids[1] and (ids[0] is not None or one.created == other.created)


def _let_others_know(kernel: Kernel, name: TableName, table_id: str) -> None:
    """Confirm the claims of a group that stands by this table's claim: without the table nobody would know that."""
    # the row is read again: a group may have been decided while the table's leftovers were listed
    table = find_row(kernel.metastore, name)
    if table is None or table.parameters.get(TABLE_ID, "") != table_id:
        return
    with contextlib.suppress(CorruptTable, TableTooNew):  # what is damaged may be dropped as well
        state = state_of(table)
        if state is not None and state.claim is not None and not state.undecided:
            kernel.groups.confirm_others(state.layout, read_manifest(kernel.files, state.layout, state.claim))


def _has_own_files(table: HiveTable) -> bool:
    """Whether lakemerge deletes the files of a table that is dropped; its manifest may be corrupt and is not read."""
    if table.kind == "VIRTUAL_VIEW":
        return False
    return state_of(table) is not None or (table.kind != "EXTERNAL_TABLE" and bool(table.location))
