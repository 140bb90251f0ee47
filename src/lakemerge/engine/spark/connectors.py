"""Packages that Spark does not include, and the error when one is missing."""

from __future__ import annotations

from lakemerge.errors import ConnectorMissing


def connector_missing(name: str, coordinates: str, version: str) -> ConnectorMissing:
    """The error when Spark was started without a package.

    Args:
        name: what it is for, such as ``connector for Kafka``.
        coordinates: Maven's, without the version.
        version: Spark's.
    """
    return ConnectorMissing(
        expected=f"Spark to have its {name}, {coordinates}",
        found="a session that was started without it",
        action=f"Add `spark.jars.packages: {coordinates}:{version}` to server_side_parameters in the profile; "
        "where that version is not published, another 4.x.",
    )
