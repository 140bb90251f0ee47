"""Frames of rows that this process has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def small_frame(spark: SparkSession, rows: Sequence[Sequence[Any]], columns: Mapping[str, str]) -> DataFrame:
    """A frame of rows.

    It is made of an Arrow table. Of a list of rows, Spark makes it by Python processes on the executors, which need no
    Python otherwise.

    Args:
        columns: the types of the columns, as Arrow names them (``string``, ``int64``), by their names.
    """
    import pyarrow

    arrays = {
        name: pyarrow.array([row[place] for row in rows], pyarrow.type_for_alias(kind))
        for place, (name, kind) in enumerate(columns.items())
    }
    return spark.createDataFrame(pyarrow.table(arrays))
