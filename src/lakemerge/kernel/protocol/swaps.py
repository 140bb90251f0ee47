"""The partitions of one claimed commit: registered, moved, dropped.

Before each call that changes partitions, the metastore is asked what is left to do. So a call that is carried out but
whose answer is always cut off is sent once. What does not fit into one message is sent in several.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from lakemerge.kernel.ports import Ports
from lakemerge.kernel.ports.metastore import HivePartition, HiveTable, ReplyLost
from lakemerge.kernel.ports.names import TableName, partition_name, partition_values
from lakemerge.kernel.protocol.unanswered import send_all
from lakemerge.kernel.table.definition import (
    moved,
    new_partition,
    same_keys,
    storage_of,
    stored_as,
    with_statistics,
)
from lakemerge.kernel.table.layout import Layout, normal
from lakemerge.kernel.table.manifest import RELEASE, WHOLE_TABLE, Manifest

_LOG = logging.getLogger("lakemerge")
# A metastore takes messages of 100 MiB (hive.metastore.server.max.message.size). What a row takes is estimated.
_MOST_BYTES = 48 * 1024 * 1024
_OF_A_TEXT = 8


class Swaps:
    """Moves partitions as a claimed manifest says."""

    def __init__(self, ports: Ports, step: Callable[[str], None], unanswered: Callable[[str], None]) -> None:
        """
        Args:
            unanswered: called with a commit's transaction when one of its calls got no answer, and may yet come.
        """
        self._metastore = ports.metastore
        self._files = ports.files
        self._step = step
        self._unanswered = unanswered

    def add(self, table: HiveTable, layout: Layout, manifest: Manifest, holds: Callable[[], bool]) -> bool:
        """The one call that registers new partitions where their files are: an append's whole swap.

        Args:
            holds: whether the claim is still there.

        Returns:
            False when they are not surely all new and registered by this call: somebody else has registered some, no
            answer came, the claim was lost, or they do not fit into one call.
        """
        rows = self.rows(table, layout, manifest, manifest.written)
        if len(list(in_batches(rows))) > 1 or not holds():
            return False
        try:
            added = self._metastore.add_partitions(table.name, rows)
        except ReplyLost:
            self._unanswered(manifest.txn)
            return False
        self._step("swapped")
        return added == len(rows)

    @staticmethod
    def rows(
        table: HiveTable, layout: Layout, manifest: Manifest, partitions: Iterable[str]
    ) -> list[HivePartition]:
        """Rows of partitions of a version, at their files, as the metastore does not have them yet."""
        return [
            with_statistics(
                new_partition(table, partition_values(partition), layout.absolute(state.location)),
                files=state.files,
                size=state.bytes,
            )
            for partition, state in ((name, manifest.partitions[name]) for name in partitions)
            if partition != WHOLE_TABLE
        ]

    def swap(
        self,
        table: HiveTable,
        layout: Layout,
        manifest: Manifest,
        parent: Manifest,
        holds: Callable[[], bool],
    ) -> bool:
        """Move all touched partitions; false when the claim was lost to a rescuer meanwhile."""
        name, empty = table.name, layout.empty_of(manifest.txn)
        existing = set(self._metastore.partition_names(name))
        gone = [partition for partition in manifest.removed if partition in existing]
        if gone or not existing.issuperset(manifest.written):
            self._files.make_directory(empty)
        fresh = {part: new_partition(table, partition_values(part), empty) for part in manifest.written}
        self.register(name, manifest, fresh, existing)
        self._step("registered")
        columns = [column.name for column in manifest.columns]
        self._metastore.delete_partition_column_statistics(
            name, [partition for partition in manifest.written if partition in existing], columns
        )
        if not self._alter(name, layout, manifest, parent, holds):
            _LOG.warning("%s: version %d was finished by another process", name, manifest.version)
            return False
        self._step("swapped")
        self._drop_empty(name, gone, layout, manifest, holds)
        self._step("dropped")
        return True

    def register(
        self,
        name: TableName,
        manifest: Manifest,
        rows: Mapping[str, HivePartition],
        existing: set[str] | None = None,
    ) -> None:
        """Register those partitions, by name, that the metastore does not have.

        Args:
            existing: what it has, if that was just asked.
        """

        def missing(known: set[str] | None = None) -> list[list[HivePartition]]:
            known = set(self._metastore.partition_names(name)) if known is None else known
            return list(in_batches([row for partition, row in rows.items() if partition not in known]))

        send_all(
            missing,
            partial(self._metastore.add_partitions, name),
            lambda: True,
            partial(self._unanswered, manifest.txn),
            first=None if existing is None else missing(existing),
        )

    def _alter(
        self,
        name: TableName,
        layout: Layout,
        manifest: Manifest,
        parent: Manifest,
        holds: Callable[[], bool],
    ) -> bool:
        """Move all touched partitions, by one call if they fit into one; false when the claim was lost."""

        def left() -> list[list[HivePartition]]:
            return list(in_batches(self._left(name, layout, manifest, parent)))

        # the fence: a writer that was taken for dead must not move what others have moved since
        move = partial(self._metastore.alter_partitions, name)
        return send_all(left, move, holds, partial(self._unanswered, manifest.txn))

    def _left(
        self, name: TableName, layout: Layout, manifest: Manifest, parent: Manifest
    ) -> list[HivePartition]:
        """The rows of the partitions that are not as the version has them; those that only get other columns first."""
        empty = layout.empty_of(manifest.txn)
        locations = {
            partition: layout.absolute(manifest.partitions[partition].location)
            for partition in manifest.written
        }
        locations.update(dict.fromkeys(manifest.removed, empty))
        names = set(locations)
        if parent.columns != manifest.columns:
            names |= set(manifest.partitions)
        serde = storage_of(manifest.file_format).serde
        stay, move = [], []
        for found in self._metastore.partitions(name, sorted(names)):
            row, partition = found, partition_of(found, manifest)
            if row.storage.serde != serde or not same_keys(row.storage.columns, manifest.columns):
                row = stored_as(row, manifest.columns, manifest.file_format)
            if partition not in manifest.partitions and _is_empty(row, layout, manifest):
                continue
            if partition in locations and normal(row.location) != normal(locations[partition]):
                state = manifest.partitions.get(partition)
                files, size = (state.files, state.bytes) if state else (0, 0)
                move.append(with_statistics(moved(row, locations[partition]), files=files, size=size))
            elif row is not found:
                stay.append(row)
        return stay + move

    def _drop_empty(
        self,
        name: TableName,
        partitions: list[str],
        layout: Layout,
        manifest: Manifest,
        holds: Callable[[], bool],
    ) -> None:
        """Drop those partitions that still point to this commit's empty directory, not what others made of them.

        Only while the claim is held: a swap that came too late has emptied partitions that another commit has made
        since. If these were dropped, whoever finds them gone before they are put right would take that for another
        program's drop.
        """

        def left() -> list[list[str]]:
            rows = self._metastore.partitions(name, partitions)
            return [list(row.values) for row in rows if _is_empty(row, layout, manifest)]

        if found := left():
            drop = partial(self._metastore.drop_partition, name)
            send_all(left, drop, holds, partial(self._unanswered, manifest.txn), first=found)


def _is_empty(row: HivePartition, layout: Layout, manifest: Manifest) -> bool:
    """Whether a partition points to a commit's own empty directory, or to that of the claim that the commit undoes."""
    txns = (manifest.txn, *(manifest.fenced if manifest.operation == RELEASE else ()))
    return normal(row.location) in {normal(layout.empty_of(txn)) for txn in txns}


def partition_of(row: HivePartition, manifest: Manifest) -> str:
    """A partition's name in a version."""
    return partition_name([column.name for column in manifest.partition_columns], row.values)


def in_batches(rows: Sequence[HivePartition]) -> Iterable[list[HivePartition]]:
    """Rows by the calls that take them: nearly always one. None for no rows."""
    batch: list[HivePartition] = []
    size = 0
    for row in rows:
        more = _size_of(row)
        if batch and size + more > _MOST_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += more
    if batch:
        yield batch


def _size_of(row: HivePartition) -> int:
    """About how many bytes a row takes in a message."""
    storage = row.storage
    texts = [*row.values, storage.location, storage.input_format, storage.output_format, storage.serde]
    for column in storage.columns:
        texts += (column.name, column.type, column.comment)
    for parameters in (row.parameters, storage.serde_parameters):
        for item in parameters.items():
            texts += item
    joined = "".join(texts)
    return _OF_A_TEXT * len(texts) + (len(joined) if joined.isascii() else len(joined.encode()))
