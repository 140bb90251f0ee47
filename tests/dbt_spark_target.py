"""dbt-spark on the Spark of lakemerge, to compare with."""

from __future__ import annotations

from typing import Any

from dbt.adapters.lakemerge.credentials import LakemergeCredentials

from lakemerge.engine.spark.configuration import Configuration, session_settings
from lakemerge.java import ensure_java


def in_dbt_spark(target: dict[str, Any]) -> dict[str, Any]:
    """The same Spark as a target of dbt-spark, with all that lakemerge sets by itself."""
    ensure_java()
    fields = {name: value for name, value in target.items() if name not in ("type", "threads")}
    credentials = LakemergeCredentials(schema="any", **fields)
    return {
        "type": "spark",
        "method": "session",
        "host": "localhost",
        "threads": target["threads"],
        "server_side_parameters": {
            **Configuration.of(credentials).application,
            **session_settings(credentials),
        },
    }
