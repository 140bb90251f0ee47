"""Frames of rows that this process has. Executors need no Python to make them.

Of a list of rows, and of an Arrow table without rows, Spark makes a frame by Python processes on the executors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from lakemerge.engine.spark.releases import frame_of_arrow, type_of_ddl

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


def small_frame(spark: SparkSession, rows: Sequence[Sequence[Any]], columns: Mapping[str, str]) -> DataFrame:
    """A frame of rows.

    Args:
        columns: the types of the columns, as Arrow names them (``string``, ``int64``), by their names.
    """
    import pyarrow

    arrays = {
        name: pyarrow.array([row[place] for row in rows], pyarrow.type_for_alias(kind))
        for place, (name, kind) in enumerate(columns.items())
    }
    return arrow_frame(spark, pyarrow.table(arrays))


def arrow_frame(spark: SparkSession, table: pyarrow.Table) -> DataFrame:
    """A frame of an Arrow table, in Spark's types for Arrow's."""
    if table.num_rows:
        return frame_of_arrow(spark, table)
    from pyspark.sql.pandas.types import from_arrow_schema

    return empty_frame(spark, from_arrow_schema(table.schema))


def empty_frame(spark: SparkSession, schema: StructType | str) -> DataFrame:
    """A frame without rows.

    Args:
        schema: as a type, or as DDL.
    """
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    columns = schema if isinstance(schema, StructType) else cast(StructType, type_of_ddl(schema))
    session, java = spark._jsparkSession, cast(Any, spark._jvm)
    frame = session.createDataFrame(java.java.util.ArrayList(), session.parseDataType(columns.json()))
    return DataFrame(frame, spark)
