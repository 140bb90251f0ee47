"""Whether stored values survive a change of their columns' types."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dbt.adapters.lakemerge.relations.table_schema import ColumnPlan, SchemaPlan
from dbt.adapters.lakemerge.sql_text import qualified

from lakemerge.errors import IncompatibleColumn
from lakemerge.kernel import Manifest, TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def lost_value_sql(column: ColumnPlan) -> str:
    """SQL over the stored rows that is true where the column's type cannot hold the stored value.

    A fraction or a time of day that does not fit the type is cut off, as by any cast; that does not count as loss.
    """
    if size := re.fullmatch(r"(?:var)?char\((\d+)\)", column.type):
        return f"char_length(cast({column.quoted} as string)) > {size[1]}"
    return f"{column.quoted} is not null and try_cast({column.quoted} as {column.type}) is null"


def require_castable(spark: SparkSession, name: TableName, plan: SchemaPlan, base: Manifest) -> None:
    """Check that no value is lost when a commit changes the types of stored columns.

    Without ANSI mode, a cast silently turns a value that does not fit into a null or another number.

    Raises:
        IncompatibleColumn: some values do not fit; their columns and counts are named.
    """
    stored = {column.name: column.type for column in base.columns}
    changed = [column for column in plan.columns if stored.get(column.name, column.type) != column.type]
    if not changed or not plan.rewrites_all:
        return
    counts = [f"count_if({lost_value_sql(column)}) as {column.quoted}" for column in changed]
    found = spark.table(qualified(name)).selectExpr(*counts).collect()[0].asDict()
    lost = [
        f"{found[column.name]} of {column.name} ({stored[column.name]}) that {column.type} cannot hold"
        for column in changed
        if found[column.name]
    ]
    if lost:
        raise IncompatibleColumn(
            expected=f"stored values of {name} that fit the new types of their columns",
            found=", ".join(lost),
            action="Nothing was changed. Fix these rows first, or choose a type that holds them.",
        )
