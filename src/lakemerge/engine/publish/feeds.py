"""The rows of a piece of work before they are published, and the names by which statements read them."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from lakemerge.engine.spark.handle import SessionHandle

#: The temporary view of a model's rows.
FEED = "lakemerge_feed"
#: The temporary view of the same rows, where the columns that reach the table have the table's types.
TYPED_FEED = "lakemerge_typed_feed"


def give_feed(handle: SessionHandle, frame: DataFrame) -> None:
    """Make a frame readable as :data:`FEED` until the release."""
    share(handle, frame, FEED)


def share(handle: SessionHandle, frame: DataFrame, view: str) -> None:
    """Make a frame readable by a name in the session of a piece of work, until the release.

    The frame may belong to another session: a program's, or that of pandas-on-Spark.
    """
    shown = pass_on(handle, frame)
    handle.spark.sql(f"create or replace temporary view {view} as select * from {shown}")


def pass_on(handle: SessionHandle, frame: DataFrame) -> str:
    """A name by which every session of the application reads a frame, until the release: that of a global view."""
    name, spark = f"lakemerge_{uuid.uuid4().hex}", handle.spark
    frame.createGlobalTempView(name)
    handle.on_release(lambda: spark.catalog.dropGlobalTempView(name) and None)
    return f"{spark.conf.get('spark.sql.globalTempDatabase', 'global_temp')}.{name}"
