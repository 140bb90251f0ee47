"""The adapter's methods for snapshots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dbt.adapters.base import available
from dbt.adapters.lakemerge.capability import Capability

from lakemerge.engine.relations.table_schema import comparable, spark_type
from lakemerge.engine.sql_text import quote


class SnapshotMethods(Capability):
    """``adapter.snapshots``; see the materialization `snapshot` for its use."""

    @available.parse_list
    def columns_of_query(self, sql: str) -> list[str]:
        """The names of a query's columns; it is analysed and not run."""
        return list(self.handle.spark.sql(sql).columns)

    @available.parse_list
    def comparable_columns(self, names: Sequence[str], types: Mapping[str, str], prefix: str) -> list[str]:
        """The columns ``prefix.name`` in a form that ``<=>`` accepts, which does not compare maps.

        Args:
            types: Spark's names of the columns' types, by the columns' names in lower case.
        """
        return [comparable(f"{prefix}.{quote(name)}", spark_type(types[name.lower()])) for name in names]
