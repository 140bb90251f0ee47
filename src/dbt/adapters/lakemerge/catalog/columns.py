"""The columns of tables and views: from the metastore, or from Spark where the metastore's are placeholders."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.lakemerge.column import LakemergeColumn
from dbt.adapters.lakemerge.dbt_errors import SparkStatementError

from lakemerge.engine.failures import CAUTION
from lakemerge.engine.relations.sized_text import CHAR_TYPE
from lakemerge.engine.sql_text import qualified
from lakemerge.kernel import HiveColumn, HiveTable, spelled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


#: A context manager that turns Spark's errors into those that dbt shows; its argument says what is being done.
Guard = Callable[[str], AbstractContextManager[Any]]

_VIEWS = ("VIRTUAL_VIEW", "MATERIALIZED_VIEW")
_PROVIDER = "spark.sql.sources.provider"


def columns_of(table: HiveTable, spark: SparkSession, guard: Guard) -> Iterable[HiveColumn]:
    """A table's or view's columns with the names that Spark shows, partition columns last.

    Raises:
        SparkStatementError: it is a view, and what the view reads is gone.
    """
    if table.kind in _VIEWS or table.parameters.get(_PROVIDER, "hive").lower() != "hive":
        return columns_by_spark(qualified(table.name), spark, guard)
    return spelled(table)


def columns_for_catalog(table: HiveTable, spark: SparkSession, guard: Guard) -> Iterable[HiveColumn]:
    """As :func:`columns_of`, but none of an unreadable view, so that it does not keep others out of the docs."""
    try:
        return columns_of(table, spark, guard)
    except SparkStatementError as error:
        CAUTION.warning(f"The catalog omits the columns of {table.name}: {error.msg.splitlines()[0]}")
        return ()


def columns_by_spark(name: str, spark: SparkSession, guard: Guard) -> list[HiveColumn]:
    """The columns of what Spark reads by a name; none where it knows no such name."""
    try:
        with guard(f"describe {name}"):
            fields = spark.table(name).schema.fields
    except SparkStatementError as error:
        if error.condition == "TABLE_OR_VIEW_NOT_FOUND":
            return []
        raise
    return [
        HiveColumn(
            field.name,
            field.metadata.get(CHAR_TYPE, field.dataType.simpleString()),
            field.metadata.get("comment", ""),
        )
        for field in fields
    ]


def as_dbt_columns(relation: BaseRelation, columns: Iterable[HiveColumn]) -> list[LakemergeColumn]:
    """Columns as dbt takes them."""
    return [
        LakemergeColumn(
            table_schema=relation.schema,
            table_name=relation.name,
            table_type=relation.type,
            column=column.name,
            column_index=index,
            dtype=column.type,
        )
        for index, column in enumerate(columns)
    ]
