"""Rows that the metastore must take after a claim: tried out before it, under another name.

After the claim a refusal would last: the commit could not be finished, and no other one could follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from lakemerge.errors import UnsupportedTable
from lakemerge.kernel.ports import Ports
from lakemerge.kernel.ports.metastore import HivePartition, HiveTable, Refused, ReplyLost
from lakemerge.kernel.ports.names import LONGEST_NAME, TableName
from lakemerge.kernel.protocol.removals import Removals, removed_name
from lakemerge.kernel.protocol.swaps import in_batches
from lakemerge.kernel.table.definition import ASIDE, VERSION
from lakemerge.kernel.table.overlay import BASE_OF

_TRIES = 8


class Trials:
    """Makes rows, and drops them again."""

    def __init__(self, ports: Ports, removals: Removals) -> None:
        self._metastore = ports.metastore
        self._removals = removals

    def require(
        self,
        name: TableName,
        row: HiveTable,
        what: str,
        action: str,
        partitions: Mapping[str, HivePartition] = MappingProxyType({}),
    ) -> None:
        """Make sure that the metastore takes a row.

        Args:
            name: by which people know the table.
            row: as it will be; its own name counts for its length.
            partitions: by name, which it must keep, too.
            what, action: for the message: what the row is, and what to do if it is refused.

        Raises:
            UnsupportedTable: it does not, for instance because of a length, a character or a missing privilege.
        """
        # a trial that comes late is found by this name, and dropped
        tried = removed_name(name)
        if len(row.name.name) > LONGEST_NAME:
            # as long as the name that it will have
            tried = TableName(tried.schema, tried.name.ljust(len(row.name.name), "_"))
        kept = {key: value for key, value in row.parameters.items() if key not in (VERSION, BASE_OF)}
        trial = replace(row, name=tried, parameters={**kept, ASIDE: name.name})
        for _ in range(_TRIES):
            self._clear(tried)
            try:
                self._metastore.create_table(trial)
                changed = self._changed(tried, partitions)
            except ReplyLost:
                break  # the real one is tried until an answer comes
            except Refused as error:
                if error.kind == "AlreadyExistsException":
                    continue  # another process tries out its own
                self._clear(tried)
                raise UnsupportedTable(
                    expected=f"the metastore to take {what}", found=error.found, action=action
                ) from error
            if changed:
                self._clear(tried)
                raise UnsupportedTable(
                    expected=f"the metastore to keep {what}", found=f"others for {changed[:3]}", action=action
                )
            break
        else:
            raise UnsupportedTable(
                expected=f"the name {tried} to be free for a moment",
                found="a table or view of this name",
                action="Rename or drop it: lakemerge uses this name for what is on its way to be dropped.",
            )
        self._clear(tried)

    def _changed(self, tried: TableName, partitions: Mapping[str, HivePartition]) -> list[str]:
        """Register partitions, and see which of them then have other names."""
        if not partitions:
            return []
        for batch in in_batches(list(partitions.values())):
            self._metastore.add_partitions(tried, batch)
        return sorted(set(partitions) - set(self._metastore.partition_names(tried)))

    def _clear(self, tried: TableName) -> None:
        row = self._metastore.get_table(tried)
        if row is not None and ASIDE in row.parameters:
            self._removals.drop_passing(tried)
