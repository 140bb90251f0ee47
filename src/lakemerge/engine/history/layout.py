"""How a history table lies on disk: open rows separate from closed ones, so that closing does not rewrite the past.

A history table (a snapshot, or a merge with ``stored_as_scd_type: 2``) has by default one more partition column, the
last of its path: 0 for the rows that are still open, N for those that the commit which made version N closed. A commit
rewrites the open rows of the partitions that it touches, and adds what it closed as partitions of their own.
"""

from __future__ import annotations

import dataclasses
import itertools
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from lakemerge.engine.options.groups import GROUPS
from lakemerge.engine.options.reader import OptionReader
from lakemerge.engine.sql_text import quote
from lakemerge.kernel import HiveColumn, Manifest, PartitionState, partition_values, tier_of

_LOG = logging.getLogger("lakemerge")

LAYOUTS = ("split", "plain")
#: The type of the partition column.
PARTITION_TYPE = "bigint"
# A user's partition may have this many partitions of closed rows before some of them are merged.
_MOST_CLOSED = 32
# This many closed partitions of one tier are merged into one.
_FEWEST_MERGED = 4


@dataclass(frozen=True)
class HistoryLayout:
    """Where open and closed rows lie.

    Attributes:
        split: whether the partition column is there; otherwise open and closed rows share the user's partitions.
        partition: the column's name, in lower case.
        chosen: whether the model chooses the layout, so that no log line has to mention it.
        version: the version that a commit on the state read would make: the value for rows that it closes. Another
            commit may use it too, which does no harm: it says where rows lie, not when they were closed.
        stored: the partitions that the table has, by name.
    """

    split: bool = True
    # no underscore in front: it would begin the name of the partition's directory, and Hadoop hides such ones
    partition: str = "dbt_closed_in"
    chosen: bool = False
    version: int = 1
    stored: Mapping[str, PartitionState] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, reader: OptionReader) -> HistoryLayout:
        """Read the options of a dbt config."""
        layout = reader.value("history_layout", LAYOUTS, "split") or "split"
        if layout not in LAYOUTS:
            reader.problem(f"history_layout must be one of {', '.join(LAYOUTS)}, not {layout!r}")
        name = reader.value("history_partition", "a name", cls.partition)
        if name is not None and (not isinstance(name, str) or not name.strip()):
            reader.problem(f"history_partition must be a name, not {name!r}")
            name = None
        if name and layout == "plain":
            reader.problem("history_partition only has a meaning with history_layout 'split'")
        chosen = any(reader.value(option) for option in GROUPS["history"].options)
        return cls(layout == "split", (name or cls.partition).strip().lower(), chosen)

    @property
    def recorded(self) -> dict[str, str]:
        """The option that says which column this is, where it has not the default's name; :meth:`of` reads it again."""
        named = self.split and self.partition != HistoryLayout.partition
        return {"history_partition": self.partition} if named else {}

    def of_table(self, base: Manifest | None) -> HistoryLayout:
        """The layout of a commit on this version (``None``: a new table): the table's own, if there is one."""
        if base is None:
            return self
        split = bool(base.partition_columns) and base.partition_columns[-1].name == self.partition
        return dataclasses.replace(self, split=split, version=base.version + 1, stored=base.partitions)

    def log_kept(self, asked: HistoryLayout, table: str, to_change_it: str) -> None:
        """Log that a table keeps its layout although its model asks for another, and how to change it."""
        if self.split != asked.split:
            _LOG.info(
                f"{table} has history_layout '{LAYOUTS[not self.split]}' and keeps it. "
                f"To change it to '{LAYOUTS[not asked.split]}', {to_change_it}."
            )

    def log_made(self, table: str) -> None:
        """Log that a new table gets a column that its model does not name, unless the model chose it."""
        if self.split and not self.chosen:
            _LOG.info(
                f"{table} gets the partition column {self.partition} (0 in current rows, another number in closed "
                f"ones), so that no run has to rewrite closed rows. Set history_layout: plain to make the table "
                f"without it, or history_layout: split to hide this line."
            )

    def partition_by(self, columns: Iterable[str]) -> tuple[str, ...]:
        """The table's partition columns, given the user's."""
        return (*columns, self.partition) if self.split else tuple(columns)

    @property
    def columns(self) -> tuple[HiveColumn, ...]:
        """The columns that the layout adds to the table."""
        return (HiveColumn(self.partition, PARTITION_TYPE),) if self.split else ()

    # -- SQL -----------------------------------------------------------------------------------

    @property
    def quoted(self) -> str:
        return quote(self.partition)

    @property
    def open_filter(self) -> str:
        """SQL that is true in the partitions that hold open rows."""
        return f"{self.quoted} = 0" if self.split else "true"

    @property
    def closed_filter(self) -> str:
        """SQL that is true in the partitions that hold only closed rows."""
        return f"{self.quoted} <> 0" if self.split else "false"

    def value(self, is_open: str) -> str:
        """SQL of the partition column's value for a row that this commit writes.

        Args:
            is_open: SQL that is true for a row that is open.
        """
        return f"cast(if({is_open}, 0, {self.version}) as {PARTITION_TYPE})"

    # -- partitions ----------------------------------------------------------------------------

    @property
    def open_partitions(self) -> list[str]:
        """The names of the stored partitions that hold open rows."""
        return [name for name in self.stored if not self._is_closed(name)]

    @property
    def closed_partitions(self) -> list[str]:
        """The names of the stored partitions that hold only closed rows."""
        return [name for name in self.stored if self._is_closed(name)]

    def closed_siblings(self, open_partitions: Iterable[str]) -> list[str]:
        """The closed partitions of the same user partitions as these."""
        users = {self._user_part(name) for name in open_partitions}
        return [name for name in self.closed_partitions if self._user_part(name) in users]

    def closes_into(self, open_partition: str) -> str:
        """The name of the partition for the rows that this commit closes in an open partition.

        The commit must list it among its reads, although it seldom exists: if a concurrent commit creates it, there
        must be a conflict.
        """
        if not self.split:
            return open_partition
        return f"{self._user_part(open_partition)}{self.partition}={self.version}"

    def to_merge(self, touched: Iterable[str]) -> list[str]:
        """The closed partitions whose rows this commit should move into the one that it adds.

        This limits the number of closed partitions. They are merged by tiers: of those with the fewest bytes,
        all of similar size. So a row is rewritten once for each time that its partition grows by the tier's
        factor, whatever the length of the history.

        Args:
            touched: names of partitions that this commit writes; only their siblings are merged.
        """
        if not self.split:
            return []
        written = set(touched)
        users = {self._user_part(name) for name in written}
        groups: dict[str, list[str]] = {user: [] for user in users}
        for name in self.closed_partitions:
            if self._user_part(name) in users and name not in written:
                groups[self._user_part(name)].append(name)
        return sorted(name for closed in groups.values() for name in self._lowest_tier(closed))

    def _lowest_tier(self, closed: list[str]) -> list[str]:
        if len(closed) <= _MOST_CLOSED:
            return []
        by_size = sorted(closed, key=lambda name: (self.stored[name].bytes, name))
        taken: list[str] = []
        for _, names in itertools.groupby(by_size, lambda name: tier_of(self.stored[name].bytes)):
            tier = list(names)
            # include the smaller ones before it: they cost less than it does
            taken += tier
            if len(tier) >= _FEWEST_MERGED:
                return taken
        return by_size[:_FEWEST_MERGED]

    def _is_closed(self, name: str) -> bool:
        return self.split and partition_values(name)[-1] != "0"

    def _user_part(self, name: str) -> str:
        """The part of a partition's path before the partition column, with its slash."""
        return name[: name.rfind("/") + 1]
