"""The view of a table that is merged on read: put in the table's place, given the deltas to merge, and taken away.

When the view comes or goes, the table's row is renamed, with all its partitions, and the name is missing between two
calls of the metastore. Each step depends on a parameter that only this commit has set, so a step may be done twice, by
two processes, and as late as it happens.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from dataclasses import replace

from lakemerge.errors import MetastoreError
from lakemerge.kernel.ports import Ports
from lakemerge.kernel.ports.metastore import DDL_TIME, HiveColumn, HiveTable, Refused, ReplyLost
from lakemerge.kernel.ports.names import TableName
from lakemerge.kernel.protocol.removals import Removals
from lakemerge.kernel.protocol.trials import Trials
from lakemerge.kernel.protocol.versions import Versions
from lakemerge.kernel.table.definition import (
    TABLE_ID,
    TRANSACTION,
    VERSION,
    is_settled_at,
    moved,
    settled_value,
    with_parameters,
)
from lakemerge.kernel.table.layout import Layout
from lakemerge.kernel.table.manifest import WHOLE_TABLE, Manifest
from lakemerge.kernel.table.overlay import (
    BASE,
    DELTAS,
    MADE_BY,
    NO_VERSION,
    SHOWS,
    Overlay,
    as_base,
    as_table,
    base_name,
    find_row,
    has_base,
    is_overlay_view,
    shown_version,
    view_row,
)
from lakemerge.kernel.table.side_tables import SIDE_TABLES
from lakemerge.kernel.table.spark_schema import spelling_of, with_spelling

_LOG = logging.getLogger("lakemerge")
_TRIES = 8
# A view must be able to name this many deltas when it is made. A metastore may limit the length of a view.
_ROOM = 20
# A view of more characters may be refused by some metastore: one on Derby takes 32,700.
_LONG = 24_000


class Overlays:
    """Renames tables to bases and back, and makes their views."""

    def __init__(
        self,
        ports: Ports,
        versions: Versions,
        removals: Removals,
        trials: Trials,
        step: Callable[[str], None],
    ) -> None:
        self._metastore = ports.metastore
        self._versions = versions
        self._removals = removals
        self._trials = trials
        self._step = step

    def lay(self, name: TableName, layout: Layout, manifest: Manifest) -> None:
        """Rename the table to its base, make the view, and settle the version.

        Raises:
            MetastoreError: another program has made a table of the name in between.
        """
        overlay = manifest.overlay
        assert overlay is not None, "the commit makes a view"
        claim = _claim_of(manifest)
        base = TableName(name.schema, overlay.base)

        def to_base(row: HiveTable) -> HiveTable:
            # to another location: a row that keeps its location when it is renamed would take the files along
            return moved(as_base(row, overlay), layout.empty_of(manifest.txn))

        self._versions.compare_and_swap(name, manifest.table_id, claim, {VERSION: claim}, to_base)
        self._step("table renamed")
        self._versions.compare_and_swap(
            base,
            manifest.table_id,
            claim,
            {VERSION: claim},
            lambda row: moved(row, _location(layout, manifest)),
        )
        for _ in range(_TRIES):
            if not self._has_claim(base, manifest):
                return  # another process has settled it
            if self._make_view(name, manifest, overlay):
                break
            self._free_name(name, base, manifest)
        else:
            raise _in_the_way(name)
        self._step("view made")
        self._settle(base, layout, manifest, lambda row: row)

    def take(self, name: TableName, layout: Layout, manifest: Manifest, overlay: Overlay) -> None:
        """Take the view away, give its base the name, and settle the version.

        Args:
            overlay: of the version before, or of the claim that this one undoes.

        Raises:
            MetastoreError: another program has made a table of the name in between.
        """
        claim, empty = _claim_of(manifest), layout.empty_of(manifest.txn)
        base = TableName(name.schema, overlay.base)
        if self._has_claim(name, manifest):
            # an undone claim had not come as far as to give the name to its view
            self.drop_deltas(name, overlay.made_by)
            self._settle(name, layout, manifest, lambda row: row)
            return
        for _ in range(_TRIES):
            if not self._has_claim(base, manifest):
                break  # another process has settled it
            self._drop_made_by(name, name, overlay.made_by)
            self.drop_deltas(name, overlay.made_by)
            self._step("view removed")
            if self._free_name(name, base, manifest):
                # to another location: a row that keeps its location when it is renamed would take the files along
                self._versions.compare_and_swap(
                    base, manifest.table_id, claim, {VERSION: claim}, lambda row: moved(row, empty)
                )
                with contextlib.suppress(Refused):  # the name was taken just then: look again
                    self._settle(base, layout, manifest, as_table)
        else:
            raise _in_the_way(name)

    def probe(self, name: TableName, overlay: Overlay, columns: tuple[HiveColumn, ...]) -> None:
        """Make a view like the planned one and drop it again, before the table gives its name to the planned one.

        Raises:
            UnsupportedTable: the metastore refuses it, for instance because of its length or a missing privilege.
        """
        self._try_out(
            name,
            view_row(overlay, name.schema, columns, [overlay.made_by] * _ROOM),
            "Leave write_mode at copy_on_write, or correct what the message names. A metastore on Derby takes 32,700 "
            "characters.",
        )

    def require_room(self, name: TableName, manifest: Manifest) -> None:
        """Make sure, before a version is claimed, that the metastore takes the version's view, if that is a long one.

        Raises:
            UnsupportedTable: it does not.
        """
        if manifest.overlay is None:
            return
        columns = (*manifest.columns, *manifest.partition_columns)
        row = view_row(manifest.overlay, name.schema, columns, manifest.sidecars.get(DELTAS, ()))
        if len(row.view_text) > _LONG:
            self._try_out(
                name, row, "Compact its deltas (dbt run-operation lakemerge_compact), and run again."
            )

    def _try_out(self, name: TableName, row: HiveTable, action: str) -> None:
        what = f"a view of {len(row.view_text)} characters in the place of {name}"
        self._trials.require(name, row, what, action)

    def ensure(self, name: TableName, manifest: Manifest) -> None:
        """Make the view of a settled version again, if another program has dropped it, and let it show the version."""
        if manifest.overlay is not None:
            self.show(name, manifest)

    def show(self, name: TableName, manifest: Manifest) -> None:
        """Let the view merge the deltas of a version with the base, by one call; if it shows a later version, it stays.

        A query has read the view's text either before or after this call. The call compares before it writes, so it
        may come as late as it happens. What others have done to the view is put right: a missing view, another text, or
        a view that the writer of an earlier version made too late.

        Raises:
            ReplyLost: no answer came.
        """
        overlay = manifest.overlay
        assert overlay is not None, "there is a view"
        text = overlay.naming(manifest.sidecars.get(DELTAS, ()))
        base = TableName(name.schema, overlay.base)
        for _ in range(_TRIES):
            row = self._versions.row_to_change(name)
            if row is None:
                if not self._is_newest(base, manifest):
                    return  # others have gone on, or dropped the table
                _LOG.warning("%s: its view was missing and has been made again", name)
                self._make_view(name, manifest, overlay)
                continue
            if not is_overlay_view(row):
                return  # another program's; the next run reports it
            if row.parameters[MADE_BY] != overlay.made_by:
                # the row was read before this check of the version, so it is not a later version's view
                if row.parameters[BASE] != base.name or not self._is_newest(base, manifest):
                    return
                self._drop_made_by(name, name, row.parameters[MADE_BY])
                continue
            shown = shown_version(row)
            if row.view_text == text or shown > manifest.version:
                return
            if shown in (manifest.version, NO_VERSION):
                _LOG.warning("%s: another program has changed the text of its view; it is put back", name)
            changed = replace(with_parameters(row, {SHOWS: _claim_of(manifest)}), view_text=text)
            if self._versions.change_if(name, SHOWS if SHOWS in row.parameters else MADE_BY, row, changed):
                return
        raise ReplyLost(
            expected=f"the metastore to say whether {name} shows version {manifest.version}",
            found="no answer",
            action="Run lakemerge_recover, which shows it; the commit itself stands.",
        )

    def require_named(self, name: TableName, row: HiveTable, manifest: Manifest) -> None:
        """Make sure that a commit whose table has lost its name does not wait at the base, where nobody finds it.

        Args:
            row: what has the name, and does not hold the commit's claim.

        Raises:
            MetastoreError: it does; another program's table has the name.
        """
        is_other = row.parameters.get(TABLE_ID) != manifest.table_id
        if is_other and self._has_claim(base_name(name), manifest):
            raise _in_the_way(name)

    def require_free(self, name: TableName, manifest: Manifest) -> None:
        """Make sure that a table that has just been made does not have the name of another one.

        Raises:
            MetastoreError: it was made while the name was missing, because the other table was getting a view.
        """
        if manifest.parent is None and has_base(self._metastore, name):
            raise _in_the_way(name)

    def clear(self, name: TableName) -> None:
        """Drop a view that has no base any more, and a row that was renamed in order to be dropped."""
        self._removals.clear(name)
        row = self._metastore.get_table(name)
        if row is not None and is_overlay_view(row) and find_row(self._metastore, name) is None:
            self.drop_deltas(name, row.parameters[MADE_BY])
            self._drop_made_by(name, name, row.parameters[MADE_BY])

    def deltas_made_by(self, name: TableName) -> str | None:
        """The transaction that has made the table of a table's deltas; ``None`` where there is none of ours."""
        row = self._metastore.get_table(SIDE_TABLES[DELTAS].name_of(name))
        return None if row is None else row.parameters.get(MADE_BY)

    def drop_deltas(self, name: TableName, made_by: str) -> None:
        """Drop the table of a table's deltas, if it is the one that a transaction has made."""
        self._drop_made_by(name, SIDE_TABLES[DELTAS].name_of(name), made_by)

    # -- steps ---------------------------------------------------------------------------------

    def _make_view(self, name: TableName, manifest: Manifest, overlay: Overlay) -> bool:
        """Make the view unless it is there; false where something else has the name, or its base is gone."""
        columns = (*manifest.columns, *manifest.partition_columns)
        base = self._metastore.get_table(TableName(name.schema, overlay.base))
        if base is None:
            return False
        row = view_row(overlay, name.schema, columns, manifest.sidecars.get(DELTAS, ()))
        of_version = {TABLE_ID: manifest.table_id, SHOWS: _claim_of(manifest)}
        # not the present second, which may be the plain table's too: a process about to adopt that compares the time
        row = with_parameters(row, {**of_version, DDL_TIME: base.parameters[DDL_TIME]})
        row = with_spelling(row, spelling_of(base))
        try:
            self._metastore.create_table(row)
        except ReplyLost:
            return False  # the next try finds out
        except Refused as error:
            if error.kind != "AlreadyExistsException":
                raise
            found = self._metastore.get_table(name)
            return (
                found is not None and is_overlay_view(found) and found.parameters[MADE_BY] == overlay.made_by
            )
        return True

    def _drop_made_by(self, name: TableName, row: TableName, transaction: str) -> None:
        """Drop a table's view, or the table of its deltas, if it is the one that a transaction has made."""
        self._removals.drop_if(name, row, MADE_BY, transaction)

    def _free_name(self, name: TableName, base: TableName, manifest: Manifest) -> bool:
        """Take away a view of the base that a writer of an earlier version has made too late.

        The view is read before the claim is checked. While the claim is held there is no later version, so the view is
        not a later version's.

        Returns:
            Whether the name is free.
        """
        row = self._metastore.get_table(name)
        if row is not None and is_overlay_view(row) and row.parameters[BASE] == base.name:
            made_by = row.parameters[MADE_BY]
            own = manifest.overlay is not None and made_by == manifest.overlay.made_by
            if not own and self._has_claim(base, manifest):
                self._drop_made_by(name, name, made_by)
                row = self._metastore.get_table(name)
        return row is None

    def _settle(
        self,
        base: TableName,
        layout: Layout,
        manifest: Manifest,
        change: Callable[[HiveTable], HiveTable],
    ) -> None:
        location = _location(layout, manifest)
        settled = {VERSION: settled_value(manifest.version, manifest.table_id), TRANSACTION: manifest.txn}
        self._versions.compare_and_swap(
            base, manifest.table_id, _claim_of(manifest), settled, lambda row: moved(change(row), location)
        )

    def _has_claim(self, name: TableName, manifest: Manifest) -> bool:
        return self._version_of(name, manifest) == _claim_of(manifest)

    def _is_newest(self, name: TableName, manifest: Manifest) -> bool:
        """Whether a row still has a version's claim, or has the version settled and no later one claimed."""
        found = self._version_of(name, manifest)
        return found == _claim_of(manifest) or is_settled_at(found, manifest.version)

    def _version_of(self, name: TableName, manifest: Manifest) -> str:
        """The version parameter of a row of a manifest's table; empty where there is none."""
        row = self._metastore.get_table(name)
        if row is None or row.parameters.get(TABLE_ID) != manifest.table_id:
            return ""
        return row.parameters.get(VERSION, "")


def _claim_of(manifest: Manifest) -> str:
    return f"{manifest.version}:{manifest.txn}"


def _location(layout: Layout, manifest: Manifest) -> str:
    whole = manifest.partitions.get(WHOLE_TABLE)
    return layout.absolute(whole.location) if whole else layout.root


def _in_the_way(name: TableName) -> MetastoreError:
    return MetastoreError(
        expected=f"the name {name} to be free while its table and its view change places",
        found="that another program has made a table or view of this name in between",
        action="Rename or drop that one, and run lakemerge_recover.",
    )
