"""Tables that are merged on read: an erasure writes their base again, and for that time there are no deltas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lakemerge.engine.merge_on_read.write_modes import WriteModes
from lakemerge.engine.options.write import WriteConfig
from lakemerge.engine.packaged_macros import packaged_macros
from lakemerge.engine.publish.publisher import Publisher
from lakemerge.engine.spark.beside import session_beside
from lakemerge.kernel import Kernel, TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def off_read(spark: SparkSession, kernel: Kernel, name: TableName) -> Sequence[str]:
    """Move all deltas of a table into its base, and take the view away; returns the keys that it merges by, if any."""
    state = kernel.current_state(name)
    overlay = None if state is None else kernel.manifest(state).overlay
    if overlay is None:
        return ()
    with session_beside(spark, f"erasure of {name}") as handle:
        publisher = Publisher(handle, kernel, name, WriteConfig(), constraints={})
        WriteModes(publisher, packaged_macros()).remove_overlay()
    return overlay.keys


def back_on_read(spark: SparkSession, kernel: Kernel, name: TableName, keys: Sequence[str]) -> None:
    """Let readers see a table through a view again."""
    with session_beside(spark, f"erasure of {name}") as handle:
        publisher = Publisher(handle, kernel, name, WriteConfig(), constraints={})
        WriteModes(publisher, packaged_macros()).add_overlay(keys)
