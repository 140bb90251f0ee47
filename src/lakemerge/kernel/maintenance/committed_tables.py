"""Which tables of a schema lakemerge has committed to."""

from __future__ import annotations

from fnmatch import fnmatchcase

from lakemerge.kernel.ports.metastore import HiveTable, Metastore
from lakemerge.kernel.ports.names import TableName
from lakemerge.kernel.protocol.rebuild import passing_txn
from lakemerge.kernel.table.definition import ASIDE, VERSION
from lakemerge.kernel.table.overlay import model_name

# So many tables are asked for by one call: a table of hundreds of columns takes tens of kilobytes.
_TOGETHER = 500


def committed_tables(metastore: Metastore, chosen: TableName) -> list[TableName]:
    """The tables of a schema that lakemerge has committed to, by a name in which ``*`` stands for any text.

    A name without ``*`` is taken as it is, whether there is such a table or not.
    """
    if "*" not in chosen.name:
        return [chosen]
    there = [one.name for one in metastore.table_summaries(chosen.schema)]
    rows = (
        row
        for start in range(0, len(there), _TOGETHER)
        for row in metastore.tables(chosen.schema, there[start : start + _TOGETHER])
    )
    names = {model_name(row).name for row in rows if VERSION in row.parameters and not _is_passing(row)}
    return [TableName(chosen.schema, name) for name in sorted(names) if fnmatchcase(name, chosen.name)]


def _is_passing(row: HiveTable) -> bool:
    """Whether a row is on its way to a table's name, or from it: it belongs to the table of another row, or to none."""
    if ASIDE in row.parameters:
        return True
    return passing_txn(row) is not None
