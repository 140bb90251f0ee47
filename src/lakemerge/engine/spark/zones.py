"""The two time zones of a Spark application, of which each has a part in the times that tables hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def java_zone(spark: SparkSession) -> str:
    """Java's own zone. ORC files hold what its clocks show, so that another zone reads other instants."""
    zones = spark._jvm.java.util.TimeZone  # type: ignore[union-attr]
    return str(zones.getDefault().getID())


def session_zone(spark: SparkSession) -> str:
    """The session's zone, by which SQL turns times into texts and dates, and back: in partitions' names, too."""
    return str(spark.conf.get("spark.sql.session.timeZone"))
