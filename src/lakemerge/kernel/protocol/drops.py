"""Drops: the metastore's row goes first, then what the table has left in its directory.

Another table may take the name, and with it the directory, as soon as the row is gone. So the paths to delete are
listed in a file while the table is still there. If the drop dies, whoever comes next finishes it from that file. A
later table's files are in no such list.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace

from lakemerge.errors import CorruptTable, TableTooNew
from lakemerge.kernel.ports import Ports
from lakemerge.kernel.ports.metastore import HiveTable
from lakemerge.kernel.ports.names import TableName
from lakemerge.kernel.protocol.creations import Creations
from lakemerge.kernel.protocol.lease import Heartbeats
from lakemerge.kernel.protocol.overlays import Overlays
from lakemerge.kernel.protocol.rebuild import Rebuilds
from lakemerge.kernel.protocol.removals import Removals
from lakemerge.kernel.table.definition import TABLE_ID, made_at
from lakemerge.kernel.table.layout import CONTROL, Layout, normal
from lakemerge.kernel.table.manifests import read_commit
from lakemerge.kernel.table.overlay import find_row, model_name
from lakemerge.kernel.table.side_tables import SideTables
from lakemerge.kernel.table.staged_version import StagedVersion
from lakemerge.kernel.table.state import state_of

# Files are deleted for at most this long before the table that has the name is looked up again.
_LOOK_SECONDS = 1.0


@dataclass(frozen=True)
class Leftovers:
    """What a table that is about to be dropped leaves behind.

    Attributes:
        table_id: the table's id; empty if the table was never adopted.
        root: its directory.
        whole: whether the whole directory is deleted; otherwise only what lakemerge has made in it.
        paths: what is to be deleted in it.
        created: when the metastore made the table; distinguishes a table that was never adopted from the next one of
            its name.
        aside: the name that its row is given before it is dropped; empty if the row keeps its own.
    """

    table_id: str
    root: str
    whole: bool
    paths: tuple[str, ...] = ()
    created: int = 0
    aside: str = ""

    def are_of(self, table: HiveTable) -> bool:
        """Whether this is the table that was to be dropped; true as well if that cannot be known."""
        if self.table_id:
            return table.parameters.get(TABLE_ID) == self.table_id
        # it may have been adopted since, and has an id by now
        return self.created in (0, made_at(table))


class Drops:
    """Deletes what dropped tables have left."""

    def __init__(
        self,
        ports: Ports,
        rebuilds: Rebuilds,
        removals: Removals,
        overlays: Overlays,
        side_tables: SideTables,
        heartbeats: Heartbeats,
        creations: Creations,
        lease_seconds: float,
    ) -> None:
        self._metastore = ports.metastore
        self._files = ports.files
        self._clock = ports.clock
        self._rebuilds = rebuilds
        self._removals = removals
        self._overlays = overlays
        self._side_tables = side_tables
        self._heartbeats = heartbeats
        self._creations = creations
        self._lease = lease_seconds

    def prepare(self, table: HiveTable) -> Leftovers | None:
        """List what a table will leave, for those who finish its drop; ``None`` where it is another table by now."""
        state = state_of(table)
        table_id, root = (state.table_id, state.layout.root) if state else ("", table.location)
        # an adopted external table's own files are somebody else's; what lakemerge made of it is not
        left = Leftovers(
            table_id, root, whole=state is None or table.kind != "EXTERNAL_TABLE", created=made_at(table)
        )
        left = replace(left, paths=tuple(self._left(left)))
        name = model_name(table)
        self._list(name, left)
        # what was listed is this table's only if no other had taken its place by then
        found = find_row(self._metastore, name)
        if found is not None and found.parameters.get(TABLE_ID, "") == table_id:
            return left
        if found is not None and not left.are_of(found):
            self._files.delete(self._path(name))
        elif found is not None:
            # adopted meanwhile; another process may be about to drop it by that id, with a list that this one replaced
            self.prepare(found)
        # otherwise another process has dropped the table; it may die, and then its list, or this one, is needed
        return None

    def withdraw(self, name: TableName, left: Leftovers, move_aside: Callable[[], None]) -> None:
        """Remove a table that never stood, if it is still the one that is meant.

        Args:
            move_aside: renames its row to ``left.aside``, if the row may be removed.
        """
        self._list(name, left)
        move_aside()
        found = self._metastore.get_table(name)
        if found is not None and found.parameters.get(TABLE_ID) == left.table_id:
            self._files.delete(self._path(name))  # it stands by now
        else:
            self.complete(name, left)

    def remove_row(self, name: TableName, left: Leftovers, move_aside: Callable[[], bool]) -> bool:
        """Remove the row, but no file, of a table whose maker came too late: others may have committed to it.

        Args:
            move_aside: renames the row to ``left.aside``, if the row may be removed, and returns whether it did.
        """
        before = self._listed(name)
        if before is not None and before.table_id != left.table_id:
            before = None
        if before is not None:  # whoever finishes that drop needs its list as well
            left = replace(before, aside=left.aside)
        self._list(name, left)
        gone = move_aside()
        self._removals.drop_passing(TableName(name.schema, left.aside))
        if self._listed(name) == left:
            if before is not None:
                self._list(name, before)
            else:
                self._files.delete(self._path(name))
        return gone

    def _list(self, name: TableName, left: Leftovers) -> None:
        """Write a table's list, which takes the place of any other."""
        # the drop of an earlier table may have left a list and died: only that list names the row that it moved aside
        self.finish(name)
        self._files.write_text(self._path(name), json.dumps(asdict(left)))

    def _left(self, left: Leftovers) -> Iterator[str]:
        layout = Layout(left.root)
        if left.whole:
            yield from (entry.path for entry in self._files.list(layout.root) if entry.name != CONTROL)
        # the files of a transaction that may still make the next table of the name are not this table's
        yield from self._made(layout, without=self._creations.open_in(layout))
        # its maker may be alive, and die when its row is gone: without its manifest, a call of it that comes late makes
        # no table again
        for txn in self._creations.makers_of(layout, left.table_id):
            yield layout.manifest_of(txn)
            yield layout.data_of(txn)

    def _made(self, layout: Layout, without: Iterable[str]) -> Iterator[str]:
        """What transactions have made, except some and the live ones: those clean up, or make the next table."""
        folders = [entry.path for entry in self._files.list(layout.control) if entry.is_directory]
        found = [entry for folder in folders for entry in self._files.list(folder)]
        kept = {
            entry.name
            for entry in self._files.list(layout.open)
            if not entry.name.startswith(".") and self._heartbeats.alive(layout, entry.name, self._lease)
        }
        kept.update(without)
        for entry in found:
            if _transaction_of(entry.path) not in kept:
                yield entry.path

    def complete(self, name: TableName, left: Leftovers) -> None:
        """Delete what a table whose row is gone has left.

        The files of the next table of the name stay: another program may have put them in the same places.
        """
        self._overlays.clear(name)
        if left.aside:
            self._removals.drop_passing(TableName(name.schema, left.aside))
        self._side_tables.drop(name, left.table_id)
        self._delete(name, dict.fromkeys((*left.paths, *self._made_since(name, left))))
        self._files.delete(self._path(name))
        layout = Layout(left.root)
        self._prune(layout.root if left.whole else layout.control)

    def _delete(self, name: TableName, paths: Iterable[str]) -> None:
        """Delete paths, except those that overlap the files of a table that has the name now, looked up repeatedly."""
        looked: float | None = None
        live: list[str] = []
        for path in paths:
            if looked is None or self._clock.monotonic() - looked >= _LOOK_SECONDS:
                table = find_row(self._metastore, name)
                live = self._places(table) if table and table.location else []
                looked = self._clock.monotonic()
            if not any(_overlap(path, place) for place in live):
                self._files.delete(path)

    def _places(self, table: HiveTable) -> list[str]:
        """Where a table's files are."""
        if not table.partitioned:
            return [table.location]
        names = self._metastore.partition_names(table.name)
        return [partition.location for partition in self._metastore.partitions(table.name, names)]

    def _made_since(self, name: TableName, left: Leftovers) -> list[str]:
        """What has been made since the list, and surely belongs to no other table, whatever has become of the name.

        That is what transactions of this very table have made, and those that were to make the next one and can no
        longer do so. Files of programs that are no transactions may be another table's by now.
        """
        layout = Layout(left.root)
        found = list(self._made(layout, ()))
        begun = set(self._creations.open_in(layout))
        sleeping = {txn for txn in map(_transaction_of, found) if txn in begun}
        self._creations.close(layout, sleeping)
        if not self._is_gone(
            name
        ):  # asked after their files were deleted: one of them may have made the table
            sleeping = set()
        own: dict[str, bool] = {}
        for txn in map(_transaction_of, found):
            if txn not in own:
                own[txn] = txn in sleeping or (
                    bool(left.table_id) and self._table_of(layout, txn) == left.table_id
                )
        return [path for path in found if own[_transaction_of(path)]]

    def _table_of(self, layout: Layout, txn: str) -> str:
        """The id of the table that a dead transaction belongs to; empty where it has left no word of that."""
        with contextlib.suppress(CorruptTable, TableTooNew):
            return read_commit(self._files, layout, txn).table_id
        with contextlib.suppress(FileNotFoundError, CorruptTable, TableTooNew):
            path = layout.staged_of(txn)
            return StagedVersion.from_json(self._files.read_text(path), path).manifest.table_id
        return self._heartbeats.table_of(layout, txn)

    def _is_gone(self, name: TableName) -> bool:
        """Whether there is no table, nor one whose row is being made anew."""
        return self._rebuilds.row_or_begun(name) == (None, [])

    def _prune(self, folder: str) -> None:
        """Remove the empty directories in a directory, and the directory itself if nothing is left in it."""
        for entry in self._files.list(folder):
            if entry.is_directory:
                self._prune(entry.path)
        self._files.delete_if_empty(folder)

    def finish(self, name: TableName) -> None:
        """Delete what a table has left if its drop died after it had removed the metastore's row."""
        left = self._listed(name)
        if left is None:
            return
        table = find_row(self._metastore, name)
        if table is not None and left.are_of(table):
            return  # it is about to be dropped, or a drop has died: the next one lists anew
        if table is not None or self._is_gone(name):
            self.complete(name, left)
        # otherwise its row, or the next table's, is on its way

    def _listed(self, name: TableName) -> Leftovers | None:
        try:
            return _parsed(self._files.read_text(self._path(name)))
        except FileNotFoundError:
            return None

    def _path(self, name: TableName) -> str:
        return Layout(self._rebuilds.default_root(name)).dropping


def _transaction_of(path: str) -> str:
    """The transaction whose file or folder this is: ``…/<txn>``, ``…/<txn>.json``, or one of these being written."""
    return path.rpartition("/")[2].removeprefix(".").partition(".")[0]


def _overlap(path: str, place: str) -> bool:
    """Whether one of two is the other, or lies below it."""
    one, other = (f"{normal(uri)}/" for uri in (path, place))
    return one.startswith(other) or other.startswith(one)


def _parsed(text: str) -> Leftovers:
    """A list, or what an earlier release has left: the URI of a directory that is deleted as a whole."""
    if not text.startswith("{"):
        return Leftovers("", text, whole=True, paths=(text,))
    body = json.loads(text)
    paths = tuple(body["paths"])
    return Leftovers(
        body["table_id"], body["root"], body["whole"], paths, body.get("created", 0), body.get("aside", "")
    )
