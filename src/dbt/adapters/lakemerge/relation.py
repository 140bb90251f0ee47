"""Names of tables and views, as dbt passes them to macros."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dbt.adapters.base.relation import EventTimeFilter
from dbt.adapters.contracts.relation import ComponentName, RelationType
from dbt.adapters.lakemerge.staged_names import spelled_as, staged_view
from dbt.adapters.spark.relation import SparkRelation

from lakemerge.engine.event_times import in_range_sql
from lakemerge.engine.sql_text import quote
from lakemerge.kernel import HiveTable, TableName, is_overlay_view

_PLAIN_NAME = re.compile(r"\w+", re.ASCII)
_TYPES = {
    "MANAGED_TABLE": RelationType.Table,
    "EXTERNAL_TABLE": RelationType.Table,
    "VIRTUAL_VIEW": RelationType.View,
    "MATERIALIZED_VIEW": RelationType.MaterializedView,
}


@dataclass(frozen=True, eq=False, repr=False)
class LakemergeRelation(SparkRelation):
    """A relation of the metastore, or of the session alone (a temporary view, without a schema)."""

    @classmethod
    def type_of(cls, kind: str) -> RelationType:
        """dbt's type for the metastore's ``TableType``."""
        return _TYPES.get(kind, RelationType.External)

    @classmethod
    def type_of_table(cls, table: HiveTable) -> RelationType:
        """dbt's type for a row of the metastore: what is merged on read is a table, though readers see a view."""
        return RelationType.Table if is_overlay_view(table) else cls.type_of(table.kind)

    @property
    def in_session_only(self) -> bool:
        """Whether this is a temporary view: rendered without a schema, unknown to the metastore.

        A table without a schema is one of the session's current database.
        """
        return not self.include_policy.schema or (not self.schema and not self.is_table)

    @property
    def table_name(self) -> TableName:
        """The kernel's name of this relation."""
        return TableName(str(self.schema), str(self.identifier))

    @property
    def staged_view(self) -> str | None:
        """The view of what this run has staged of this relation; ``None`` where readers read the relation itself."""
        if (
            self.in_session_only
            or not self.schema
            or not self.include_policy.identifier
            or not self.identifier
        ):
            return None
        return staged_view(self.table_name)

    def render(self) -> str:
        """The name for queries; while a run has staged the relation and not published it, that of its staged view."""
        view, name = self.staged_view, super().render()
        return spelled_as(view, name) if view else name

    @staticmethod
    def in_event_times(event_time: str, start: datetime, end: datetime) -> str:
        """SQL that is true for rows of a range of event times: of those that a node reads, and of those it replaces."""
        return in_range_sql(event_time, start, end)

    def _render_event_time_filtered(self, event_time_filter: EventTimeFilter) -> str:
        return in_range_sql(event_time_filter.field_name, event_time_filter.start, event_time_filter.end)

    def _render_iterator(self) -> Iterator[tuple[ComponentName | None, str | None]]:
        # dbt-spark quotes no name; one that Spark would not read as a name alone is quoted whatever a project says
        for part, name in super()._render_iterator():
            plain = not name or name.startswith("`") or _PLAIN_NAME.fullmatch(name)
            yield part, (name or None) if plain else quote(str(name))

    def quoted(self, identifier: Any) -> str:
        """The identifier between backticks."""
        return quote(str(identifier))
