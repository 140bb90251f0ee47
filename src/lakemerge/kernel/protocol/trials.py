"""Rows that the metastore must take after a claim: tried out before it, under another name.

After the claim a refusal would last: the commit could not be finished, and no other one could follow.
"""

from __future__ import annotations

from dataclasses import replace

from lakemerge.errors import UnsupportedTable
from lakemerge.kernel.ports import Ports
from lakemerge.kernel.ports.metastore import HiveTable, Refused, ReplyLost
from lakemerge.kernel.ports.names import TableName
from lakemerge.kernel.protocol.removals import Removals, removed_name
from lakemerge.kernel.protocol.versions import ASIDE
from lakemerge.kernel.table.definition import VERSION
from lakemerge.kernel.table.overlay import BASE_OF

_TRIES = 8


class Trials:
    """Makes rows, and drops them again."""

    def __init__(self, ports: Ports, removals: Removals) -> None:
        self._metastore = ports.metastore
        self._removals = removals

    def require(self, name: TableName, row: HiveTable, what: str, action: str) -> None:
        """Make sure that the metastore takes a row.

        Args:
            name: by which people know the table.
            row: as it will be; its own name counts for its length.
            what, action: for the message: what the row is, and what to do if it is refused.

        Raises:
            UnsupportedTable: it does not, for instance because of a length, a character or a missing privilege.
        """
        aside = removed_name(name)
        # as long as the name that it will have
        tried = TableName(aside.schema, aside.name.ljust(len(row.name.name), "_"))
        kept = {key: value for key, value in row.parameters.items() if key not in (VERSION, BASE_OF)}
        trial = replace(row, name=tried, parameters={**kept, ASIDE: name.name})
        for _ in range(_TRIES):
            self._clear(tried)
            try:
                self._metastore.create_table(trial)
            except ReplyLost:
                pass  # the real one is tried until an answer comes
            except Refused as error:
                if error.kind == "AlreadyExistsException":
                    continue  # another process tries out its own
                raise UnsupportedTable(
                    expected=f"the metastore to take {what}", found=error.found, action=action
                ) from error
            break
        else:
            raise UnsupportedTable(
                expected=f"the name {tried} to be free for a moment",
                found="a table or view of this name",
                action="Rename or drop it: lakemerge uses this name for what is on its way to be dropped.",
            )
        self._clear(tried)

    def _clear(self, tried: TableName) -> None:
        row = self._metastore.get_table(tried)
        if row is not None and ASIDE in row.parameters:
            self._removals.drop_passing(tried)
