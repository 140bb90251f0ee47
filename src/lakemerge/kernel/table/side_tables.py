"""Side data that people query: a table of its own in the metastore, whose partitions are folders of a manifest.

The manifest of the main table is the truth, so that rows and side data are one commit. The table here is its image:
an external table with one partition for each folder. It is brought up to date between the claim and the swap of each
commit, by its writer or by whoever rolls it forward, and every step of that may be done twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from lakemerge.errors import TableNotFound, UnsupportedTable
from lakemerge.kernel.ports.filesystem import FileSystem
from lakemerge.kernel.ports.metastore import HiveColumn, HivePartition, HiveTable, Metastore, Refused
from lakemerge.kernel.ports.names import TableName, partition_name
from lakemerge.kernel.table.definition import ROOT, TableDefinition, moved, new_partition, new_table
from lakemerge.kernel.table.layout import Layout, normal
from lakemerge.kernel.table.manifest import Manifest
from lakemerge.kernel.table.overlay import DELTAS, FOLDED, MADE_BY, find_row

#: On a published table: the `lakemerge.id` of the table whose side data it shows.
PUBLISHED_OF = "lakemerge.published_of"
# The one partition column of published tables: the transaction that wrote the folder. Where the table has the main
# table's columns, it has another name.
_KEY = "txn"


@dataclass(frozen=True)
class SideTable:
    """A kind of side data that is published.

    Attributes:
        suffix: the published table's name is the main table's name followed by this.
        columns: those of the files, besides the main table's if ``like_main``.
        also: another kind of side data whose folders it shows too.
        like_main: whether its rows have the main table's columns and format, the partition columns among the columns;
            otherwise the format is ORC.
    """

    suffix: str
    columns: tuple[HiveColumn, ...]
    comment: str
    also: str = ""
    like_main: bool = False

    def name_of(self, table: TableName) -> TableName:
        return TableName(table.schema, f"{table.name}{self.suffix}")


#: In a delta: whether the row of this key is deleted, the other columns being null.
DELETED = HiveColumn("_lakemerge_deleted", "boolean", "whether the row of this key is deleted")
#: In a delta: of several rows of a key, the one with the highest counts.
ORDER = HiveColumn("_lakemerge_order", "bigint", "of several rows of a key, the highest counts")

#: One problem of a record, in the order in which the record's columns are.
_PROBLEM = "struct<reason:string,column_name:string,reason_text:string>"
SIDE_TABLES = {
    "quarantine": SideTable(
        "__quarantine",
        (
            HiveColumn("record", "string", "the record as it stood in the file"),
            HiveColumn(
                "record_bytes", "binary", "its bytes, where they are no text of the declared encoding"
            ),
            HiveColumn("file", "string", "URI of the file"),
            HiveColumn("line", "bigint", "line of the record in the file, from 1"),
            HiveColumn("reason", "string", "code of the first problem"),
            HiveColumn("column_name", "string", "the column that it is about"),
            HiveColumn("reason_text", "string", "the first problem in words"),
            HiveColumn("problems", f"array<{_PROBLEM}>", "all problems"),
            HiveColumn("fields", "array<string>", "names of the record's fields, where the file names them"),
            HiveColumn("file_modified", "timestamp", "when the file was last changed"),
            HiveColumn("batch", "bigint", "number of the batch that read the record, from 1"),
            HiveColumn("quarantined_at", "timestamp", "when that was"),
            HiveColumn("replays", "int", "how often it was read again since"),
        ),
        "Records that an ingest has rejected, with the reasons",
    ),
    DELTAS: SideTable(
        "__deltas",
        (DELETED, ORDER),
        "Changes since the base table was written",
        also=FOLDED,
        like_main=True,
    ),
}


class SideTables:
    """Keeps published tables in the state that the newest manifest describes."""

    def __init__(
        self,
        metastore: Metastore,
        files: FileSystem,
        drop_if: Callable[[TableName, TableName, str, str], None],
    ) -> None:
        """
        Args:
            drop_if: drops a row if a parameter has a value; see :meth:`Removals.drop_if`.
        """
        self._metastore = metastore
        self._files = files
        self._drop_if = drop_if

    def publish(
        self,
        name: TableName,
        layout: Layout,
        manifest: Manifest,
        parent: Manifest,
        still_newest: Callable[[], bool],
    ) -> bool:
        """Bring the published tables to a manifest's state.

        Args:
            parent: the one of the version before; what it had and this one no longer has is removed.
            still_newest: asked just before each change; false when another process has moved on.

        Returns:
            Whether there was anything to change.

        Raises:
            UnsupportedTable: another table has the name.
            TableNotFound: another process drops it at this moment.
        """
        changed = False
        for kind, published in SIDE_TABLES.items():
            if kind == DELTAS and manifest.overlay is None:
                continue  # it comes and goes with the view
            if kind in manifest.sidecars or kind in parent.sidecars or kind == DELTAS:
                folders = (*manifest.sidecars.get(kind, ()), *manifest.sidecars.get(published.also, ()))
                wanted = {folder.rpartition("/")[2]: layout.absolute(folder) for folder in folders}
                changed |= self._sync(published, name, layout, manifest, wanted, still_newest)
        return changed

    def _sync(
        self,
        published: SideTable,
        main: TableName,
        layout: Layout,
        manifest: Manifest,
        wanted: dict[str, str],
        still_newest: Callable[[], bool],
    ) -> bool:
        name = published.name_of(main)
        table = self._metastore.get_table(name)
        if table is not None:
            check_own(table)
            key = _outdated_by(published, table, manifest)
            if key and still_newest():
                self._drop_if(main, name, key, table.parameters[key])
                table = None
        made = table is None
        if table is None:
            self._create(published, name, layout, manifest)
            table = self._metastore.get_table(name)
            if table is None and not still_newest() and find_row(self._metastore, main) is not None:
                return True  # others have finished this commit, and a later commit has dropped the table
            if table is None:
                raise TableNotFound(
                    expected=f"the table {name}, which was created just now",
                    found="that another process has dropped it, with the table that it belongs to or alone",
                    action="Run again.",
                )
        names = self._metastore.partition_names(name)
        present = {row.values[0]: row for row in self._metastore.partitions(name, names)}
        fresh = [txn for txn in wanted if txn not in present]
        gone = [txn for txn in present if txn not in wanted]
        astray = [txn for txn in wanted if txn in present and _is_astray(present[txn], wanted[txn])]
        if not (fresh or gone or astray) or not still_newest():
            return made
        if not gone and not astray:
            self._metastore.add_partitions(name, [new_partition(table, [txn], wanted[txn]) for txn in fresh])
            return True
        empty = layout.empty_of(manifest.txn)
        self._files.make_directory(empty)
        self._metastore.add_partitions(name, [new_partition(table, [txn], empty) for txn in fresh])
        self._swap(
            name, table.partition_columns[0].name, {**wanted, **dict.fromkeys(gone, empty)}, still_newest
        )
        for txn in gone:
            if still_newest():
                self._metastore.drop_partition(name, [txn])
        return True

    def _swap(
        self, name: TableName, key: str, locations: dict[str, str], still_newest: Callable[[], bool]
    ) -> None:
        """Move all partitions by one call, so that no record is seen twice or not at all."""
        names = [partition_name([key], [txn]) for txn in locations]
        rows = self._metastore.partitions(name, names)
        if still_newest():
            self._metastore.alter_partitions(name, [moved(row, locations[row.values[0]]) for row in rows])

    def _create(self, published: SideTable, name: TableName, layout: Layout, manifest: Manifest) -> None:
        row = new_side_table(published, name, layout, manifest)
        self._files.make_directory(row.location)
        try:
            self._metastore.create_table(row)
        except Refused as error:
            if error.kind != "AlreadyExistsException":
                raise

    def drop(self, main: TableName, table_id: str) -> None:
        """Drop the published tables of a table that is dropped; their files are the main table's and go with it."""
        for published in SIDE_TABLES.values():
            table = self._metastore.get_table(published.name_of(main))
            if table is not None and table_id and table.parameters.get(PUBLISHED_OF) == table_id:
                self._drop_if(main, table.name, PUBLISHED_OF, table_id)


