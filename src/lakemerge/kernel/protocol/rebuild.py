"""A table's metastore row made anew, because the metastore refuses to change partition columns.

The new row is made under a name of its own, with all its partitions. Then two renames put it in the place of the
old one: the old row goes aside, if it is still the one that was claimed, and the new one takes its name and is settled
by the same call. Between the two renames the table is missing; a file says which transaction is doing this. Nothing is
dropped but the row that went aside, by a name that no other commit has. So no call, however late, can harm what others
have committed since.

A process may sleep, and make the new row when the work is over. Only the old row distinguishes such a new row from one
that was made in time: the old row went aside in time or never. So when the remains are dropped, the old row is dropped
first, then the new one; and a process that has made or found a new row checks whether the old one is there before it
goes on. Whatever the order, a row that was made too late is either recognized as late, or dropped.

A process cleans up after another transaction only if that transaction will never continue its rebuild. A transaction
leaves something only after its claim. So if the table's row, read after such remains were seen, does not have the
transaction's claim, the claim is over.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass, replace

from lakemerge.errors import CorruptTable, MetastoreError, TableNotFound
from lakemerge.kernel.ports import Ports
from lakemerge.kernel.ports.metastore import HiveTable, Refused, ReplyLost
from lakemerge.kernel.ports.names import TableName, passing_name
from lakemerge.kernel.protocol.removals import Removals
from lakemerge.kernel.protocol.swaps import Swaps
from lakemerge.kernel.protocol.versions import Versions
from lakemerge.kernel.table.definition import (
    TABLE_ID,
    TRANSACTION,
    UNDECIDED,
    VERSION,
    TableDefinition,
    moved,
    needs_new_row,
    new_table,
    same_keys,
    settled_value,
    with_parameters,
    with_statistics,
)
from lakemerge.kernel.table.layout import Layout
from lakemerge.kernel.table.manifest import WHOLE_TABLE, Manifest
from lakemerge.kernel.table.manifests import read_commit
from lakemerge.kernel.table.overlay import find_row
from lakemerge.kernel.table.spark_schema import has_spark_schema, respelled
from lakemerge.kernel.table.state import current_table

_TRIES = 8
#: Of a transaction's id, in the names of its rows.
_DIGITS = 12


@dataclass(frozen=True)
class Rebuild:
    """A table whose row is being made anew.

    Attributes:
        txn: the transaction that does it.
        root: the table's directory, which need not be the default one.
    """

    txn: str
    root: str


def makes_row_anew(parent: Manifest, manifest: Manifest) -> bool:
    """Whether a commit changes what the metastore refuses to change in a table's row."""
    same = same_keys(parent.partition_columns, manifest.partition_columns)
    return not same or needs_new_row(parent.columns, manifest.columns)


