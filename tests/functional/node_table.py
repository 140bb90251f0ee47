"""The table of a node, written by the driver of its materialization without a dbt invocation for each run."""

from __future__ import annotations

import itertools
from typing import Any

from lakemerge.kernel import TableName

_numbers = itertools.count()


class NodeTable:
    """One table, and the node that a materialization would write it for.

    Args:
        project: dbt's project fixture.
        prefix: what the table's name begins with; a number follows.
        model: the node as dbt gives it to macros, but for its id.
    """

    def __init__(self, project: Any, prefix: str, model: dict[str, Any]) -> None:
        self.adapter = project.adapter
        self.name = f"{prefix}_{next(_numbers)}"
        self.relation = self.adapter.Relation.create(
            schema=project.test_schema, identifier=self.name, type="table"
        )
        self.model = {"unique_id": f"model.test.{self.name}", **model}

    @property
    def context(self) -> dict[str, Any]:
        """dbt's context, as the materialization of the node has it."""
        adapter = self.adapter
        resolver, project = adapter._macro_resolver, adapter.config.project_name
        macro = resolver.find_macro_by_name("lakemerge_new_rows_sql", project, None)
        context: dict[str, Any] = adapter._macro_context_generator(macro, adapter.config, resolver, None)
        # the macros in it have this very object
        context.update({"model": self.model})
        return context

    def sql(self, text: str) -> list[Any]:
        """The rows of a query, in which `{table}` is the table, in a session of its own."""
        with self.adapter.connection_named(f"{self.name}_reader"):
            rows: list[Any] = self.adapter.handle.spark.sql(
                text.format(table=self.relation.render())
            ).collect()
            return rows

    def history(self) -> list[dict[str, Any]]:
        """The table's commits, the newest first."""
        with self.adapter.connection_named(self.name):
            commits: list[dict[str, Any]] = self.adapter.operations.history(self.relation)
            return commits

    def left(self) -> list[str]:
        """The names of the tables and views in the schema whose names begin with this one's."""
        with self.adapter.connection_named(self.name):
            rows = self.adapter.handle.application.metastore.table_summaries(self.relation.schema)
            return [
                row.name for row in rows if row.name == self.name or row.name.startswith(f"{self.name}__")
            ]

    def kind(self) -> str:
        """What the metastore says that the relation is, such as ``VIRTUAL_VIEW``."""
        with self.adapter.connection_named(self.name):
            name = TableName(self.relation.schema, self.name)
            return str(self.adapter.handle.application.metastore.get_table(name).kind)

    def drop(self) -> None:
        """Drop the table."""
        with self.adapter.connection_named(self.name):
            self.adapter.operations.drop(self.relation)
