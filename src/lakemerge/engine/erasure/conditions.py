"""Conditions that mean the same before and after the rows are gone."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from lakemerge.engine.sql_text import qualified
from lakemerge.errors import UnsupportedStatement
from lakemerge.kernel import TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A table in a plan that Spark has resolved, as it prints it.
_TABLE = re.compile(r"SubqueryAlias spark_catalog\.(`(?:[^`]|``)+`|[^.\s]+)\.(`(?:[^`]|``)+`|\S+)")


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
        plan = rows.where(condition)._jdf.queryExecution().analyzed().toString()
        read = [
            (schema.strip("`").lower(), table.strip("`").lower()) for schema, table in _TABLE.findall(plan)
        ]
        if (name.schema, name.name) in read:
            read.remove((name.schema, name.name))  # the table itself
        if again := sorted({f"{one.schema}.{one.name}" for one in erased if (one.schema, one.name) in read}):
            raise UnsupportedStatement(
                expected="conditions that can be searched for once the rows are gone",
                found=f"one for {name} that reads {', '.join(again)}",
                action="Write the keys to a table of their own first, and let the condition read that one.",
            )
