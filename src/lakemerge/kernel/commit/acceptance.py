"""What the metastore has to take after a claim, asked before it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lakemerge.kernel.commit.table_commit import TableCommit
from lakemerge.kernel.ports.metastore import DDL_TIME, HiveColumn, HiveTable
from lakemerge.kernel.ports.names import partition_values
from lakemerge.kernel.protocol.claims import claimed_row
from lakemerge.kernel.protocol.rebuild import Rebuilds, makes_row_anew
from lakemerge.kernel.table.definition import TableDefinition, new_partition, new_table, with_statistics
from lakemerge.kernel.table.manifest import Manifest
from lakemerge.kernel.table.overlay import DELTAS
from lakemerge.kernel.table.side_tables import SIDE_TABLES, new_side_table
from lakemerge.kernel.table.state import TableState
from lakemerge.kernel.tables import Tables

_ACTION = (
    "Nothing was published. Change what the message names: the metastore's database cannot hold it, or you may not "
    "create it."
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
    """Try out new partitions whose names some databases cannot hold: those that are not of plain characters."""
    known = parent.partitions if parent is not None else {}
    odd = [name for name in manifest.written if name not in known and not name.isascii()]
    fresh = [name for name in odd if name not in commit.accepted_names]
    if not fresh:
        return
    place = commit.layout.empty_of(commit.txn)
    definition = TableDefinition(commit.table, (HiveColumn("tried", "string"),), manifest.partition_columns)
    row = new_table(definition, commit.layout.root, place)
    partitions = {name: new_partition(row, partition_values(name), place) for name in fresh}
    what = f"partitions of {commit.table} such as {fresh[0]}"
    tables.roll_forward.trials.require(commit.table, row, what, _ACTION, partitions)
    commit.accepted_names.update(fresh)


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
