"""Statements of a program on tables that are made for a test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import lakemerge
from functional.merge.conftest import Merger
from functional.transactions.conftest import Program, merger, models, program
from lakemerge.engine.publish.result import CommitResult

__all__ = ["merger", "models", "program"]

# Options of tables by their kind; the key is `id` where there is one.
KINDS: dict[str, dict[str, Any]] = {
    "unpartitioned": {},
    "partitioned": {"partition_by": ["d"]},
    "parquet": {"partition_by": ["d"], "file_format": "parquet"},
    "append": {"append_layout": "commit_partitioned"},
    "append, partitioned": {"append_layout": "commit_partitioned", "partition_by": ["d"]},
    "keyed": {"unique_key": "id"},
    "keyed, partitioned": {"unique_key": "id", "partition_by": ["d"], "sequence_by": "ts"},
    "merge on read": {"unique_key": "id", "sequence_by": "ts", "write_mode": "merge_on_read"},
    "merge on read, partitioned": {
        "unique_key": "id",
        "sequence_by": "ts",
        "partition_by": ["d"],
        "write_mode": "merge_on_read",
    },
}


class Statements:
    """A program's session, in a database of the test's project."""

    def __init__(self, spark: Any, schema: str) -> None:
        self.spark = spark.newSession()
        self.schema = schema
        self.spark.sql(f"create database if not exists `{schema}`")
        self.spark.sql(f"use `{schema}`")

    def table(self, name: str) -> lakemerge.tables.Table:
        return lakemerge.table(f"{self.schema}.{name}", spark=self.spark)

    def make(self, name: str, kind: str, rows: str) -> lakemerge.tables.Table:
        """A table of one of the :data:`KINDS`, with the rows of a query."""
        made, options = self.table(name), KINDS[kind]
        if "unique_key" in options:
            made.merge(rows, **options)
        elif kind.startswith("append"):
            made.append(rows, **options)
        else:
            made.replace(rows, **options)
        return made

    def run(self, statement: str) -> CommitResult:
        return lakemerge.sql(statement, spark=self.spark)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return sorted((tuple(row) for row in self.spark.sql(query).collect()), key=repr)


@pytest.fixture(scope="class")
def statements(program: Program, project: Any, merger: Callable[..., Merger]) -> Statements:
    return Statements(program.spark, project.test_schema)
