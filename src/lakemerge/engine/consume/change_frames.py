"""The rows that the versions which a run has taken have changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakemerge.consumer import Batch
from lakemerge.engine.consume.consume_options import ChangedRows
from lakemerge.engine.macros import Macros
from lakemerge.engine.spark.session import application_of
from lakemerge.engine.versions.changes import Versions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def changes_of(spark: SparkSession, macros: Macros, batch: Batch, shown: ChangedRows) -> DataFrame:
    """The changes of a batch of versions, which follow one another; no rows of an empty one.

    A consumer that begins has no version before its first: all rows of that one are inserted.

    Raises:
        VersionVacuumed, VersionChanged: files are gone.
    """
    kernel, start = batch.consumer.kernel, batch.progress.position
    assert start is not None, "a table with versions has positions"
    state = kernel.open(batch.consumer.source)
    begins = start.initial and bool(batch.items)
    older = None if begins else kernel.manifest(state, start.txn)
    last = batch.items[-1].mark if batch.items else start.txn
    ports, newer = application_of(spark).ports, kernel.manifest(state, last)
    versions = Versions(spark, ports, macros, state, older, newer, shown.key)
    return versions.changes(net=shown.net or begins, preimages=shown.preimages)
