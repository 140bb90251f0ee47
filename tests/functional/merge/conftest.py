"""Run merges as the materialization does, without a dbt invocation for each."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from dbt.tests.util import run_dbt

_numbers = itertools.count()


class Merger:
    """One table that batches are merged into.

    Args:
        project: dbt's project fixture.
        config: the model's config.
        schema: the feed's columns as DDL.
    """

    def __init__(self, project: Any, config: dict[str, Any], schema: str) -> None:
        self._project = project
        self._schema = schema
        self.name = f"merged_{next(_numbers)}"
        self.relation = project.adapter.Relation.create(
            schema=project.test_schema, identifier=self.name, type="table"
        )
        self._model = {
            "unique_id": f"model.test.{self.name}",
            "config": {"materialized": "incremental", "incremental_strategy": "merge", **config},
            "columns": {},
        }

    def merge(self, rows: Sequence[dict[str, Any]], *, rebuild: bool = False) -> Any:
        """Merge a batch; returns the response. Raises what the materialization raises."""
        adapter = self._project.adapter
        with adapter.connection_named(self.name):
            spark = adapter.handle.spark
            frame = spark.createDataFrame([tuple(row.values()) for row in rows], self._schema)
            frame.createOrReplaceTempView("lakemerge_feed")
            options = adapter.write_config(self._model, "merge")
            return adapter.execute_macro(
                "lakemerge_scd2" if options.scd2 else "lakemerge_merge",
                kwargs={"target": self.relation, "config": options, "rebuild": rebuild},
                context_override={"model": self._model},
            )

    def rows(self, order: str = "id") -> list[dict[str, Any]]:
        """The table's rows as readers see them."""
        return [
            row.asDict(recursive=True)
            for row in self.sql(f"select * from {self.relation.render()} order by {order}")
        ]

    def sql(self, text: str) -> list[Any]:
        """The rows of a query, in a session of its own."""
        with self._project.adapter.connection_named(f"{self.name}_reader"):
            rows: list[Any] = self._project.adapter.handle.spark.sql(text).collect()
            return rows

    def history(self) -> list[dict[str, Any]]:
        """The table's commits, the newest first."""
        with self._project.adapter.connection_named(self.name):
            commits: list[dict[str, Any]] = self._project.adapter.table_history(self.relation)
            return commits

    def drop(self) -> None:
        """Drop the table."""
        with self._project.adapter.connection_named(self.name):
            self._project.adapter.drop_table(self.relation)


@pytest.fixture(scope="class")
def models() -> dict[str, str]:
    return {"nothing.sql": "select 1 as id"}


@pytest.fixture(scope="class")
def merger(project: Any) -> Any:
    """Makes a :class:`Merger`: ``merger(config, schema)``."""
    run_dbt(["run"])

    def make(config: dict[str, Any], schema: str) -> Merger:
        return Merger(project, config, schema)

    return make
