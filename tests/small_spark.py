"""Settings of a Spark that lives for some seconds and sees some rows."""

from __future__ import annotations

#: The first compiler only: nothing here runs long enough for the second to pay. With it alone Java keeps 48 MB for
#: compiled code, and stops compiling when Spark's generated classes have filled that. And the collector without
#: threads of its own, which would take the cores from the other test processes.
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC"

SMALL_SPARK = {
    "spark.driver.extraJavaOptions": JAVA_OPTIONS,
    "spark.sql.shuffle.partitions": "2",
    # Each join, sort and aggregate takes a page, be it for one row: of 32 MB, if nothing is said.
    "spark.buffer.pageSize": "1m",
}

#: Queries are interpreted: for a few rows, compiling takes longer than running them.
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