def new_side_table(published: SideTable, name: TableName, layout: Layout, manifest: Manifest) -> HiveTable:
    """The row of a published table, not yet in the metastore."""
    kind = next(kind for kind, known in SIDE_TABLES.items() if known is published)
    location = layout.sidecars(kind)
    of_main = (*manifest.columns, *manifest.partition_columns) if published.like_main else ()
    key = manifest.overlay.delta_column if published.like_main and manifest.overlay else _KEY
    definition = TableDefinition(
        name=name,
        columns=(*of_main, *published.columns),
        file_format=manifest.file_format if published.like_main else "orc",
        partition_columns=(HiveColumn(key, "string"),),
        external=True,
        parameters={
            PUBLISHED_OF: manifest.table_id,
            "comment": published.comment,
            **({MADE_BY: manifest.overlay.made_by} if manifest.overlay else {}),
        },
    )
    table = new_table(definition, layout.root, location)
    return replace(table, parameters={key: value for key, value in table.parameters.items() if key != ROOT})


def check_side_table(metastore: Metastore, main: TableName, kind: str) -> None:
    """Make sure that the name of the published table of a kind is free, or is its own already.

    Raises:
        UnsupportedTable: another table has the name.
    """
    table = metastore.get_table(SIDE_TABLES[kind].name_of(main))
    if table is not None:
        check_own(table)


def check_own(table: HiveTable) -> None:
    """Refuse to write to a table that does not show side data. Raises UnsupportedTable."""
    if PUBLISHED_OF not in table.parameters:
        raise UnsupportedTable(
            expected=f"no table {table.name}, or the one that lakemerge keeps there",
            found="a table of that name that is not its own",
            action="Rename it or drop it; or give the model another alias.",
        )


def _outdated_by(published: SideTable, table: HiveTable, manifest: Manifest) -> str:
    """The parameter by which a published table shows the side data of another table, or the deltas of an earlier view.

    That happens if another program has dropped the main table alone, or if the maker of the published table came so
    late that the view was gone by then. Empty if neither is so.
    """
    if table.parameters[PUBLISHED_OF] != manifest.table_id:
        return PUBLISHED_OF
    if published is not SIDE_TABLES[DELTAS] or manifest.overlay is None:
        return ""
    return MADE_BY if table.parameters.get(MADE_BY) not in (None, manifest.overlay.made_by) else ""


def _is_astray(row: HivePartition, location: str) -> bool:
    return normal(row.location) != normal(location)