class Rebuilds:
    """Makes rows anew, and finds those that are under way by the table's name alone."""

    def __init__(
        self, ports: Ports, versions: Versions, removals: Removals, swaps: Swaps, step: Callable[[str], None]
    ) -> None:
        self._metastore = ports.metastore
        self._removals = removals
        self._swaps = swaps
        self._files = ports.files
        self._versions = versions
        self._step = step

    # -- rebuilds under way --------------------------------------------------------------------

    def default_root(self, name: TableName) -> str:
        """The directory of a table that names none: one in the database's directory."""
        database = self._metastore.database_location(name.schema)
        return self._files.qualify(f"{database.rstrip('/')}/{name.name}")

    def _layout(self, name: TableName) -> Layout:
        return Layout(self.default_root(name))

    def find(self, name: TableName) -> list[Rebuild]:
        """The rebuilds of a table that have started and have not been cleaned up.

        Raises:
            CorruptTable: the file of one cannot be read.
        """
        layout = self._layout(name)
        while True:
            entries = self._files.list(layout.rebuilds)
            paths = [layout.rebuild_of(entry.name) for entry in entries if not entry.name.startswith(".")]
            found = [rebuild for path in paths if (rebuild := self._read(path))]
            if len(found) == len(paths):
                return found
            # one has just ended, and the next may have begun

    def row_or_begun(self, name: TableName) -> tuple[HiveTable | None, list[Rebuild]]:
        """A table's row; if it is missing, the rebuilds one of which may have it aside. Neither for no table."""
        for _ in range(2):  # a rebuild that ended between the two reads has put a row there
            begun = self.find(name)
            # read after the rebuilds: if one of them has the old row aside by now, it has prepared the new one
            row = find_row(self._metastore, name)
            if row is not None or begun:
                return row, begun
        return None, []

    def newest_of(self, name: TableName, table_id: str) -> list[tuple[Layout, str]]:
        """The newest transaction that stands in a table; if its row is missing, those that are making it anew.

        Args:
            table_id: of the table that is meant; for any other table the list is empty.
        """
        while True:
            current = current_table(self._metastore, self._files, name)
            if current is not None:
                state = current.state
                if state is None or state.table_id != table_id or state.is_reserved:
                    return []
                return [(state.layout, state.txn if state.undecided else state.claim or state.txn)]
            row, begun = self.row_or_begun(name)
            if row is None:
                found = [(Layout(one.root), one.txn) for one in begun]
                return [one for one in found if read_commit(self._files, *one).table_id == table_id]

    def has_begun(self, name: TableName, txn: str) -> bool:
        """Whether a transaction's rebuild has started and has not been cleaned up."""
        return self._files.exists(self._layout(name).rebuild_of(txn))

    def _read(self, path: str) -> Rebuild | None:
        try:
            return Rebuild(**json.loads(self._files.read_text(path)))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError) as error:
            raise CorruptTable(
                expected=f"the description of a table in {path}",
                found=f"{type(error).__name__}: {error}",
                action="Remove the file; if the table is missing, create it again.",
            ) from error

    # -- the exchange --------------------------------------------------------------------------

    def run(self, name: TableName, layout: Layout, manifest: Manifest) -> None:
        """Bring a claimed commit's row to its place, and settle it. Any process may do so, any number of times.

        Raises:
            TableNotFound: the table was dropped meanwhile.
        """
        fresh, aside = _rows_of(name, manifest.txn)
        claim = _claim(manifest)
        table = self._metastore.get_table(name)
        if table is not None and table.parameters.get(VERSION) == claim:
            for before in self.find(name):
                if before.txn != manifest.txn:
                    # an earlier version's: its process died when the row had its place
                    self.clear_if_over(name, before.txn)
            rebuild = Rebuild(manifest.txn, layout.root)
            path = self._layout(name).rebuild_of(manifest.txn)
            self._files.write_text(path, json.dumps(dataclasses.asdict(rebuild)))
            if self._prepare(name, fresh, table, layout, manifest):
                self._step("row prepared")
                self._move_aside(name, aside, manifest, layout.empty_of(manifest.txn))
                self._step("row moved")
        self._take_place(name, fresh, manifest, layout)
        self.clear(name, manifest.txn)

    def exchanging(self, name: TableName) -> Rebuild | None:
        """The rebuild that has a table's row aside, or is about to give the new one its place."""
        _, begun = self.row_or_begun(name)
        return next((one for one in begun if self.is_prepared(name, one.txn)), None)

    def is_prepared(self, name: TableName, txn: str) -> bool:
        """Whether a transaction's new row is to take the place of the old one, which has gone aside."""
        return all(self._metastore.get_table(row) is not None for row in _rows_of(name, txn))

    def _is_over(self, name: TableName, manifest: Manifest) -> bool:
        """Whether a commit's exchange has ended, or the table was dropped; asked after its new row was seen."""
        table = self._metastore.get_table(name)
        if table is not None:
            return table.parameters.get(VERSION) != _claim(manifest)
        _, aside = _rows_of(name, manifest.txn)
        return self._metastore.get_table(aside) is None

    def require_settled(self, name: TableName, manifest: Manifest) -> None:
        """Make sure that a claimed commit is settled; its table had no row just now, and its own rebuild is over.

        It is settled if the table is there again, or if a later commit is making the table's row anew.

        Raises:
            TableNotFound: the table was dropped.
        """
        if not self.newest_of(name, manifest.table_id):
            raise TableNotFound(
                expected=f"the table {name}, which transaction {manifest.txn} has claimed",
                found="that it was dropped meanwhile",
                action="Run again to recreate it.",
            )

    def clear(self, name: TableName, txn: str) -> None:
        """Remove what a transaction's exchange has left, after the exchange has ended."""
        fresh, aside = _rows_of(name, txn)
        self._removals.drop_passing(aside)  # first, so that whoever makes the new row too late notices that
        self._removals.drop_passing(fresh)
        self._files.delete(self._layout(name).rebuild_of(txn))

    def clear_if_over(self, name: TableName, txn: str) -> None:
        """Remove what a transaction's exchange has left, unless it is, or may yet be, under way.

        Args:
            txn: a transaction whose file, or one of whose rows, has been seen.
        """
        # read only now: a row that was read earlier may be from before the transaction's claim
        row = self._metastore.get_table(name)
        if row is not None and txn not in row.parameters.get(VERSION, ""):
            self.clear(name, txn)

    def clear_late_rows(self, name: TableName) -> None:
        """The same for rows that calls have made after the exchange: only their names tell of them."""
        pattern = passing_name(name, f"__new_{'*' * _DIGITS}").name.rstrip("*") + "*"
        for found in self._metastore.table_summaries(name.schema, pattern):
            row = self._metastore.get_table(TableName(name.schema, found.name))
            txn = passing_txn(row) if row is not None else None
            if txn is not None and TableName(name.schema, found.name) in _rows_of(name, txn):
                self.clear_if_over(name, txn)

    def _prepare(
        self, name: TableName, fresh: TableName, table: HiveTable, layout: Layout, manifest: Manifest
    ) -> bool:
        """Make the new row with its partitions, unless an earlier try has made it.

        Returns:
            False where another process has finished meanwhile, or the table was dropped.

        Raises:
            ReplyLost: it cannot be found out whether the new row is there; the old one must not move aside.
        """
        row = self.new_row(fresh, table, layout, manifest)
        for _ in range(_TRIES):
            with contextlib.suppress(ReplyLost):
                try:
                    self._metastore.create_table(row)
                except Refused as error:
                    if error.kind != "AlreadyExistsException":
                        raise
            # a call without an answer may never have been made
            if self._metastore.get_table(fresh) is not None:
                break
            if self._is_over(name, manifest):
                return False
        else:
            raise _no_answer(fresh)
        if self._is_over(name, manifest):
            return False  # it was made too late; nobody but this process cleans up after that
        names = [partition for partition in manifest.partitions if partition != WHOLE_TABLE]
        rows = dict(zip(names, self._swaps.rows(row, layout, manifest, names), strict=True))
        try:
            if rows:
                self._swaps.register(fresh, manifest, rows)
        except Refused:
            if self._metastore.get_table(fresh) is None:
                return False  # it has its place by now
            raise
        return True

    @staticmethod
    def new_row(fresh: TableName, table: HiveTable, layout: Layout, manifest: Manifest) -> HiveTable:
        """The row that takes the place of a table's, under the name that it has before."""
        definition = TableDefinition(
            name=fresh,
            columns=manifest.columns,
            partition_columns=manifest.partition_columns,
            file_format=manifest.file_format,
            external=table.kind == "EXTERNAL_TABLE",
            owner=table.owner,
        )
        # at another location than later: a row that keeps its location when it is renamed would take the files along
        row = new_table(definition, layout.root, layout.empty_of(manifest.txn))
        kept = {
            key: value
            for key, value in table.parameters.items()
            if not key.startswith("spark.sql.") or has_spark_schema([key])
        }
        row = respelled(with_parameters(row, {**kept, TABLE_ID: manifest.table_id}))
        return with_statistics(row, files=manifest.total_files, size=manifest.total_bytes, with_spark=True)

    def _move_aside(self, name: TableName, aside: TableName, manifest: Manifest, empty: str) -> None:
        """Rename the old row, if it is still the claimed one; if not, another process has done so already."""
        claim = _claim(manifest)
        self._versions.compare_and_swap(
            name,
            manifest.table_id,
            claim,
            {VERSION: f"{claim}:replaced"},
            lambda table: moved(replace(table, name=aside), empty),
        )

    def _take_place(self, name: TableName, fresh: TableName, manifest: Manifest, layout: Layout) -> None:
        """Give the new row the table's name, and settle the version with it."""
        claim = _claim(manifest)
        whole = manifest.partitions.get(WHOLE_TABLE)
        location = layout.absolute(whole.location) if whole else layout.root
        own = {VERSION: settled_value(manifest.version, manifest.table_id), TRANSACTION: manifest.txn}
        for _ in range(_TRIES):
            found = self._metastore.get_table(name)
            if found is not None:
                if found.parameters.get(VERSION) != claim:
                    return  # the new row is there, put by this process or by another
                raise MetastoreError(
                    expected=f"the old row of {name} to have moved aside",
                    found="that it is still there",
                    action="Run again: the next commit (or lakemerge_recover) finishes it.",
                )
            row = self._versions.row_to_change(fresh)
            if row is None or self._is_over(name, manifest):
                self.clear(name, manifest.txn)
                self.require_settled(name, manifest)
                return
            with contextlib.suppress(ReplyLost, Refused):
                placed = moved(replace(with_parameters(row, own), name=name), location)
                self._metastore.alter_table(fresh, placed, expected=(VERSION, claim))
                self._step("settled")
                return
        raise _no_answer(name)


def _claim(manifest: Manifest) -> str:
    return f"{manifest.version}:{manifest.txn}"


def _no_answer(name: TableName) -> ReplyLost:
    return ReplyLost(
        expected=f"the metastore to say whether {name} has its new row",
        found=f"no answer {_TRIES} times",
        action="Run again: the next commit (or lakemerge_recover) finds out and finishes the work.",
    )


def _rows_of(name: TableName, txn: str) -> tuple[TableName, TableName]:
    """The names of the new row before it has its place, and of the old one after it has left it."""
    return passing_name(name, f"__new_{txn[-_DIGITS:]}"), old_name(name, txn)


def old_name(name: TableName, txn: str) -> TableName:
    """The name of a row that a transaction has taken out of the table's name."""
    return passing_name(name, f"__old_{txn[-_DIGITS:]}")


def passing_txn(row: HiveTable) -> str | None:
    """The transaction whose row is on its way to a table's name, or from it, by the row's own name."""
    txn = row.parameters.get(VERSION, "").partition(":")[2].partition(":")[0].removesuffix(UNDECIDED)
    passing = txn and row.name.name.endswith((f"__new_{txn[-_DIGITS:]}", f"__old_{txn[-_DIGITS:]}"))
    return txn if passing else None
