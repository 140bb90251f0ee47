"""Consumers: each partition of a source reaches a table once.

A consumer reads a source and writes one table, its output. Which partitions it has processed is part of the output's
own commits, so a partition counts as processed exactly when its rows are there. A table beside the output says which
run has which partitions and what has failed, for coordination and for people.

It knows neither dbt nor Spark.
"""

from lakemerge.consumer.batch import Batch, Left, record
from lakemerge.consumer.consumer import Consumer, Filter, Options
from lakemerge.consumer.items import Item, SourceSnapshot
from lakemerge.consumer.run import Run
from lakemerge.consumer.working_set import WorkingSet

__all__ = [
    "Batch",
    "Consumer",
    "Filter",
    "Item",
    "Left",
    "Options",
    "Run",
    "SourceSnapshot",
    "WorkingSet",
    "record",
]
