"""Whether stored values survive a change of their columns' types."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from lakemerge.engine.relations.nested_types import loses_map_keys, lost_value, simple_casts
from lakemerge.engine.relations.sized_text import unsized
from lakemerge.engine.relations.table_schema import ColumnPlan, SchemaPlan, spark_type
from lakemerge.engine.sql_text import qualified
from lakemerge.errors import IncompatibleColumn
from lakemerge.kernel import Manifest, TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import DataType


def lost_value_sql(column: ColumnPlan) -> str:
    """SQL over the stored rows that is true where the column's type cannot hold the stored value.

    A fraction or a time of day that does not fit the type is cut off, as by any cast; that does not count as loss.
    """
    if column.stored_type is not None:
        return lost_value(column.quoted, column.stored_type, spark_type(column.type), loses)
    return loses(column.quoted, column.type)


def loses(value: str, kind: DataType | str) -> str:
    """SQL that is true where the value of some SQL is lost by a cast to a simple type."""
    text = kind if isinstance(kind, str) else kind.simpleString()
    if size := re.fullmatch(r"(?:var)?char\((\d+)\)", text):
        return f"char_length(rtrim(cast({value} as string))) > {size[1]}"
    return f"{value} is not null and try_cast({value} as {text}) is null"


def require_castable(spark: SparkSession, name: TableName, plan: SchemaPlan, base: Manifest) -> None:
    """Check that no value is lost when a commit changes the types of stored columns.

    Without ANSI mode, a cast silently turns a value that does not fit into a null or another number.

    Raises:
        IncompatibleColumn: some values do not fit, or types have nothing in common; their columns are named.
    """
    stored = {column.name: column.type for column in base.columns}
    changed = [column for column in plan.columns if stored.get(column.name, column.type) != column.type]
    if not changed or not plan.rewrites_all:
        return
    if strange := [found for column in changed for found in _strange(spark, column, stored[column.name])]:
        raise IncompatibleColumn(
            expected=f"types for the columns of {name} to which Spark can cast the stored values",
            found="; ".join(strange),
            action="Nothing was changed. Give the model's column another name, choose another type, or run with "
            "--full-refresh.",
        )
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


def _strange(spark: SparkSession, column: ColumnPlan, stored: str) -> Iterable[str]:
    """Casts that Spark does not know, among those that a column's change of type needs; each with its path."""
    kind, wanted = spark_type(unsized(stored)), spark_type(unsized(column.type))
    jvm = spark._jvm
    assert jvm is not None
    cast, types = jvm.org.apache.spark.sql.catalyst.expressions.Cast, jvm.org.apache.spark.sql.types.DataType
    for path, one, other in simple_casts(kind, wanted, column.name):
        # those of ANSI are fewer, and `try_cast` knows no others whatever the mode
        if not cast.canTryCast(types.fromJson(one.json()), types.fromJson(other.json())):
            yield f"{path}: {one.simpleString()} into {other.simpleString()}"
    if loses_map_keys(kind, wanted):
        yield f"{column.name}: {stored} into {column.type}, which would drop fields from the keys of a map"
