"""How a query of changes and stored rows joins them, by how much there is of both.

A shuffle or a broadcast is a Spark job of its own, which costs the driver as much as a task that reads some megabytes.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakemerge.engine.spark.join_planning import planned_for_keys, planned_for_one_task

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: The keys are sent to every task that reads stored rows.
BROADCAST = "broadcast"
#: One task reads all and joins it, without a shuffle or a broadcast.
ONE_TASK = "one_task"
#: Spark chooses.
ANY = ""

# A broadcast of more keys takes gigabytes.
_BROADCAST_KEYS = 5_000_000
# What one task reads in about the time that Spark takes to start further jobs: compressed bytes, and files. A slow
# store takes some hundredths of a second to open each file.
_BYTES, _FILES = 2 * 1024 * 1024, 32
# Values in the rows of all changes, which lie uncompressed in memory, and in stored rows, which may be well compressed.
_VALUES, _STORED_VALUES = 500_000, 5_000_000


@dataclass(frozen=True)
class Amount:
    """Stored data.

    Attributes:
        files: number of data files.
        bytes: their size together.
        rows: about how many rows the files have; 0 where that is not known.
    """

    files: int
    bytes: int
    rows: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.files + other.files, self.bytes + other.bytes, self.rows + other.rows)


def may_broadcast(keys: int) -> bool:
    """Whether this many keys are few enough to be sent to every task."""
    return keys <= _BROADCAST_KEYS


def choose_join(keys: int, columns: int, stored: Amount | None) -> str:
    """How changes meet stored rows: :data:`ONE_TASK`, :data:`BROADCAST` or :data:`ANY`.

    Args:
        keys: number of changes.
        columns: of their rows.
        stored: what else is read; ``None`` where that is not known, or is more than files.
    """
    small = (
        stored is not None
        and stored.files <= _FILES
        and stored.bytes <= _BYTES
        and stored.rows * columns <= _STORED_VALUES
    )
    if small and keys * columns <= _VALUES:
        return ONE_TASK
    return BROADCAST if may_broadcast(keys) else ANY


def planned(spark: SparkSession, join: str, read: Amount | None = None) -> AbstractContextManager[None]:
    """Let Spark plan the session's queries inside the block for this join.

    Args:
        read: the stored data of which the tasks read few columns, if it is known.
    """
    if join == ONE_TASK:
        return planned_for_one_task(spark)
    return nullcontext() if read is None else planned_for_keys(spark, read.bytes)
