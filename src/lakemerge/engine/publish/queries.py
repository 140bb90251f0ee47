"""Queries of one node in its Spark session: computed once, counted on the way, read back, or kept as views."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lakemerge.engine.relations.sized_text import padded_columns
from lakemerge.engine.spark.observations import Observed, observe
from lakemerge.engine.spark.own_sql import run_sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakemerge.engine.spark.handle import SessionHandle

_LOG = logging.getLogger("lakemerge")


class Queries:
    """Runs the SQL that drivers get from macros.

    Attributes:
        spark: the node's session.
    """

    def __init__(self, handle: SessionHandle) -> None:
        self._handle = handle

    @property
    def spark(self) -> SparkSession:
        return self._handle.spark

    def materialize(self, view: str, sql: str, metrics: Mapping[str, str]) -> dict[str, Any]:
        """Compute a query once, keep its rows for the rest of the attempt, and count as it runs.

        Rows are kept in memory, and on local disk where memory is full. An attempt never computes them twice: a second
        run of a feed that is not deterministic would give other rows.

        Args:
            view: the temporary view by which the rows are read.
            metrics: aggregate expressions by name.

        Returns:
            The aggregates' values by name.
        """
        self._handle.raise_if_cancelled()
        frame, observed = observe(run_sql(self.spark, sql), metrics)
        self._handle.keep_rows(view, frame)
        return observed.get

    def define_view(self, view: str, sql: str) -> None:
        """Make a temporary view of a query, computed whenever it is read."""
        run_sql(self.spark, sql).createOrReplaceTempView(view)

    def define_files(self, view: str, paths: Sequence[str], file_format: str, like: str) -> None:
        """Make a temporary view of data files, with the columns of a table."""
        schema = self.spark.table(like).schema
        files = self.spark.read.schema(schema).format(file_format).load(list(paths))
        files.select(*padded_columns(schema)).createOrReplaceTempView(view)

    def observe_view(self, view: str, sql: str, metrics: Mapping[str, str]) -> Observed:
        """Make a temporary view that computes metrics as its rows are first read; ``get`` of the result has them."""
        frame, observed = observe(run_sql(self.spark, sql), metrics)
        frame.createOrReplaceTempView(view)
        return observed

    def rows(self, sql: str) -> list[Any]:
        """The rows of a small query."""
        self._handle.raise_if_cancelled()
        return list(run_sql(self.spark, sql).collect())
