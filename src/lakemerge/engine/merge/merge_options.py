"""The options of merges; names are those of dbt and Spark AUTO CDC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

from lakemerge.engine.options.groups import GROUPS
from lakemerge.engine.options.reader import OptionReader
from lakemerge.engine.options.write import WriteConfig, distinct


@dataclass(frozen=True)
class MergeConfig(WriteConfig):
    """How the changes of a feed meet the rows of a table.

    Attributes:
        unique_key: the key's columns.
        sequence_by: expressions that order the changes of a key; empty for none.
        write_mode: ``copy_on_write``, ``merge_on_read``, or ``auto``: each commit chooses what costs less.
        unavailable_value: what the feed has for a value that did not change, and that it does not bring.
        exact_counts: whether a merge on read distinguishes inserts from updates even where its result is right without
            matching.
        change_order: SQL over the feed that orders the changes of a key where the sequence does not; not an option of
            models, because their rows have no order. Empty for none.
    """

    groups: ClassVar[frozenset[str]] = frozenset({"merge", "merge on read"})
    changed_by: ClassVar[str] = "merge"
    rules: ClassVar[tuple[str, ...]] = (
        *WriteConfig.rules,
        "unique_key",
        "incremental_predicates",
        "partition_moves",
        "sequence_by",
        "ignore_null_updates",
        "unavailable_value",
        "merge_update_columns",
        "merge_exclude_columns",
        "on_sequence_tie",
        "tombstone_retention",
        "write_mode",
        "exact_counts",
    )
    keeps_history: ClassVar[bool] = False

    unique_key: tuple[str, ...] = ()
    incremental_predicates: tuple[str, ...] = ()
    partition_moves: bool = True
    sequence_by: tuple[str, ...] = ()
    apply_as_deletes: str = ""
    apply_as_truncates: str = ""
    ignore_null_updates: bool = False
    unavailable_value: str = ""
    merge_update_columns: tuple[str, ...] = ()
    merge_exclude_columns: tuple[str, ...] = ()
    on_sequence_tie: str = "error"
    tombstone_retention: timedelta = timedelta(days=30)
    sync: str = "none"
    allow_empty_sync: bool = False
    write_mode: str = "copy_on_write"
    exact_counts: bool = False
    change_order: str = ""

    @classmethod
    def _read(cls, reader: OptionReader) -> dict[str, Any]:
        return {
            **super()._read(reader),
            **_read_key(reader),
            "sequence_by": reader.names("sequence_by"),
            "apply_as_deletes": reader.text("apply_as_deletes"),
            "apply_as_truncates": reader.text("apply_as_truncates"),
            "ignore_null_updates": reader.flag("ignore_null_updates", False),
            "unavailable_value": reader.text("unavailable_value"),
            "merge_update_columns": reader.names("merge_update_columns"),
            "merge_exclude_columns": reader.names("merge_exclude_columns"),
            "on_sequence_tie": reader.choice("on_sequence_tie", "error", "any"),
            "tombstone_retention": reader.duration("tombstone_retention", cls.tombstone_retention),
            "sync": reader.choice("sync", "none", "full"),
            "allow_empty_sync": reader.flag("allow_empty_sync", False),
            "write_mode": reader.choice("write_mode", "copy_on_write", "merge_on_read", "auto"),
            "exact_counts": reader.flag("exact_counts", False),
        }

    def _contradictions(self, reader: OptionReader) -> list[str]:
        problems = super()._contradictions(reader)
        reader.choice("stored_as_scd_type", "1", "2")
        if not self.unique_key:
            given = reader.given(GROUPS["merge"].options)
            options = f" with {', '.join(given)}" if given else ""
            problems.append(f"incremental_strategy 'merge'{options} needs a unique_key")
        if self.merge_update_columns and self.merge_exclude_columns:
            problems.append("merge_update_columns and merge_exclude_columns exclude each other")
        if self.merges_on_read and (self.incremental_predicates or self.sync == "full"):
            problems.append(
                f"write_mode {self.write_mode!r} goes with neither incremental_predicates nor sync 'full'"
            )
        if self.apply_as_truncates and not self.sequence_by:
            problems.append("apply_as_truncates needs sequence_by")
        partial = self.ignore_null_updates or self.merge_update_columns or self.merge_exclude_columns
        if self.apply_as_truncates and partial:
            problems.append("apply_as_truncates goes with whole-row updates only")
        if self.sync == "full" and (self.apply_as_truncates or self.incremental_predicates):
            problems.append("sync 'full' goes with neither apply_as_truncates nor incremental_predicates")
        return problems

    @property
    def merges_on_read(self) -> bool:
        return self.write_mode != "copy_on_write"

    @property
    def always_on_read(self) -> bool:
        return self.write_mode == "merge_on_read"

    @property
    def merge_keys(self) -> tuple[str, ...]:
        return self.unique_key

    @property
    def reads_a_feed(self) -> bool:
        return bool(self.sequence_by or self.apply_as_deletes or self.sync == "full")

    @property
    def sequence(self) -> str:
        """The sequence as one SQL expression: a struct where there are several; empty for none."""
        if len(self.sequence_by) > 1:
            members = ", ".join(f"({part}) as part_{i}" for i, part in enumerate(self.sequence_by, 1))
            return f"struct({members})"
        return f"({self.sequence_by[0]})" if self.sequence_by else ""

    @property
    def null_sequence(self) -> str:
        """SQL that is true where any part of the sequence is null."""
        return " or ".join(f"({part}) is null" for part in self.sequence_by) or "false"

    def updates(self, column: str) -> bool:
        """Whether a matched row takes this column from the change."""
        if self.merge_update_columns:
            return column in [name.lower() for name in self.merge_update_columns]
        return column not in [name.lower() for name in self.merge_exclude_columns]


@dataclass(frozen=True)
class DeleteInsertConfig(MergeConfig):
    """The options of dbt's delete+insert: of a merge's options, only those that say which rows match."""

    groups: ClassVar[frozenset[str]] = frozenset()
    changed_by: ClassVar[str] = ""

    @classmethod
    def _read(cls, reader: OptionReader) -> dict[str, Any]:
        return {**WriteConfig._read(reader), **_read_key(reader)}

    def _contradictions(self, reader: OptionReader) -> list[str]:
        return WriteConfig._contradictions(self, reader)


def names_no_key(config: Mapping[str, Any]) -> bool:
    """Whether a dbt config has neither a unique_key nor an option of a merge, all of which need one."""
    reader = OptionReader(config, [])
    return not reader.names("unique_key") and not reader.given(GROUPS["merge"].options)


def _read_key(reader: OptionReader) -> dict[str, Any]:
    return {
        "unique_key": distinct(reader.names("unique_key")),
        "incremental_predicates": reader.names("incremental_predicates") or reader.names("predicates"),
        "partition_moves": reader.flag("partition_moves", True),
    }
