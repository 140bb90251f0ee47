"""How Spark plans and runs a query whose joins are done by one task."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lakemerge.engine.spark.record_planning import INTERPRETED, overriding, sets_factory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EXCLUDED = "spark.sql.optimizer.excludedRules"
# It moves semi joins and anti joins below the hint that lets one task read both sides, and so brings the shuffles back.
_RULE = "org.apache.spark.sql.catalyst.optimizer.PushDownLeftSemiAntiJoin"

_MOST_TASKS = "spark.sql.files.maxPartitionNum"
# How many bytes of files one task takes when it reads few of their columns.
_BYTES_OF_TASK = 64 * 1024 * 1024


@contextmanager
def planned_for_keys(spark: SparkSession, size: int) -> Iterator[None]:
    """Let the session's queries inside the block read the keys of files of ``size`` bytes with few tasks.

    Spark gives a task some thirty files, however small they are; starting a task takes as long as opening several.
    A number of tasks that is already set stays as it is.
    """
    tasks = max(2 * spark.sparkContext.defaultParallelism, size // _BYTES_OF_TASK)
    with overriding(spark, {} if spark.conf.get(_MOST_TASKS, None) else {_MOST_TASKS: str(tasks)}):
        yield


@contextmanager
def planned_for_one_task(spark: SparkSession) -> Iterator[None]:
    """Plan the session's queries inside the block for one task, which has few rows.

    The hint ``coalesce(1)`` keeps joins above it free of shuffles. Spark also evaluates expressions instead of
    compiling code for them: compiling takes longer than a few rows do, and is done again for every table.
    """
    others = spark.conf.get(_EXCLUDED, None)
    settings = {
        _EXCLUDED: f"{others},{_RULE}" if others else _RULE,
        # Spark takes a feed of unknown size for a large one, and would spread it over several tasks
        "spark.sql.maxSinglePartitionBytes": f"{2**63 - 1}b",
    }
    if not sets_factory(spark):
        settings |= INTERPRETED
    with overriding(spark, settings):
        yield
