"""Rows are taken out of the metastore in two steps: a rename that compares, then a drop of the other name.

A drop cannot compare. Sent by its name, it removes whatever has the name when it takes effect: perhaps the next table,
with everything that was committed to it since. So no row is dropped by a name under which a table is known. This module
and the probe of compare-and-swap, which drops what it has made for itself, are the only ones that drop rows.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace

from lakemerge.kernel.ports import Ports
from lakemerge.kernel.ports.metastore import DDL_TIME, HiveTable, Refused, ReplyLost, ValueChanged
from lakemerge.kernel.ports.names import TableName, passing_name
from lakemerge.kernel.protocol.versions import Versions
from lakemerge.kernel.table.definition import ASIDE, ROOT, VERSION, moved
from lakemerge.kernel.table.layout import Layout
from lakemerge.kernel.table.overlay import BASE_OF

_SENDS = 4
_GONE = "removed"


class Removals:
    """Drops rows, each only if it is still the one that is meant."""

    def __init__(self, ports: Ports, versions: Versions) -> None:
        self._metastore = ports.metastore
        self._versions = versions

    def remove(self, name: TableName, row: HiveTable, key: str = "") -> bool:
        """Drop a row that was read, unless it has changed since: one try.

        Args:
            name: by which people know the table; the row may be its base's, or that of its side data.
            key: a parameter whose value no other row of the name has. Without one, it is the version, or for a table
                that was never adopted and for a view the time of the last DDL.

        Returns:
            Whether the row is known to be gone by this call; otherwise, look again.
        """
        key = key or (VERSION if VERSION in row.parameters else DDL_TIME)
        aside = removed_name(name)
        self.clear(name)
        # without what would let others take it for a table that has versions; what is compared needs a new value
        kept = {one: value for one, value in row.parameters.items() if one not in (VERSION, BASE_OF)}
        out = replace(row, name=aside, parameters={key: _GONE, **kept, ASIDE: row.name.name})
        if row.location:
            # to another location: a row that keeps its location when it is renamed would take the files along
            out = moved(out, Layout(row.parameters.get(ROOT, row.location)).empty_of("removed"))
        try:
            gone = self._versions.change_if(row.name, key, row, out)
        except Refused:
            if self._metastore.get_table(aside) is None:
                raise
            gone = False  # another process drops a row at this moment
        self.clear(name)
        return gone

    def drop_if(self, name: TableName, row: TableName, key: str, value: str) -> None:
        """Drop a row if a parameter has a value that no other row of its name ever has.

        Args:
            name: as of :meth:`remove`.
        """
        for _ in range(_SENDS):
            found = self._metastore.get_table(row)
            if found is None or found.parameters.get(key) != value:
                break
            with contextlib.suppress(ReplyLost, ValueChanged):
                self.remove(name, found, key)
        self.clear(name)

    def clear(self, name: TableName) -> None:
        """Drop what has been renamed in order to be dropped, even if that process has died since."""
        aside = self._metastore.get_table(removed_name(name))
        if aside is not None and ASIDE in aside.parameters:
            self._metastore.drop_table(aside.name)

    def drop_passing(self, name: TableName) -> None:
        """Drop a row by a name that only one transaction has ever used for it; no error where there is none."""
        self._metastore.drop_table(name)


def removed_name(name: TableName) -> TableName:
    """The name of a table's row, its view's, or that of its side data, while it is on its way to be dropped."""
    return passing_name(name, "__removed")
