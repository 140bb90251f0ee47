"""Packages that Spark does not include, and the error when one is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from lakemerge.errors import ConnectorMissing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def connector_missing(spark: SparkSession, name: str, artifact: str) -> ConnectorMissing:
    """The error when Spark was started without a package.

    Args:
        name: what it is for, such as ``connector for Kafka``.
        artifact: Maven's name of it, without the release of Scala.
    """
    scala = str(cast(Any, spark._jvm).scala.util.Properties.versionNumberString()).rpartition(".")[0]
    coordinates, major = f"org.apache.spark:{artifact}_{scala}", spark.version.partition(".")[0]
    return ConnectorMissing(
        expected=f"Spark to have its {name}, {coordinates}",
        found="a session that was started without it",
        action=f"Add `spark.jars.packages: {coordinates}:{spark.version}` to server_side_parameters in the profile; "
        f"where that version is not published, another {major}.x.",
    )
