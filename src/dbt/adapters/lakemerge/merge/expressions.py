"""Options that are SQL over the feed: each is read by Spark before the merge's queries hold it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.lakemerge.merge.options import MergeConfig

from lakemerge.errors import InvalidConfig

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: The options that say whether a change is of some kind.
_CONDITIONS = ("apply_as_deletes", "apply_as_truncates")


def check_expressions(config: MergeConfig, feed: DataFrame) -> None:
    """Raises InvalidConfig, with each option that is no expression of the feed's columns and why."""
    options = [("sequence_by", text) for text in config.sequence_by]
    options += [(option, text) for option in _CONDITIONS if (text := getattr(config, option))]
    problems = [
        f"{option}: {text} ({why})" for option, text in options if (why := _refusal(feed, option, text))
    ]
    if problems:
        raise InvalidConfig(
            expected=f"SQL over the columns of the model ({', '.join(feed.columns)})",
            found="; ".join(problems),
            action="Correct the option, or let the model select the column.",
        )


def _refusal(feed: DataFrame, option: str, text: str) -> str:
    """Why the text is not what the option needs, in one line and without Spark's plan; empty where it is."""
    from pyspark.errors import AnalysisException
    from pyspark.sql.types import BooleanType

    try:
        # in brackets as the queries have it, so without an alias or a comment at its end; and beside the columns, where
        # an aggregate has no meaning
        found = feed.selectExpr("*", f"({text})").schema.fields[-1].dataType
    except AnalysisException as error:
        return str(error).partition("SQLSTATE")[0].strip().rstrip(".")
    if option in _CONDITIONS and not isinstance(found, BooleanType):
        return f"{found.simpleString()}, not true or false: write a condition, such as flag = 1"
    return ""
