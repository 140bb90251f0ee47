"""What an append does when another commit overtakes it."""

from __future__ import annotations

from typing import Any

import pytest

from functional.node_table import NodeTable
from functional.overtaking import overtake


class Appended(NodeTable):
    """A table that the materialization appends to."""

    def __init__(self, project: Any, **config: Any) -> None:
        strategy = {"materialized": "incremental", "incremental_strategy": "append"}
        super().__init__(project, "appended", {"config": {**strategy, **config}, "columns": {}})

    def append(self, query: str) -> Any:
        """Append the rows of a query; returns the response."""
        adapter = self.adapter
        with adapter.connection_named(self.name):
            adapter.handle.spark.sql(f"create or replace temporary view lakemerge_feed as {query}")
            request = adapter.nodes.request(self.relation, self.model, "append")
            return adapter.nodes.publish(self.context, request)


@pytest.mark.slow
def test_a_change_of_types_keeps_a_partition_that_another_run_makes_meanwhile(
    project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Appended(project, partition_by="day", on_schema_change="sync_all_columns")
    table.append("select 1 as id, 1 as day")
    overtake(monkeypatch, lambda: table.append("select 2 as id, 9 as day"))
    table.append("select 3L as id, 9 as day")
    rows = [tuple(row) for row in table.sql("select id, day, typeof(id) from {table} order by id")]
    assert rows == [(1, 1, "bigint"), (2, 9, "bigint"), (3, 9, "bigint")]
