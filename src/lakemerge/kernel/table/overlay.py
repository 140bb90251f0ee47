"""Merge on read: a base table and the changes since it was written, which readers see as one through a view.

The view has the table's own name. The base has the files, the partitions and the versions; the changes (deltas) are
side data of the base, published as a table. A row of a delta takes the place of the base's row of the same key, so the
view shows the same rows whether the base already has a delta's changes or not.

The view's text names the deltas that it merges, so a query that has read the text sees these and no others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from lakemerge.kernel.ports.metastore import HiveColumn, HiveTable, Metastore, Storage
from lakemerge.kernel.ports.names import TableName
from lakemerge.kernel.table.definition import TABLE_ID

#: On a view: the name of its base table.
BASE = "lakemerge.base"
#: On a view, and on the table of its deltas: the transaction that put the view in the table's place.
MADE_BY = "lakemerge.made_by"
#: On a view: the version whose deltas it names, and its transaction, as in ``12:<txn>``.
SHOWS = "lakemerge.shows"
#: The version of a view that does not say which one it shows: the view was made before views said so, or another
#: program has changed it.
NO_VERSION = -1
#: On a base table: the name of its view.
BASE_OF = "lakemerge.base_of"
#: The kind of side data that holds the changes.
DELTAS = "deltas"
#: Deltas that the view no longer names. They can still be read, for queries that have read its text before.
FOLDED = "folded_deltas"
#: The feature of a manifest whose table has a view over it.
MERGE_ON_READ = "merge_on_read"
#: In a view's query: where the names of deltas go.
NAMED = "'{deltas}'"
#: The partition column of the table of deltas: the folder's name. The views of earlier versions call it ``txn``. It
#: begins with a letter, because a metastore's filters take no other name.
DELTA_NAME = "lakemerge_txn"
_NAME_IN_TEXT = re.compile(rf"`(\w+)` in \({NAMED}\)")
# While a rename is under way, the base may be missing although its view is there.
_LOOKS = 3


@dataclass(frozen=True)
class Overlay:
    """A view over a base and its deltas.

    Attributes:
        view: the view's name, in the schema of the base; the table's own.
        base: the base's name.
        text: the query, in the SQL that Hive, Spark and Trino have in common, every name with its schema, and with
            :data:`NAMED` where the names of the deltas go.
        keys: the columns by which a delta's row takes the place of the base's.
        made_by: the transaction that put the view in the table's place.
    """

    view: str
    base: str
    text: str
    keys: tuple[str, ...]
    made_by: str

    @property
    def delta_column(self) -> str:
        """The column of the deltas' table by which the query chooses deltas."""
        found = _NAME_IN_TEXT.search(self.text)
        return found[1] if found else DELTA_NAME

    def naming(self, deltas: Iterable[str]) -> str:
        """The view's query, merging the deltas of these folders."""
        names = [folder.rpartition("/")[2] for folder in deltas]
        return self.text.replace(NAMED, ",".join(f"'{name}'" for name in names or [""]))


def overlay_from(body: Mapping[str, Any] | None) -> Overlay | None:
    """An overlay as a manifest's JSON has it. Raises KeyError or TypeError for what is none."""
    return None if body is None else Overlay(**{**body, "keys": tuple(body["keys"])})


def base_name(name: TableName) -> TableName:
    """The base's name of a table that is merged on read."""
    return TableName(name.schema, f"{name.name}__base")


def is_overlay_view(row: HiveTable) -> bool:
    """Whether a row is a view that lakemerge has laid over a base."""
    return row.kind == "VIRTUAL_VIEW" and BASE in row.parameters and TABLE_ID in row.parameters


def view_row(
    overlay: Overlay, schema: str, columns: tuple[HiveColumn, ...], deltas: Iterable[str]
) -> HiveTable:
    """The row of a view, not yet in the metastore.

    Args:
        columns: the base's, the partition columns last.
        deltas: the folders of those that it merges.
    """
    return HiveTable(
        name=TableName(schema, overlay.view),
        kind="VIRTUAL_VIEW",
        storage=Storage(columns=columns),
        parameters={BASE: overlay.base, MADE_BY: overlay.made_by},
        view_text=overlay.naming(deltas),
    )


def shown_version(view: HiveTable) -> int:
    """The version whose deltas a view names; :data:`NO_VERSION` where it does not say."""
    return int(view.parameters.get(SHOWS, str(NO_VERSION)).partition(":")[0])


def find_row(metastore: Metastore, name: TableName) -> HiveTable | None:
    """The row that has a table's versions: the table's own, or its base's. For another program's view, the view's row.

    While a view is put in a table's place, or taken away, the name is missing and the base is there.
    """
    for _ in range(_LOOKS):
        row = metastore.get_table(name)
        base = base_name(name)
        if row is not None:
            if not is_overlay_view(row):
                return row
            base = TableName(name.schema, row.parameters[BASE])
        found = metastore.get_table(base)
        if found is not None and found.parameters.get(BASE_OF) == name.name:
            return found
        if row is None:
            # the base may have got the name between the two looks
            row = metastore.get_table(name)
            if row is None:
                return None
            if not is_overlay_view(row):
                return row
    return None


def has_base(metastore: Metastore, name: TableName) -> bool:
    """Whether a table of this name is merged on read, even if the name is missing while its view comes or goes."""
    found = metastore.get_table(base_name(name))
    return found is not None and found.parameters.get(BASE_OF) == name.name


def view_over_base(metastore: Metastore, name: TableName) -> HiveTable | None:
    """Another program's view that is in the place of ours, so that nobody finds the base below it; or ``None``."""
    row = metastore.get_table(name)
    if row is None or row.kind != "VIRTUAL_VIEW" or is_overlay_view(row):
        return None
    base = metastore.get_table(base_name(name))
    return row if base is not None and base.parameters.get(BASE_OF) == name.name else None


def model_name(row: HiveTable) -> TableName:
    """The name that people know a table by: its view's, if there is one."""
    view = row.parameters.get(BASE_OF)
    return TableName(row.name.schema, view) if view else row.name


def as_base(row: HiveTable, overlay: Overlay) -> HiveTable:
    """A table's row under the base's name."""
    return replace(
        row,
        name=TableName(row.name.schema, overlay.base),
        parameters={**row.parameters, BASE_OF: overlay.view},
    )


def as_table(row: HiveTable) -> HiveTable:
    """A base's row under the table's own name."""
    parameters = {key: value for key, value in row.parameters.items() if key != BASE_OF}
    return replace(row, name=model_name(row), parameters=parameters)
