"""Settings under which Spark would read SQL in another way than lakemerge and dbt write it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lakemerge.errors import InvalidConfig

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What Spark must do, by the setting that changes it when it is true.
_MUST_BE_FALSE: Mapping[str, str] = {
    "spark.sql.caseSensitive": "read columns' names in any case, as Hive keeps them in lower case",
    # names of partitions and files are written with escapes, and would be others in silence
    "spark.sql.parser.escapedStringLiterals": (
        r"read backslashes in strings as escapes; a regular expression without them is a raw string, r'\d+'"
    ),
    "spark.sql.parser.quotedRegexColumnNames": "read a name between backticks as a name, and not as a pattern",
}


def require_own_sql(session: SparkSession) -> None:
    """Check that a session reads names and strings as lakemerge writes them.

    Raises:
        InvalidConfig: a setting changes it, whether it comes from the profile, a hook or a Python model.
    """
    for name, what in _MUST_BE_FALSE.items():
        if str(session.conf.get(name, "false")).lower() == "true":
            raise InvalidConfig(
                expected=f"Spark to {what}",
                found=f"{name}: true",
                action="Remove it from `server_side_parameters` in the profile, from spark-defaults.conf, or from the "
                "hook or model that sets it.",
            )
