"""Tables of dbt models, and transactions of a program on them in the same Spark application."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from dbt.adapters.lakemerge.responses import CommitResponse

from functional.merge.conftest import Merger, merger, models
from functional.node_table import NodeTable
from lakemerge.kernel import Kernel, Layout, TableName

__all__ = ["merger", "models"]


class Appended(NodeTable):
    """A table that a model appends to."""

    def __init__(self, project: Any, config: dict[str, Any], feed: str) -> None:
        strategy = {"materialized": "incremental", "incremental_strategy": "append"}
        super().__init__(project, "appended", {"config": {**strategy, **config}, "columns": {}})
        self.feed = feed

    def append(self, rows: list[dict[str, Any]]) -> CommitResponse:
        """Run the model with these rows."""
        with self.adapter.connection_named(self.name):
            frame = self.adapter.handle.spark.createDataFrame(
                [tuple(row.values()) for row in rows], self.feed
            )
            frame.createOrReplaceTempView("lakemerge_feed")
            request = self.adapter.nodes.request(self.relation, self.model, "append")
            response: CommitResponse = self.adapter.nodes.publish(self.context, request, bool(self.left()))
            return response


class Program:
    """What a Python program has: a session of the same Spark application, and the kernel to look at tables with."""

    def __init__(self, adapter: Any) -> None:
        with adapter.connection_named("program"):
            application = adapter.handle.application
        self.spark = application.root
        self.kernel = Kernel(application.ports)

    def name(self, table: NodeTable) -> str:
        return f"{table.relation.schema}.{table.relation.identifier}"

    def table_name(self, table: NodeTable) -> TableName:
        return TableName(table.relation.schema, table.relation.identifier)

    def left(self, table: NodeTable) -> tuple[list[str], list[str]]:
        """The transactions that have staged files, and those with a heartbeat, but those of its versions."""
        layout: Layout = self.kernel.settled(self.table_name(table))[0].layout
        committed = {commit["txn"] for commit in table.history()}
        files = self.kernel.files

        def names(folder: str) -> list[str]:
            return [entry.name for entry in files.list(folder) if entry.name not in committed]

        return names(layout.data_of("").rstrip("/")), names(layout.open)


@pytest.fixture(scope="class")
def program(project: Any, merger: Callable[..., Merger]) -> Program:
    return Program(project.adapter)


@pytest.fixture(scope="class")
def appended(project: Any, merger: Callable[..., Merger]) -> Callable[..., Appended]:
    """Makes an :class:`Appended`: ``appended(config, feed)``."""
    return lambda config, feed: Appended(project, config, feed)
