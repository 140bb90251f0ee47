"""Sources: tables of lakemerge's, which are followed by their commits, and other tables, which are scanned.

Of the first, a consumer of changes follows the versions themselves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from lakemerge.consumer.items import Item, Position, SourceSnapshot
from lakemerge.errors import ConsumerExpired, CorruptTable, UnsupportedTable
from lakemerge.kernel import (
    WHOLE_TABLE,
    HiveTable,
    Kernel,
    Layout,
    Manifest,
    TableName,
    TableState,
    changes_rows,
    commits_of,
    file_format_of,
    model_name,
    partition_name,
    read_commit,
    read_manifest,
    state_of,
)

_RESET = "Reset the consumer (lakemerge_reset_consumer), which then takes all that the table holds."
# rows that are gone from the source since would stay in the output
_REFRESH = "Run the model with --full-refresh (in Python: rebuild=True), which builds it from the table as it is now."


def source_snapshot(
    kernel: Kernel, name: TableName, position: Position | None, source_id: str | None
) -> SourceSnapshot:
    """What a source holds since a position (``None``: everything there is).

    Args:
        source_id: the id of the table that the position belongs to; ``None`` where it does not matter.

    Raises:
        ConsumerExpired: the source is another table by now, or versions since the position are vacuumed.
        UnsupportedTable: the source is a view.
    """
    table = kernel.table(name)
    if table.kind == "VIRTUAL_VIEW":
        raise UnsupportedTable(
            expected=f"{name} to be a table, because a consumer follows its partitions",
            found="a view",
            action="Consume the table that the view reads.",
        )
    managed = state_of(table)
    if model_name(table) != table.name:
        raise UnsupportedTable(
            expected=f"{name} to be a table, because a consumer follows its partitions",
            found="a table that is merged on read: its changes are in deltas, which have no partitions",
            action="Set write_mode: copy_on_write on it and run it, or read the feed that it merges.",
        )
    _require_same(name, managed.table_id if managed else "", source_id, _RESET)
    return _managed(kernel, *kernel.settled(name), position) if managed else _plain(kernel, table)


def version_snapshot(
    kernel: Kernel, name: TableName, position: Position | None, source_id: str | None
) -> SourceSnapshot:
    """The versions of a source since a position that have other rows than those before them.

    Without a position it is the newest version, with all its rows.

    Raises:
        ConsumerExpired: as of :func:`source_snapshot`.
        UnsupportedTable: the source has no versions.
    """
    managed = state_of(kernel.table(name))
    if managed is None:
        raise UnsupportedTable(
            expected=f"{name} to have versions, whose changes a consumer can follow",
            found="a view, or a table that lakemerge has not written to yet",
            action="Write to the table by lakemerge once, or take its partitions by consume().",
        )
    _require_same(name, managed.table_id, source_id, _REFRESH)
    state, newest = kernel.settled(name)
    if position is None:
        position = Position(newest.version, newest.txn, initial=True)
    first, *later = _chain(kernel, name, state.layout, newest, position, _REFRESH)
    items = [_version(first, first.partitions)] if position.initial else []
    items += [_version(one, one.written) for one in later if changes_rows(one)]
    return _snapshot_of(state, newest, items, position, later)


def _version(manifest: Manifest, written: Iterable[str]) -> Item:
    return Item(
        partition=f"_commit_version={manifest.version}",
        mark=manifest.txn,
        location="",
        bytes=sum(manifest.partitions[name].bytes for name in written),
        order=manifest.version,
        version=manifest.version,
    )


def _require_same(name: TableName, found: str, known: str | None, remedy: str) -> None:
    if known is not None and known != found:
        raise ConsumerExpired(
            expected=f"{name} to be the table that the consumer has read so far ({known or 'without versions'})",
            found=f"another one ({found or 'without versions'}): it was dropped and recreated, or adopted",
            action=remedy,
        )


# -- tables of lakemerge's ---------------------------------------------------------------------


def _managed(
    kernel: Kernel, state: TableState, newest: Manifest, position: Position | None
) -> SourceSnapshot:
    if position is None:
        position = Position(newest.version, newest.txn, initial=True)
    first, *later = _chain(kernel, state.table.name, state.layout, newest, position, _RESET)
    follower = _Follower(state.layout, first, position.initial, state.commit_column)
    for manifest in later:
        follower.follow(manifest)
    return _snapshot_of(state, newest, follower.items.values(), position, later)


def _snapshot_of(
    state: TableState, newest: Manifest, items: Iterable[Item], position: Position, later: Iterable[Manifest]
) -> SourceSnapshot:
    return SourceSnapshot(
        source_id=state.table_id,
        items=tuple(sorted(items, key=lambda item: (item.order, item.partition))),
        positions=(position, *(Position(manifest.version, manifest.txn) for manifest in later)),
        columns=newest.columns,
        partition_columns=newest.partition_columns,
        file_format=newest.file_format,
    )


def _chain(
    kernel: Kernel, name: TableName, layout: Layout, newest: Manifest, position: Position, remedy: str
) -> list[Manifest]:
    """The manifests from the position to the newest, the oldest first."""
    chain = [newest]
    while chain[-1].txn != position.txn:
        parent = chain[-1].parent
        try:
            if parent is None or chain[-1].version <= position.version:
                raise ConsumerExpired(
                    expected=f"version {position.version} of {name} (transaction {position.txn})",
                    found="that the table has no such version",
                    action=remedy,
                )
            # what was consumed already is known by the whole version, what came since by its own changes
            is_last = parent == position.txn
            chain.append((read_manifest if is_last else read_commit)(kernel.files, layout, parent))
        except CorruptTable as error:
            raise ConsumerExpired(
                expected=f"the versions of {name} since {position.version}, the last one that the consumer read",
                found="that some were vacuumed after the consumer's pin expired",
                action=f"{remedy} Let it run more often than its pin lasts.",
            ) from error
    chain.reverse()
    return chain


class _Follower:
    """Follows commits from a position, and keeps the newest content of each partition that they wrote."""

    def __init__(self, layout: Layout, base: Manifest, initial: bool, commit_column: str) -> None:
        self._layout = layout
        self._commit_column = commit_column
        # partitions that were already processed when it began to follow
        self._known = frozenset(() if initial else base.partitions)
        # what compactions moved into a partition, by the partition's name
        self._moved_into: dict[str, set[str]] = defaultdict(set)
        self.items: dict[str, Item] = {}
        if initial:
            for name in base.partitions:
                self._add(base, name, self._commit_of(name) or base.version)

    def follow(self, manifest: Manifest) -> None:
        """Take in one commit."""
        if manifest.only_moves_rows:
            self._moved(manifest)
            return
        for name in manifest.touched:
            for gone in {name, *self._moved_into.pop(name, ())}:
                self.items.pop(gone, None)
        for name in manifest.written:
            self._add(manifest, name, manifest.version)

    def _add(self, manifest: Manifest, name: str, version: int) -> None:
        state = manifest.partitions[name]
        if state.files:
            self.items[name] = Item(
                partition=name,
                mark=f"{state.location}@{state.digest}",
                location=self._layout.absolute(state.location),
                bytes=state.bytes,
                order=version,
                version=version,
                rewrites=name in self._known,
            )

    def _moved(self, manifest: Manifest) -> None:
        targets = {_others(name): name for name in manifest.written}
        for name in manifest.removed:
            target = targets.get(_others(name))
            if target:
                self._moved_into[target] |= {name, *self._moved_into.pop(name, ())}

    def _commit_of(self, name: str) -> int | None:
        column, _, value = name.rpartition("/")[2].partition("=")
        return int(value) if column == self._commit_column and value.isdigit() else None


def _others(name: str) -> str:
    return name.rpartition("/")[0]


def position_at(kernel: Kernel, source: TableName, version: int) -> Position:
    """A version of a source as a position. Raises ConsumerExpired where it is gone."""
    for manifest in commits_of(kernel, source):
        if manifest.version == version:
            return Position(version, manifest.txn)
    raise ConsumerExpired(
        expected=f"version {version} of {source}",
        found="no such version, or one that is gone",
        action="See the versions that lakemerge_history lists.",
    )


# -- other tables ------------------------------------------------------------------------------


def _plain(kernel: Kernel, table: HiveTable) -> SourceSnapshot:
    places = {WHOLE_TABLE: _location(table)}
    if table.partitioned:
        columns = [column.name for column in table.partition_columns]
        names = kernel.metastore.partition_names(table.name)
        places = {
            partition_name(columns, row.values): row.location
            for row in kernel.metastore.partitions(table.name, names)
        }
    items = []
    for name, location in places.items():
        mark, entries = kernel.files.snapshot(location)
        if entries:
            items.append(
                Item(
                    partition=name,
                    mark=mark.digest,
                    location=location,
                    bytes=mark.bytes,
                    order=max(entry.modified for entry in entries),
                    files=tuple(f"{entry.path}|{entry.size}|{entry.modified}" for entry in entries),
                )
            )
    return SourceSnapshot(
        source_id="",
        items=tuple(sorted(items, key=lambda item: (item.order, item.partition))),
        positions=(),
        columns=table.columns,
        partition_columns=table.partition_columns,
        file_format=_readable_format(table),
    )


def _location(table: HiveTable) -> str:
    """Where an unpartitioned table's files are: for one made with USING, the serde's properties say so."""
    return table.storage.serde_parameters.get("path") or table.location


def _readable_format(table: HiveTable) -> str:
    try:
        return file_format_of(table)
    except UnsupportedTable:
        return ""  # text, JSON, Avro…: read by the table's own reader
