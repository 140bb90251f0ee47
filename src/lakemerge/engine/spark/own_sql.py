"""The SQL that the engine runs, which the debug log shows: with dbt, in `logs/dbt.log`."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from lakemerge.redaction import redacted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LOG = logging.getLogger("lakemerge")
# A statement over thousands of columns has megabytes, and dbt's log keeps ten.
_MOST = 200_000


def run_sql(spark: SparkSession, sql: str) -> DataFrame:
    """A query of ours as a frame, or a command's result. Queries run when their rows are read."""
    if _LOG.isEnabledFor(logging.DEBUG):
        work = spark.sparkContext.getLocalProperty("spark.job.description") or "lakemerge"
        cut = f"\n… {len(sql) - _MOST} characters more" if len(sql) > _MOST else ""
        _LOG.debug("On %s:\n%s%s", work, redacted(sql[:_MOST]), cut)
    return spark.sql(sql)
