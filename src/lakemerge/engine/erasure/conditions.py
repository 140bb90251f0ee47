"""Conditions that mean the same before and after the rows are gone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from lakemerge.engine.spark.read_tables import tables_read
from lakemerge.engine.sql_text import qualified
from lakemerge.errors import UnsupportedStatement
from lakemerge.kernel import TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def require_searchable(spark: SparkSession, names: Iterable[TableName], conditions: Iterable[str]) -> None:
    """Check that no condition reads a table from which rows are erased: it would find nothing afterwards.

    Raises:
        UnsupportedStatement: one does.
    """
    erased = list(names)
    for name, condition in zip(erased, conditions, strict=True):
        if not condition:
            continue
        rows = spark.table(qualified(name)).alias(name.name)
        read = tables_read(rows.where(condition))
        if name in read:
            read.remove(name)  # the table itself
        if again := sorted({str(one) for one in erased if one in read}):
            raise UnsupportedStatement(
                expected="conditions that can be searched for once the rows are gone",
                found=f"one for {name} that reads {', '.join(again)}",
                action="Write the keys to a table of their own first, and let the condition read that one.",
            )
