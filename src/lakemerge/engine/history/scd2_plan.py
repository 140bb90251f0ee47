"""How a feed is merged into a table that keeps the history of each key: the facts for the SQL."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakemerge.engine.history.history_options import Scd2MergeConfig
from lakemerge.engine.history.layout import HistoryLayout
from lakemerge.engine.merge.ledger import Part, sequence_types
from lakemerge.engine.merge.merge_plan import MergeColumn, MergePlan
from lakemerge.engine.relations.sized_text import unsized
from lakemerge.engine.relations.table_schema import ColumnPlan, SchemaPlan
from lakemerge.engine.sql_text import quote
from lakemerge.errors import InvalidConfig
from lakemerge.kernel import Manifest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Scd2Plan:
    """Everything that the macros of a history need to know.

    Attributes:
        merge: the feed's part: keys, the columns that come from the feed, their partitions, the sequence. Its
            columns lack those of the history.
        start_at, end_at: the columns of a version's bounds.
        tracked: the columns whose changes make a new version.
        known_from, known_to: the columns that say which versions of the table held a row; ``None`` without them.
        layout: where open and closed rows lie.
        columns: all columns of the table, in its order.
    """

    merge: MergePlan
    start_at: ColumnPlan
    end_at: ColumnPlan
    tracked: tuple[MergeColumn, ...]
    known_from: ColumnPlan | None
    known_to: ColumnPlan | None
    layout: HistoryLayout
    columns: tuple[ColumnPlan, ...]

    @property
    def keys(self) -> tuple[MergeColumn, ...]:
        return self.merge.keys

    @property
    def exists(self) -> bool:
        return self.merge.exists

    @property
    def bitemporal(self) -> bool:
        return self.known_from is not None

    @property
    def row_type(self) -> str:
        """The type of a change's row: a struct of the columns that come from the feed."""
        return unsized(self._row_in_table)

    @property
    def _row_in_table(self) -> str:
        members = ", ".join(f"{column.quoted}: {column.plan.type}" for column in self.merge.columns)
        return f"struct<{members}>"

    @property
    def types_in_ledger(self) -> dict[str, str]:
        """The Hive types of what the ledger has of the table, by the names there."""
        return {**self.merge.key_types, "__row": self._row_in_table}

    @property
    def ledger_type(self) -> str:
        """The schema of the ledger: see the page on the table format."""
        assert self.merge.ledger is not None
        more = f"__recorded_at timestamp, __from {self.merge.ledger.sequence_type}"
        return f"{self.merge.ledger.columns}, __kind string, __row {self.row_type}, {more}"

    @classmethod
    def make(
        cls,
        config: Scd2MergeConfig,
        plan: SchemaPlan,
        feed: DataFrame,
        base: Manifest | None,
        table: str,
        version: int,
    ) -> Scd2Plan:
        """Plan a merge into a history; see :meth:`MergePlan.make`.

        Args:
            version: the version that the commit will make.

        Raises:
            InvalidConfig: an option names a column that does not exist.
        """
        layout = dataclasses.replace(config.history.of_table(base), version=version)
        by_name = {column.name: column for column in plan.columns}
        own = {*config.scd2.columns, *(column.name for column in layout.columns)}
        of_feed = tuple(column for column in plan.columns if column.name not in own)
        merge = MergePlan.make(config, SchemaPlan(of_feed, plan.rewrites_all), feed, base, table)
        assert merge.ledger is not None
        start_at = by_name[config.scd2.start_at]
        types = sequence_types(start_at.type, len(config.sequence_by))
        sequence = tuple(map(Part.of, config.sequence_by, types))
        history = (*config.scd2.columns, *(column.name for column in layout.columns))
        ledger = dataclasses.replace(merge.ledger, sequence=sequence, history=history, shown=True)
        bitemporal = config.scd2.bitemporal
        return cls(
            merge=dataclasses.replace(merge, ledger=ledger),
            start_at=start_at,
            end_at=by_name[config.scd2.end_at],
            tracked=_tracked(config, merge),
            known_from=by_name[config.scd2.known_from] if bitemporal else None,
            known_to=by_name[config.scd2.known_to] if bitemporal else None,
            layout=layout,
            columns=plan.columns,
        )

    def written(
        self, row: str, start_at: str, end_at: str, known_from: str, known_to: str
    ) -> Mapping[str, str]:
        """SQL of each column of a written row, by the column's quoted name.

        Args:
            row: SQL of the struct of the feed's columns; the other arguments are SQL of the history's columns.
        """
        values = {column.name: f"{row}.{column.quoted}" for column in self.merge.columns}
        values[self.start_at.name] = start_at
        values[self.end_at.name] = end_at
        is_open = f"{end_at} is null"
        if self.known_from and self.known_to:
            values[self.known_from.name] = known_from
            values[self.known_to.name] = known_to
            is_open = f"{end_at} is null and {known_to} is null"
        if self.layout.split:
            values[self.layout.partition] = self.layout.value(is_open)
        return {quote(column.name): values[column.name] for column in self.columns}

    @property
    def version(self) -> str:
        """SQL of the version that this commit makes."""
        return f"cast({self.layout.version} as bigint)"


def _tracked(config: Scd2MergeConfig, merge: MergePlan) -> tuple[MergeColumn, ...]:
    keys = {key.name for key in merge.keys}
    others = {column.name for column in merge.columns} - keys
    listed = {*config.scd2.tracked, *config.scd2.untracked}
    if missing := sorted(listed - others):
        raise InvalidConfig(
            expected=f"track_history lists to name columns other than the key ({', '.join(sorted(others))})",
            found=", ".join(missing),
            action="Correct the list, or let the model select the column.",
        )
    return tuple(
        column
        for column in merge.columns
        if column.name not in keys
        and (column.name in config.scd2.tracked if config.scd2.tracked else column.name not in listed)
    )
