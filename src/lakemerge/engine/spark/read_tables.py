"""The tables that a query reads, in its subqueries and views, too."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lakemerge.kernel import TableName

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# A table in a plan that Spark has resolved, as it prints it.
_TABLE = re.compile(r"SubqueryAlias spark_catalog\.(`(?:[^`]|``)+`|[^.\s]+)\.(`(?:[^`]|``)+`|\S+)")


def tables_read(frame: DataFrame) -> list[TableName]:
    """The tables and views of the metastore, one for each place where the query names them, full aliases included."""
    plan = frame._jdf.queryExecution().analyzed().toString()
    return [TableName(_bare(schema), _bare(table)) for schema, table in _TABLE.findall(plan)]


def _bare(name: str) -> str:
    return name.strip("`").replace("``", "`").lower()
