"""Run merges as the materialization does, without a dbt invocation for each."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pytest
from dbt.tests.util import run_dbt

from functional.node_table import NodeTable
from lakemerge.kernel import Manifest, PartitionState
from lakemerge.kernel.ports.names import TableName


class Merger(NodeTable):
    """A table that batches are merged into.

    Args:
        project: dbt's project fixture.
        config: the model's config.
        feed: the feed's columns as DDL.
    """

    def __init__(self, project: Any, config: dict[str, Any], feed: str) -> None:
        strategy = {"materialized": "incremental", "incremental_strategy": "merge"}
        super().__init__(project, "merged", {"config": {**strategy, **config}, "columns": {}})
        self.feed = feed

    def merge(self, rows: Sequence[dict[str, Any]] | str, *, rebuild: bool = False) -> Any:
        """Merge a batch; returns the response. Raises what the materialization raises.

        Args:
            rows: the batch, or a query for it, in which `{table}` is the table.
        """
        adapter = self.adapter
        with adapter.connection_named(self.name):
            spark = adapter.handle.spark
            if isinstance(rows, str):
                query = rows.format(table=self.relation.render())
                spark.sql(f"create or replace temporary view lakemerge_feed as {query}")
            else:
                frame = spark.createDataFrame([tuple(row.values()) for row in rows], self.feed)
                frame.createOrReplaceTempView("lakemerge_feed")
            request = adapter.nodes.request(self.relation, self.model, "merge", rebuild)
            return adapter.nodes.publish(self.context, request)

    def manifest(self) -> Manifest:
        """The newest version."""
        with self.adapter.connection_named(self.name):
            newest: Manifest = self.adapter.operations.kernel().settled(self.relation.table_name)[1]
            return newest

    def partitions(self) -> Mapping[str, PartitionState]:
        """The partitions of the newest version, by name."""
        return self.manifest().partitions

    def ledger_folders(self) -> list[str]:
        """The directories of the ledger."""
        with self.adapter.connection_named(self.name):
            state, manifest = self.adapter.operations.kernel().settled(
                TableName(self.relation.schema, self.relation.identifier)
            )
            return [state.layout.absolute(folder) for folder in manifest.sidecars.get("ledger", ())]

    def count_deltas(self) -> int:
        """How many deltas the table's view merges with its base."""
        return len(self.manifest().sidecars.get("deltas", ()))

    def let_days_pass(self, days: int = 31) -> None:
        """Move the ledger's clock: all that it holds was recorded so many days earlier from now on."""
        folders = self.ledger_folders()
        with self.adapter.connection_named(self.name):
            let_days_pass(self.adapter.handle.spark, folders, days)

    def let_minutes_pass(self, minutes: int) -> None:
        """Move the file system's clock: the table's versions were made so many minutes earlier from now on."""
        with self.adapter.connection_named(self.name):
            layout = self.adapter.operations.kernel().open(self.relation.table_name).layout
        for folder in (layout.commits, layout.seen):
            place = Path(urlparse(folder).path)
            for file in place.iterdir() if place.exists() else ():
                moment = file.stat().st_mtime - minutes * 60
                os.utime(file, (moment, moment))

    def rows(self, order: str = "id") -> list[dict[str, Any]]:
        """The table's rows as readers see them."""
        return [row.asDict(recursive=True) for row in self.sql(f"select * from {{table}} order by {order}")]


def let_days_pass(spark: Any, folders: Sequence[str], days: int = 31) -> None:
    """Let all that a ledger of ORC files holds have been recorded so many days earlier."""
    for folder in folders:
        frame = spark.read.orc(folder)
        names = [name for name in frame.columns if name != "__recorded_at"]
        frame = frame.selectExpr(*names, f"__recorded_at - interval {days} days as __recorded_at")
        rows = spark.createDataFrame(frame.collect(), frame.schema)
        rows.coalesce(1).write.mode("overwrite").orc(folder)


@pytest.fixture(scope="class")
def models() -> dict[str, str]:
    return {"nothing.sql": "select 1 as id"}


@pytest.fixture(scope="class")
def merger(project: Any) -> Any:
    """Makes a :class:`Merger`: ``merger(config, feed)``."""
    run_dbt(["run"])

    def make(config: dict[str, Any], feed: str) -> Merger:
        return Merger(project, config, feed)

    return make
