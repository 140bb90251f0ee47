"""What a source has to consume: its partitions, each as one commit (or another program) wrote it, or its versions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lakemerge.kernel import HiveColumn


@dataclass(frozen=True)
class Item:
    """A partition with the content that it had at one moment; or a version, for a consumer of changes.

    Attributes:
        partition: its name; empty for an unpartitioned source. Of a version ``_commit_version=<number>``.
        mark: identity of the content; another one means that it was written again. Of a version its transaction.
        location: URI of its directory; empty for a version.
        bytes: size of its files; of those that a version has written.
        order: items are consumed in this order: the version that wrote it, or the time of its newest file.
        version: that version; ``None`` where the source has none.
        rewrites: whether the consumer has seen the partition with other content before.
        files: ``path|size|time`` of each file, if the source has no versions; otherwise empty, for the whole directory.
    """

    partition: str
    mark: str
    location: str
    bytes: int
    order: int
    version: int | None = None
    rewrites: bool = False
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Position:
    """A version of a source that a consumer has read everything up to.

    Attributes:
        initial: whether the partitions of that version itself are still to be consumed, as when a consumer begins.
    """

    version: int
    txn: str
    initial: bool = False


@dataclass(frozen=True)
class SourceSnapshot:
    """What a source holds for a consumer at one moment.

    Attributes:
        source_id: distinguishes the source from a later table of the same name; empty if it was never adopted.
        items: everything since the consumer's position, whether processed or not.
        positions: the versions since then, the oldest first; empty where the source has none.
        file_format: ``orc``, ``parquet``, or empty for what only the table's own reader can read.
    """

    source_id: str
    items: tuple[Item, ...]
    positions: tuple[Position, ...]
    columns: tuple[HiveColumn, ...]
    partition_columns: tuple[HiveColumn, ...]
    file_format: str

    def position_before(self, pending: Sequence[Item]) -> Position | None:
        """The newest position from which these items, which are not processed yet, are still found."""
        if not self.positions:
            return None
        oldest = min((item.order for item in pending), default=None)
        first = self.positions[0]
        if oldest is None:
            last = self.positions[-1]
            return Position(last.version, last.txn)
        reached = [position for position in self.positions if position.version < oldest]
        return Position(reached[-1].version, reached[-1].txn) if reached else first
