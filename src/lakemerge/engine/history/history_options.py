"""The options of tables that keep history: merges with ``stored_as_scd_type: 2``, and snapshots."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from lakemerge.engine.history.layout import HistoryLayout
from lakemerge.engine.history.scd2_options import Scd2Config
from lakemerge.engine.merge.expressions import check_expressions
from lakemerge.engine.merge.merge_options import MergeConfig
from lakemerge.engine.options.reader import OptionReader
from lakemerge.engine.options.write import WriteConfig
from lakemerge.engine.relations.hive_types import hive_columns
from lakemerge.errors import InvalidConfig
from lakemerge.kernel import HiveColumn, Manifest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Options about matched rows, which mean nothing if each change of a key is a version of its own.
_NOT_WITH_SCD2 = (
    "ignore_null_updates",
    "merge_update_columns",
    "merge_exclude_columns",
    "incremental_predicates",
    "allow_empty_sync",
)


@dataclass(frozen=True)
class KeepsHistory(WriteConfig):
    """What both kinds of history have in common.

    Attributes:
        history: where open and closed rows lie.
    """

    history: HistoryLayout = field(default_factory=HistoryLayout)

    @classmethod
    def _read(cls, reader: OptionReader) -> dict[str, Any]:
        return {**super()._read(reader), "history": HistoryLayout.of(reader)}

    @property
    def partition_columns(self) -> tuple[str, ...]:
        return tuple(self.history.partition_by(self.partition_by))

    @property
    def filled_partition_columns(self) -> frozenset[str]:
        return super().filled_partition_columns | {self.history.partition}

    def generated(
        self, feed: DataFrame, base: Manifest | None, table: str, commit_column: str = ""
    ) -> tuple[HiveColumn, ...]:
        """The column that says where a row lies; also logs a layout that the model did not choose."""
        if commit_column:
            return super().generated(feed, base, table, commit_column)
        layout = self.history.of_table(base)
        if layout.split and layout.partition in (name.lower() for name in self.keeps(feed.columns)):
            raise InvalidConfig(
                expected=f"a model without the column {layout.partition}, which says where rows of the history lie",
                found="that it selects one",
                action="Leave it out, or set another history_partition.",
            )
        if base is None:
            layout.log_made(table)
        else:
            layout.log_kept(self.history, table, self.to_change_layout)
        return layout.columns


@dataclass(frozen=True)
class SnapshotConfig(KeepsHistory):
    """How a snapshot's rows reach its table."""

    groups: ClassVar[frozenset[str]] = frozenset({"history"})
    # `dbt snapshot` has no --full-refresh: what a snapshot has seen cannot be selected again.
    to_change_layout: ClassVar[str] = "copy its rows into a new table: see docs/guides/snapshots.md"

    @classmethod
    def _read(cls, reader: OptionReader) -> dict[str, Any]:
        # a snapshot has no policy for changes of the schema
        return {**super()._read(reader), "on_schema_change": "append_and_widen"}


@dataclass(frozen=True)
class Scd2MergeConfig(KeepsHistory, MergeConfig):
    """How the changes of a feed become versions.

    Attributes:
        scd2: which changes become history, and in which columns.
    """

    groups: ClassVar[frozenset[str]] = frozenset({"merge", "scd2", "history"})
    rules: ClassVar[tuple[str, ...]] = (*MergeConfig.rules, "scd2")
    keeps_history: ClassVar[bool] = True

    scd2: Scd2Config = field(default_factory=Scd2Config)

    @classmethod
    def _read(cls, reader: OptionReader) -> dict[str, Any]:
        return {**super()._read(reader), "scd2": Scd2Config.of(reader)}

    @property
    def recorded(self) -> dict[str, Any]:
        found = super().recorded
        found.pop("scd2", None)
        return {**found, "stored_as_scd_type": 2, **self.scd2.recorded, **self.history.recorded}

    def _contradictions(self, reader: OptionReader) -> list[str]:
        problems = super()._contradictions(reader)
        problems += [
            f"{name} has no meaning with stored_as_scd_type 2"
            for name in _NOT_WITH_SCD2
            if getattr(self, name)
        ]
        if not self.sequence_by:
            problems.append("stored_as_scd_type 2 needs sequence_by")
        if self.sync == "full":
            problems.append("sync 'full' has no meaning with stored_as_scd_type 2: use a snapshot")
        return problems

    def generated(
        self, feed: DataFrame, base: Manifest | None, table: str, commit_column: str = ""
    ) -> tuple[HiveColumn, ...]:
        """The columns of the versions' bounds, and the one that says where a row lies."""
        layout = super().generated(feed, base, table, commit_column)
        clashing = [name for name in self.keeps(feed.columns) if name.lower() in self.scd2.columns]
        if clashing:
            raise InvalidConfig(
                expected=f"a model without the columns of the history ({', '.join(self.scd2.columns)})",
                found=", ".join(clashing),
                action="Leave them out with except_column_list, or set other history_column_names.",
            )
        check_expressions(self, feed)
        kind = hive_columns(feed.selectExpr(f"{self.sequence} as sequence_by").schema)[0].type
        known = ("bigint", "bigint") if self.scd2.bitemporal else ()
        return (*map(HiveColumn, self.scd2.columns, (kind, kind, *known)), *layout)
