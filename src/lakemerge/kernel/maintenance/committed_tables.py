"""Which tables of a schema lakemerge has committed to."""

from __future__ import annotations

from fnmatch import fnmatchcase

from lakemerge.kernel.ports.metastore import Metastore
from lakemerge.kernel.ports.names import TableName
from lakemerge.kernel.table.overlay import model_name
from lakemerge.kernel.table.state import state_of


def committed_tables(metastore: Metastore, chosen: TableName) -> list[TableName]:
    """The tables of a schema that lakemerge has committed to, by a name in which ``*`` stands for any text.

    A name without ``*`` is taken as it is, whether there is such a table or not.
    """
    if "*" not in chosen.name:
        return [chosen]
    rows = (
        metastore.get_table(TableName(chosen.schema, one.name))
        for one in metastore.table_summaries(chosen.schema)
    )
    names = {model_name(row).name for row in rows if row is not None and state_of(row) is not None}
    return [TableName(chosen.schema, name) for name in sorted(names) if fnmatchcase(name, chosen.name)]
