"""What a model's config says about writing, checked before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from dbt.adapters.lakemerge.options.history_layout import OPTIONS as HISTORY_OPTIONS
from dbt.adapters.lakemerge.options.history_layout import HistoryLayout
from dbt.adapters.lakemerge.options.reader import OptionReader
from dbt.adapters.lakemerge.options.scd2 import OPTIONS as SCD2_OPTIONS
from dbt.adapters.lakemerge.options.scd2 import Scd2Config
from dbt.adapters.lakemerge.relations.table_schema import hive_columns

from lakemerge.errors import InvalidConfig
from lakemerge.kernel import COMMIT_COLUMN_TYPE, HiveColumn, Manifest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SCHEMA_CHANGES = ("ignore", "append_new_columns", "sync_all_columns", "fail")
_MERGE_ONLY = (
    "sequence_by",
    "apply_as_deletes",
    "apply_as_truncates",
    "ignore_null_updates",
    "merge_update_columns",
    "merge_exclude_columns",
    "sync",
    "tombstone_retention",
    "on_sequence_tie",
    "allow_empty_sync",
    "stored_as_scd_type",
)
# What these say of a matched row has no meaning where each change of a key is a version of its own.
_NOT_WITH_SCD2 = (
    "ignore_null_updates",
    "merge_update_columns",
    "merge_exclude_columns",
    "incremental_predicates",
    "allow_empty_sync",
)
#: What the last partition column of an append table is called if nobody names it otherwise.
COMMIT_COLUMN = "_commit"
_COMMIT_PARTITIONED_ONLY = ("commit_column", "compact_after", "compact_below")
_NEED_SEQUENCE = ("apply_as_truncates",)


@dataclass(frozen=True)
class WriteConfig:
    """How a model's rows reach its table; names are those of dbt and Spark AUTO CDC.

    Attributes:
        unique_key: the key's columns; empty for none.
        sequence_by: expressions that order the changes of a key; empty for none.
        target_file_size: bytes that data files should have, about.
        max_attempts: how often the work is redone after other commits.
        history: how a table that keeps history lies on disk; ``None`` for any other.
        scd2: what of a feed becomes history; ``None`` where the newest change of a key replaces those before.
        append_layout: ``rewrite`` the partitions that an append touches, or add new ones (``commit_partitioned``).
        compact_after: so many small partitions of commits are merged into one; 0 for never.
        compact_below: bytes from which on a partition is not small any more.
    """

    unique_key: tuple[str, ...] = ()
    sequence_by: tuple[str, ...] = ()
    apply_as_deletes: str = ""
    apply_as_truncates: str = ""
    column_list: tuple[str, ...] = ()
    except_column_list: tuple[str, ...] = ()
    ignore_null_updates: bool = False
    merge_update_columns: tuple[str, ...] = ()
    merge_exclude_columns: tuple[str, ...] = ()
    incremental_predicates: tuple[str, ...] = ()
    on_sequence_tie: str = "error"
    tombstone_retention: timedelta = timedelta(days=30)
    sync: str = "none"
    allow_empty_sync: bool = False
    partition_by: tuple[str, ...] = ()
    partition_moves: bool = True
    file_format: str = "orc"
    on_schema_change: str = "ignore"
    on_foreign_write: str = "adopt"
    location_root: str = ""
    target_file_size: int = 128 * 2**20
    max_attempts: int = 10
    append_layout: str = "rewrite"
    commit_column: str = COMMIT_COLUMN
    compact_after: int = 20
    compact_below: int = 128 * 2**20
    tblproperties: Mapping[str, str] = field(default_factory=dict)
    history: HistoryLayout | None = None
    scd2: Scd2Config | None = None

    @classmethod
    def of(cls, config: Mapping[str, Any], strategy: str | None = None) -> WriteConfig:
        """Read a dbt config.

        Args:
            strategy: the incremental strategy, or ``snapshot``; ``None`` for a table or a seed.

        Raises:
            InvalidConfig: some options are wrong; the message names them all.
        """
        problems: list[str] = []
        reader = OptionReader(config, problems)
        merges = strategy == "merge"
        scd2 = reader.choice("stored_as_scd_type", "1", "2") == "2"
        keeps_history = scd2 or strategy == "snapshot"
        file_size = reader.size("target_file_size", 128 * 2**20)
        result = cls(
            unique_key=_distinct(reader.names("unique_key")),
            sequence_by=reader.names("sequence_by"),
            apply_as_deletes=reader.text("apply_as_deletes"),
            apply_as_truncates=reader.text("apply_as_truncates"),
            column_list=reader.names("column_list"),
            except_column_list=reader.names("except_column_list"),
            ignore_null_updates=reader.flag("ignore_null_updates", False),
            merge_update_columns=reader.names("merge_update_columns"),
            merge_exclude_columns=reader.names("merge_exclude_columns"),
            incremental_predicates=reader.names("incremental_predicates") or reader.names("predicates"),
            on_sequence_tie=reader.choice("on_sequence_tie", "error", "any"),
            tombstone_retention=reader.duration("tombstone_retention", timedelta(days=30)),
            sync=reader.choice("sync", "none", "full"),
            allow_empty_sync=reader.flag("allow_empty_sync", False),
            partition_by=reader.names("partition_by"),
            partition_moves=reader.flag("partition_moves", True),
            file_format=reader.choice("file_format", "orc", "parquet"),
            on_schema_change=reader.choice(
                "on_schema_change", "ignore", "append_new_columns", "sync_all_columns", "fail"
            ),
            on_foreign_write=reader.choice("on_foreign_write", "adopt", "fail"),
            location_root=reader.text("location_root"),
            target_file_size=file_size,
            max_attempts=reader.count("max_attempts", 10),
            append_layout=reader.choice("append_layout", "rewrite", "commit_partitioned"),
            commit_column=reader.text("commit_column").lower() or COMMIT_COLUMN,
            compact_after=reader.count("compact_after", 20, least=0),
            compact_below=reader.size("compact_below", file_size),
            tblproperties={str(k): str(v) for k, v in (config.get("tblproperties") or {}).items()},
            history=HistoryLayout.of(config, problems) if keeps_history else None,
            scd2=_scd2_of(config, reader, problems) if scd2 else None,
        )
        if config.get("catalog_name"):
            problems.append(f"catalog_name is {config['catalog_name']!r}, and lakemerge has no catalogs")
        if not scd2 and (given := [name for name in SCD2_OPTIONS if config.get(name)]):
            problems.append(f"{', '.join(given)} only have a meaning with stored_as_scd_type 2")
        if not keeps_history and (given := [name for name in HISTORY_OPTIONS if config.get(name)]):
            problems.append(f"{', '.join(given)} only have a meaning for tables that keep history")
        problems += result._contradictions(merges, _given(config, _MERGE_ONLY))
        given = [name for name in _COMMIT_PARTITIONED_ONLY if config.get(name) is not None]
        problems += result._layout_contradictions(strategy, given)
        reader.require_sound()
        return result

    @staticmethod
    def names_no_key(config: Mapping[str, Any]) -> bool:
        """Whether a dbt config has neither a unique_key nor an option of a merge, all of which need one."""
        names = OptionReader(config, []).names("unique_key")
        return not names and not _given(config, _MERGE_ONLY)

    def _contradictions(self, merges: bool, given: list[str]) -> list[str]:
        problems = []
        if merges and not self.unique_key:
            options = f" with {', '.join(given)}" if given else ""
            problems.append(f"incremental_strategy 'merge'{options} needs a unique_key")
        if not merges and given:
            problems.append(f"{', '.join(given)} only have a meaning with incremental_strategy 'merge'")
        if self.column_list and self.except_column_list:
            problems.append("column_list and except_column_list exclude each other")
        if self.merge_update_columns and self.merge_exclude_columns:
            problems.append("merge_update_columns and merge_exclude_columns exclude each other")
        for name in _NEED_SEQUENCE:
            if getattr(self, name) and not self.sequence_by:
                problems.append(f"{name} needs sequence_by")
        partial = self.ignore_null_updates or self.merge_update_columns or self.merge_exclude_columns
        if self.apply_as_truncates and partial:
            problems.append("apply_as_truncates goes with whole-row updates only")
        if self.sync == "full" and (self.apply_as_truncates or self.incremental_predicates):
            problems.append("sync 'full' goes with neither apply_as_truncates nor incremental_predicates")
        if self.scd2:
            problems += self._contradictions_of_scd2()
        return problems

    def _contradictions_of_scd2(self) -> list[str]:
        problems = [
            f"{name} has no meaning with stored_as_scd_type 2"
            for name in _NOT_WITH_SCD2
            if getattr(self, name)
        ]
        if not self.sequence_by:
            problems.append("stored_as_scd_type 2 needs sequence_by")
        if self.sync == "full":
            problems.append("sync 'full' has no meaning with stored_as_scd_type 2: use a snapshot")
        return problems

    def _layout_contradictions(self, strategy: str | None, given: list[str]) -> list[str]:
        if self.append_layout == "rewrite":
            names = ", ".join(given)
            return [f"{names} only have a meaning with append_layout 'commit_partitioned'"] if given else []
        problems = []
        if strategy not in ("append", None):
            problems.append("append_layout 'commit_partitioned' goes with incremental_strategy 'append' only")
        if self.compact_after == 1:
            problems.append("compact_after must be at least 2, or 0 for never")
        return problems

    @property
    def new_commit_column(self) -> str:
        """The commit column of a table that is made of this model; empty if it is not of the append kind."""
        return self.commit_column if self.append_layout == "commit_partitioned" else ""

    def require_layout(self, table: object, commit_column: str) -> None:
        """Check that an existing table has the layout that the model asks for.

        Raises:
            InvalidConfig: it was made without a commit column, or with another one.
        """
        if self.new_commit_column not in ("", commit_column):
            raise InvalidConfig(
                expected=f"{table} to be partitioned by {self.new_commit_column} (append_layout 'commit_partitioned')",
                found=f"the commit column {commit_column}" if commit_column else "a table without one",
                action="Run the model with --full-refresh to make the table anew, or correct the option.",
            )

    @property
    def sequence(self) -> str:
        """The sequence as one SQL expression: a struct where there are several; empty for none."""
        if len(self.sequence_by) > 1:
            members = ", ".join(f"({part}) as part_{i}" for i, part in enumerate(self.sequence_by, 1))
            return f"struct({members})"
        return f"({self.sequence_by[0]})" if self.sequence_by else ""

    @property
    def reads_a_feed(self) -> bool:
        """Whether the model's rows are changes, of which a key may have several, and not just rows."""
        return bool(self.sequence_by or self.apply_as_deletes or self.sync == "full")

    @property
    def null_sequence(self) -> str:
        """SQL that is true where any part of the sequence is null."""
        return " or ".join(f"({part}) is null" for part in self.sequence_by) or "false"

    def keeps(self, columns: list[str]) -> list[str]:
        """Those of the feed's columns that reach the table.

        Raises:
            InvalidConfig: the lists name columns that the feed does not have.
        """
        known = {name.lower() for name in columns}
        listed = [name.lower() for name in (*self.column_list, *self.except_column_list)]
        if missing := [name for name in listed if name not in known]:
            raise InvalidConfig(
                expected="column_list and except_column_list to name columns of the model",
                found=f"{', '.join(missing)}, which it does not have ({', '.join(sorted(known))})",
                action="Correct the list or the model's query.",
            )
        if self.column_list:
            return [name for name in columns if name.lower() in listed]
        return [name for name in columns if name.lower() not in listed]

    def generated(
        self, feed: DataFrame, base: Manifest | None, table: str, commit_column: str = ""
    ) -> tuple[HiveColumn, ...]:
        """The table's columns that the write fills itself.

        Args:
            base: the version that is written to; ``None`` for a new table.
            table: its name, for messages.
            commit_column: of a table of the append kind, the last partition column.

        Raises:
            InvalidConfig: the model gives such a column itself.
        """
        if commit_column:
            self._require_free(commit_column, feed)
            return (HiveColumn(commit_column, COMMIT_COLUMN_TYPE),)
        if self.history is None:
            return ()
        layout = self.history.of_table(base)
        if base is None:
            layout.tell_made(table)
        else:
            layout.tell_kept(self.history, table)
        return (*self._scd2_columns(feed), *layout.columns)

    def _require_free(self, commit_column: str, feed: DataFrame) -> None:
        if commit_column in [name.lower() for name in self.keeps(feed.columns)]:
            raise InvalidConfig(
                expected=f"a model without the column {commit_column}, which gets the version of each commit",
                found="that its query gives one",
                action=f"Add except_column_list: ['{commit_column}'] to the model, or choose another commit_column.",
            )

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """The partition columns of a table that is made of this model, those that the write fills included."""
        if self.history is not None:
            return tuple(self.history.partition_by(self.partition_by))
        return (*self.partition_by, *filter(None, (self.new_commit_column,)))

    def _scd2_columns(self, feed: DataFrame) -> tuple[HiveColumn, ...]:
        if self.scd2 is None:
            return ()
        clashing = [name for name in self.keeps(feed.columns) if name.lower() in self.scd2.columns]
        if clashing:
            raise InvalidConfig(
                expected=f"a model without the columns of the history ({', '.join(self.scd2.columns)})",
                found=", ".join(clashing),
                action="Leave them out with except_column_list, or set other history_column_names.",
            )
        kind = hive_columns(feed.selectExpr(f"{self.sequence} as sequence_by").schema)[0].type
        known = ("bigint", "bigint") if self.scd2.bitemporal else ()
        return tuple(map(HiveColumn, self.scd2.columns, (kind, kind, *known)))

    def updates(self, column: str) -> bool:
        """Whether a matched row takes this column from the change."""
        if self.merge_update_columns:
            return column in [name.lower() for name in self.merge_update_columns]
        return column not in [name.lower() for name in self.merge_exclude_columns]


def _given(config: Mapping[str, Any], options: Iterable[str]) -> list[str]:
    """Those of the options that a config gives a value other than that of none."""
    return [name for name in options if config.get(name) not in (None, "", [], False, "none")]


def _scd2_of(config: Mapping[str, Any], reader: OptionReader, problems: list[str]) -> Scd2Config:
    return Scd2Config.of(
        config.get("history_column_names"),
        reader.names("track_history_column_list"),
        reader.names("track_history_except_column_list"),
        reader.flag("bitemporal", False),
        problems,
    )


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.lower() for name in names))
