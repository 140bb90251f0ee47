"""What the metastore has to take after a claim, asked before it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lakemerge.errors import UnsupportedTable
from lakemerge.kernel.commit.table_commit import TableCommit
from lakemerge.kernel.ports.metastore import DDL_TIME, HiveColumn, HiveTable, Refused
from lakemerge.kernel.ports.names import partition_values
from lakemerge.kernel.protocol.claims import claimed_row
from lakemerge.kernel.protocol.rebuild import Rebuilds, makes_row_anew
from lakemerge.kernel.table.definition import TableDefinition, new_partition, new_table, with_statistics
from lakemerge.kernel.table.manifest import WHOLE_TABLE, Manifest
from lakemerge.kernel.table.overlay import DELTAS
from lakemerge.kernel.table.side_tables import SIDE_TABLES, new_side_table
from lakemerge.kernel.table.state import TableState
from lakemerge.kernel.tables import Tables

_ACTION = (
    "Nothing was published. Change what is named: the metastore's database cannot hold it, its settings forbid "
    "it, or you may not create it."
)


def require_accepted(
    tables: Tables, commit: TableCommit, state: TableState | None, parent: Manifest | None, manifest: Manifest
) -> None:
    """Try out the rows that a commit sends after its claim, if they hold anything that the claim itself does not send.

    Args:
        state: of the table before; ``None`` with ``parent`` where the commit makes it.

    Raises:
        UnsupportedTable: the metastore does not take one.
    """
    _require_names(tables, commit, parent, manifest)
    for row, what in _rows_to_send(commit, state, parent, manifest):
        known = replace(with_statistics(row, files=0, size=0), rest={})
        known = replace(known, parameters={**known.parameters, DDL_TIME: ""})
        if known not in commit.accepted:
            tables.roll_forward.trials.require(commit.table, row, what, _ACTION)
            commit.accepted.append(known)


def _require_names(tables: Tables, commit: TableCommit, parent: Manifest | None, manifest: Manifest) -> None:
    """Make sure that the metastore takes new partitions: its settings allow their values, its database their names."""
    known = parent.partitions if parent is not None else {}
    written = set(manifest.written) - commit.accepted_names - {WHOLE_TABLE}
    fresh = [name for name in sorted(written) if name not in known]
    if not fresh:
        return
    try:
        tables.metastore.require_values(sorted({value for name in fresh for value in partition_values(name)}))
    except Refused as error:
        raise UnsupportedTable(
            expected=f"the metastore to take new partitions of {commit.table}",
            found=error.found,
            action=_ACTION,
        ) from error
    _try_out(tables, commit, manifest, [name for name in fresh if not name.isascii()])
    commit.accepted_names.update(fresh)


def _try_out(tables: Tables, commit: TableCommit, manifest: Manifest, odd: list[str]) -> None:
    """Try out new partitions whose names some databases cannot hold: those that are not of plain characters."""
    if not odd:
        return
    place = commit.layout.empty_of(commit.txn)
    definition = TableDefinition(commit.table, (HiveColumn("tried", "string"),), manifest.partition_columns)
    row = new_table(definition, commit.layout.root, place)
    partitions = {name: new_partition(row, partition_values(name), place) for name in odd}
    what = f"partitions of {commit.table} such as {odd[0]}"
    tables.roll_forward.trials.require(commit.table, row, what, _ACTION, partitions)


def _rows_to_send(
    commit: TableCommit, state: TableState | None, parent: Manifest | None, manifest: Manifest
) -> Iterator[tuple[HiveTable, str]]:
    """The rows, and what they are."""
    name, layout = commit.table, commit.layout
    if state is not None and parent is not None:
        if makes_row_anew(parent, manifest):
            row = Rebuilds.new_row(name, state.table, layout, manifest)
            yield claimed_row(row, manifest, parent, commit.parameters), f"the new columns of {name}"
        elif commit.group is not None and _changes_row(commit, state.table, parent, manifest):
            # the claim of a group is only a mark: the rest comes when the group is decided
            row = claimed_row(state.table, manifest, parent, commit.parameters)
            yield row, f"the new columns and properties of {name}"
    for kind, published in SIDE_TABLES.items():
        if _has(manifest, kind) and not (parent is not None and _has(parent, kind)):
            side = published.name_of(name)
            yield new_side_table(published, side, layout, manifest), f"the table {side}"


def _has(version: Manifest, kind: str) -> bool:
    """Whether side data of a kind has a table in a version; that of deltas comes and goes with the view."""
    return version.overlay is not None if kind == DELTAS else kind in version.sidecars


def _changes_row(commit: TableCommit, row: HiveTable, parent: Manifest, manifest: Manifest) -> bool:
    """Whether a commit changes more of a row than its statistics."""
    same = (manifest.columns, manifest.file_format) == (parent.columns, parent.file_format)
    return not same or not commit.parameters.items() <= row.parameters.items()
