"""Tables by which other programs read a version that has a name: rows of the metastore over the version's own files."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

from lakemerge.errors import CorruptTable, TableTooNew, UnsupportedTable, VersionChanged
from lakemerge.kernel.kernel import Kernel
from lakemerge.kernel.ports.metastore import HiveColumn, HiveTable
from lakemerge.kernel.ports.names import TableName, partition_values
from lakemerge.kernel.protocol.swaps import in_batches
from lakemerge.kernel.table.definition import ROOT, TAG_OF, TableDefinition, new_partition, new_table
from lakemerge.kernel.table.layout import Layout
from lakemerge.kernel.table.manifest import WHOLE_TABLE, Manifest
from lakemerge.kernel.table.overlay import DELTA_NAME, DELTAS, base_name, view_row
from lakemerge.kernel.table.side_tables import DELETED, ORDER
from lakemerge.kernel.table.spark_schema import spelling_of, with_spelling
from lakemerge.kernel.table.state import TableState, state_of

# On a tag's table: the transaction of the version that it shows.
_SHOWN = "lakemerge.tagged"


def make_tag_table(
    kernel: Kernel, state: TableState, version: Manifest, table: TableName, view_text: str = ""
) -> None:
    """Make the table that shows a version, or complete the one that a process began to make before it died.

    Dropping it deletes no file. A version that is merged on read gets a view, with tables for its base and its deltas.

    Args:
        view_text: for a version with deltas: the view's query over ``<table>__base`` and ``<table>__deltas``, as of
            :attr:`Overlay.text`.

    Raises:
        UnsupportedTable: one of the names is taken.
        VersionChanged: other programs have added files to the version's directories, or removed some.
    """
    layout = state.layout
    _require_same_files(kernel, layout, version)
    folders = version.sidecars.get(DELTAS, ()) if version.overlay else ()
    main = base_name(table) if folders else table
    columns = (*version.columns, *version.partition_columns)
    with_files = [(main, version.columns, version.partition_columns, version.partitions.keys())]
    places = {name: layout.absolute(one.location) for name, one in version.partitions.items()}
    if folders:
        key = (HiveColumn(DELTA_NAME, "string"),)
        named = {f"{DELTA_NAME}={folder.rpartition('/')[2]}": layout.absolute(folder) for folder in folders}
        places.update(named)
        with_files.append((_deltas_name(table), (*columns, DELETED, ORDER), key, named.keys()))
    for name in (table, *(one for one, *_ in with_files)):
        _require_free(kernel, name, state.table_id, version)
    for name, data, keys, parts in with_files:
        row = _row(state, version, name, data, keys, places.get(WHOLE_TABLE) or layout.empty_of(version.txn))
        _make(kernel, row)
        _add_partitions(kernel, row, {part: places[part] for part in parts if part != WHOLE_TABLE})
    if folders:
        assert version.overlay is not None
        overlay = replace(version.overlay, view=table.name, base=main.name, text=view_text)
        row = view_row(overlay, table.schema, columns, folders)
        row = replace(row, parameters=_parameters(state, version))
        _make(kernel, with_spelling(row, spelling_of(state.table)))


def drop_tag_table(kernel: Kernel, table: TableName, table_id: str) -> None:
    """Drop the table that shows a version of a table, and no file; no error where there is none."""
    for name in (table, _deltas_name(table), base_name(table)):
        kernel.removals.drop_if(name, name, TAG_OF, table_id)


def drop_tag_tables(kernel: Kernel, row: HiveTable) -> None:
    """Drop all tables that show versions of a table which is about to be dropped."""
    with contextlib.suppress(CorruptTable, TableTooNew):  # what is damaged may be dropped as well
        state = state_of(row)
        if state is not None and not state.is_reserved:
            for table in tag_tables(state, kernel.manifest(state)):
                drop_tag_table(kernel, table, state.table_id)


def tag_tables(state: TableState, newest: Manifest) -> Iterator[TableName]:
    """The names of the tables that show versions."""
    for reference in newest.references.values():
        if reference.table:
            yield TableName(state.name.schema, reference.table)


def _deltas_name(table: TableName) -> TableName:
    return TableName(table.schema, f"{table.name}__deltas")


def _parameters(state: TableState, version: Manifest) -> dict[str, str]:
    comment = f"Version {version.version} of {state.name}, for reading only"
    return {TAG_OF: state.table_id, _SHOWN: version.txn, "comment": comment}


def _row(
    state: TableState,
    version: Manifest,
    name: TableName,
    columns: Sequence[HiveColumn],
    keys: Sequence[HiveColumn],
    location: str,
) -> HiveTable:
    definition = TableDefinition(
        name=name,
        columns=tuple(columns),
        partition_columns=tuple(keys),
        file_format=version.file_format,
        external=True,
        owner=state.table.owner,
        parameters=_parameters(state, version),
        spelling=spelling_of(state.table),
    )
    row = new_table(definition, state.layout.root, location)
    return replace(row, parameters={key: value for key, value in row.parameters.items() if key != ROOT})


def _require_same_files(kernel: Kernel, layout: Layout, version: Manifest) -> None:
    places = {layout.absolute(one.location): one for one in version.partitions.values()}
    marks = kernel.files.fingerprints(list(places))
    for (place, one), mark in zip(places.items(), marks, strict=True):
        if mark != one.fingerprint:
            raise VersionChanged(
                expected=f"{place} to hold the files of version {version.version}, and no others, for a table over it",
                found="others: another program has added, removed or replaced some",
                action="Name another version; lakemerge itself still reads this one, if no file of it is gone.",
            )


def _require_free(kernel: Kernel, name: TableName, table_id: str, version: Manifest) -> None:
    found = kernel.metastore.get_table(name)
    if found is None:
        return
    shown = {key: found.parameters.get(key) for key in (TAG_OF, _SHOWN)}
    if shown != {TAG_OF: table_id, _SHOWN: version.txn}:
        raise UnsupportedTable(
            expected=f"the name {name} to be free, for a table that shows version {version.version}",
            found="a table or view of this name",
            action="Give another name (as_table), or drop that one.",
        )


def _make(kernel: Kernel, row: HiveTable) -> None:
    if kernel.metastore.get_table(row.name) is None:
        if row.location:
            kernel.files.make_directory(row.location)
        kernel.metastore.create_table(row)


def _add_partitions(kernel: Kernel, row: HiveTable, places: dict[str, str]) -> None:
    there = set(kernel.metastore.partition_names(row.name)) if row.partition_columns else set()
    missing = [
        new_partition(row, partition_values(name), place)
        for name, place in places.items()
        if name not in there
    ]
    for batch in in_batches(missing):
        kernel.metastore.add_partitions(row.name, batch)
