"""Rows of tables that a commit makes: put into the metastore, or found to be there although no answer came."""

from __future__ import annotations

from collections.abc import Callable

from lakemerge.kernel.commit.table_commit import TableCommit
from lakemerge.kernel.ports.metastore import DDL_TIME, HiveTable, Refused, ReplyLost, ValueChanged
from lakemerge.kernel.table.definition import with_parameters
from lakemerge.kernel.table.overlay import is_overlay_view
from lakemerge.kernel.tables import Tables

# How often a row is sent, the first time included, as long as no answer comes.
_SENDS = 4


class NewRows:
    """Makes the rows of new tables."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._metastore = tables.metastore

    def put(self, table: TableCommit, row: HiveTable, is_made: Callable[[], bool]) -> None:
        """Make a table's row; it is there afterwards, or was.

        Args:
            is_made: whether the table is there, or has been replaced by what is there, after an error.

        Raises:
            CommitConflict: another writer has made a table of the name, or has taken this one for dead.
            Refused: the metastore does not take the row.
            ReplyLost: no answer came, and the row is not there; it may yet come.
        """
        lost: list[ReplyLost] = []
        try:
            for _ in range(_SENDS):
                if self._is_sent(table, row, is_made, lost):
                    return
        except Refused as error:
            if lost:
                raise lost[-1] from error  # it may yet come, whatever was refused since
            raise
        raise lost[-1] if lost else table.is_made_by_another()

    def _is_sent(
        self, table: TableCommit, row: HiveTable, is_made: Callable[[], bool], lost: list[ReplyLost]
    ) -> bool:
        """Send a row once; whether it is there. A send without an answer is added to ``lost``."""
        if not self._tables.creations.is_open(table.layout, table.txn):
            if is_made():
                return True  # an earlier send without an answer has made it, and it is about to be dropped
            raise table.was_silent()
        try:
            self._send(table, row)
            return True
        except ValueChanged:
            return False  # the view that gives way was changed meanwhile, or an earlier send has come
        except ReplyLost as error:
            lost.append(error)
            refused = None
        except Refused as error:
            refused = error
        if is_made():
            return True
        if self._in_the_way(table) is not None:
            raise table.is_made_by_another() from refused
        if refused is not None:
            raise refused
        return False

    def _send(self, table: TableCommit, row: HiveTable) -> None:
        view = self._view_of(table)
        if view is None:
            self._metastore.create_table(row)
            return
        # one call, so that the name always has a relation; whoever compares the time of the view finds another
        before = view.parameters[DDL_TIME]
        row = with_parameters(row, {DDL_TIME: str(int(before) + 1)})
        self._tables.versions.alter(view.name, row, (DDL_TIME, before))

    def _view_of(self, table: TableCommit) -> HiveTable | None:
        """The view that gives way to the table."""
        row = self._metastore.get_table(table.table) if table.replaces_view else None
        is_other = row is not None and row.kind == "VIRTUAL_VIEW" and not is_overlay_view(row)
        return row if is_other else None

    def _in_the_way(self, table: TableCommit) -> HiveTable | None:
        row = self._metastore.get_table(table.table)
        return None if row is not None and self._view_of(table) is not None else row

    def make_room(self, table: TableCommit) -> None:
        """Remove the view that gives way to the table, by a call of its own."""
        while (view := self._view_of(table)) is not None:
            table.removed_view = view
            self._tables.removals.remove(view.name, view)

    def put_back(self, table: TableCommit) -> None:
        """Make the view again that has given way to a table which is not made after all."""
        view, table.removed_view = table.removed_view, None
        if view is not None and self._metastore.get_table(view.name) is None:
            self._metastore.create_table(view)
