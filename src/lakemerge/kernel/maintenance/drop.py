"""Dropping a table with all its versions."""

from __future__ import annotations

import contextlib

from lakemerge.errors import CorruptTable, TableTooNew
from lakemerge.kernel.kernel import Kernel
from lakemerge.kernel.maintenance.tag_tables import drop_tag_tables
from lakemerge.kernel.ports.metastore import HiveTable
from lakemerge.kernel.ports.names import TableName
from lakemerge.kernel.protocol.drops import Leftovers
from lakemerge.kernel.protocol.versions import lost_race
from lakemerge.kernel.table.definition import TABLE_ID, made_at
from lakemerge.kernel.table.manifests import read_manifest
from lakemerge.kernel.table.overlay import find_row, model_name
from lakemerge.kernel.table.state import state_of

# A table that is dropped may be committed to meanwhile: then its row is read again, at most this many times.
_TRIES = 100


def drop(kernel: Kernel, name: TableName, *, keep_files: bool = False) -> None:
    """Drop a table or view with all its versions; no error where there is none.

    Only the table that has the name now is dropped: one that takes the name meanwhile stays. The metastore's row goes
    first, so that no reader finds half a table; before it go the tables that show its versions, for their files go
    with it. For a table that is merged on read, the base's row is dropped before the view's. A drop that died is
    finished by the next drop, or before the next table of this name is made.

    Args:
        keep_files: leave the files, as Hive does for external tables.
    """
    found = find_row(kernel.metastore, name)
    if found is not None:
        name = model_name(found)  # the view's name, if it is the base's row
        if not keep_files:
            drop_tag_tables(kernel, found)
    kernel.drops.finish(name)
    dropped, left = _drop_row(kernel, name, keep_files=keep_files)
    kernel.roll_forward.overlays.clear(name)
    if dropped is None:
        kernel.drops.finish(name)  # another process was faster, and may have died in its drop
    elif left is not None:
        kernel.drops.complete(name, left)
    elif TABLE_ID in dropped.parameters:
        kernel.roll_forward.side_tables.drop(name, dropped.parameters[TABLE_ID])


def _drop_row(
    kernel: Kernel, name: TableName, *, keep_files: bool
) -> tuple[HiveTable | None, Leftovers | None]:
    """Take the table that has the name now out of the metastore.

    Returns:
        Its row, or ``None`` where it is not gone by this call; and what it has left to delete.
    """
    dropped: HiveTable | None = None
    left: Leftovers | None = None
    meant: HiveTable | None = None
    # a row that another process is making anew at this moment cannot be dropped now, and comes back
    while kernel.exists(name):
        table = find_row(kernel.metastore, name)
        if table is None:
            continue
        if meant is not None and not _same(meant, table):
            break  # the next table of the name
        meant = table
        if not keep_files and _has_own_files(table):
            left = kernel.drops.prepare(table)
            if left is None:
                continue
        state = state_of(table)
        if state is not None:
            kernel.creations.close_of(state.layout, state.table_id)
        if _remove(kernel, name, table):
            dropped = table
    return dropped, left


def _same(one: HiveTable, other: HiveTable) -> bool:
    """Whether two rows of one name are of the same table. It may have been adopted between the two; then the times at
    which they were made decide.
    """
    ids = [row.parameters.get(TABLE_ID) for row in (one, other)]
    return ids[0] == ids[1] if all(ids) else made_at(one) == made_at(other)


def _remove(kernel: Kernel, name: TableName, table: HiveTable) -> bool:
    """Take a table's row out of the metastore, whatever commits come between.

    Returns:
        Whether it is gone by this call; false where another process has dropped or adopted it.
    """
    for _ in range(_TRIES):
        row = find_row(kernel.metastore, name)
        if (
            row is None
            or not _same(table, row)
            or row.parameters.get(TABLE_ID) != table.parameters.get(TABLE_ID)
        ):
            return False
        _let_others_know(kernel, row)
        if kernel.removals.remove(name, row):
            return True
    raise lost_race(name)


def _let_others_know(kernel: Kernel, table: HiveTable) -> None:
    """Confirm the claims of a group that stands by this row's claim: without the table nobody would know that.

    The row is removed only if it still has this claim.
    """
    with contextlib.suppress(CorruptTable, TableTooNew):  # what is damaged may be dropped as well
        state = state_of(table)
        if state is not None and state.claim is not None and not state.undecided:
            kernel.groups.confirm_others(state.layout, read_manifest(kernel.files, state.layout, state.claim))


def _has_own_files(table: HiveTable) -> bool:
    """Whether lakemerge deletes the files of a table that is dropped; its manifest may be corrupt and is not read."""
    if table.kind == "VIRTUAL_VIEW":
        return False
    return state_of(table) is not None or (table.kind != "EXTERNAL_TABLE" and bool(table.location))
