"""When a table's rows changed last, as far as its commits and its files show. Nothing is written."""

from __future__ import annotations

import datetime
from collections.abc import Iterable

from lakemerge.errors import UnsupportedTable
from lakemerge.kernel.commit.reads import changes_rows
from lakemerge.kernel.kernel import Kernel
from lakemerge.kernel.ports.metastore import DDL_TIME, HiveTable
from lakemerge.kernel.ports.names import TableName
from lakemerge.kernel.table.manifest import (
    ADOPTION,
    ALTERATION,
    FENCE,
    FOREIGN,
    LEDGER_RESET,
    RELEASE,
    WRITE_MODE,
    Manifest,
)
from lakemerge.kernel.table.manifests import commits
from lakemerge.kernel.table.state import TableState, current_table

# Commits that record what others did, some time after they did it.
_TAKES_IN = (ADOPTION, FOREIGN)


def last_change(kernel: Kernel, name: TableName) -> datetime.datetime:
    """When rows of a table were changed last, in UTC.

    For what lakemerge wrote, that is the time of the commit. For what others wrote, it is the time of the newest file:
    Spark's inserts into Hive tables leave the metastore's own time as it was, and `analyze table` changes it. If others
    only removed rows, this leaves no trace, except where no file is left.

    Raises:
        TableNotFound: there is no such table.
        UnsupportedTable: it is a view, or its rows are not in files.
    """
    current = current_table(kernel.metastore, kernel.files, name)
    table = current.table if current else kernel.table(name)
    if not table.location or table.kind not in ("MANAGED_TABLE", "EXTERNAL_TABLE"):
        raise UnsupportedTable(
            expected=f"{name} to be a table of files, whose times tell when it changed",
            found=f"a {table.kind.lower().replace('_', ' ')} without files",
            action="Use its rows instead: set loaded_at_field or loaded_at_query on the source.",
        )
    if current is None or current.state is None or current.manifest is None or current.state.is_reserved:
        return _newest(kernel, _locations(kernel, table)) or _made(table)
    found = commits(kernel.files, current.state.layout, current.manifest)
    commit = next(
        (manifest for manifest in found if not _keeps_rows(manifest)),
        current.manifest,
    )
    # a commit that keeps the rows may have written them to newer files
    if commit.operation in _TAKES_IN and commit.txn == current.manifest.txn:
        return _newest(kernel, _locations(kernel, table)) or _made(table)
    committed = datetime.datetime.fromisoformat(commit.committed_at)
    return max(committed, _newest(kernel, _changed(kernel, current.state, current.manifest)) or committed)


def _keeps_rows(manifest: Manifest) -> bool:
    """Whether a commit adds no row, removes none, and changes none except through the table's columns."""
    quiet = (ALTERATION, FENCE, LEDGER_RESET, RELEASE, WRITE_MODE)
    return manifest.operation != ADOPTION and (manifest.operation in quiet or not changes_rows(manifest))


def _changed(kernel: Kernel, state: TableState, manifest: Manifest) -> list[str]:
    """The directories that are not what the last commit left."""
    found = kernel.external.inspect(state, manifest, None)
    names = kernel.external.differs(manifest, found)
    return [state.layout.absolute(found.present[name].location) for name in names if name in found.present]


def _locations(kernel: Kernel, table: HiveTable) -> list[str]:
    if not table.partitioned:
        return [table.location]
    names = kernel.metastore.partition_names(table.name)
    return [partition.location for partition in kernel.metastore.partitions(table.name, names)]


def _newest(kernel: Kernel, directories: Iterable[str]) -> datetime.datetime | None:
    snapshots = kernel.files.snapshots(list(directories))
    times = (entry.modified for _, entries in snapshots for entry in entries)
    newest = max(times, default=None)
    return None if newest is None else _utc(newest // 1000)  # whole seconds, as in commits and the metastore


def _made(table: HiveTable) -> datetime.datetime:
    """The time of the last DDL, which is the only one that a table without files has."""
    return _utc(float(table.parameters.get(DDL_TIME) or 0))


def _utc(seconds: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(seconds, tz=datetime.timezone.utc)
