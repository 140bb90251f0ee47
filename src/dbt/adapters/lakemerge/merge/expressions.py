"""Options that are SQL over the feed: each is read by Spark before the merge's queries hold it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbt.adapters.lakemerge.merge.options import MergeConfig

from lakemerge.errors import InvalidConfig

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def check_expressions(config: MergeConfig, feed: DataFrame) -> None:
    """Raises InvalidConfig, with each option that Spark cannot read over the feed's columns and why."""
    from pyspark.errors import AnalysisException

    options = [("sequence_by", text) for text in config.sequence_by]
    options += [
        (option, text)
        for option in ("apply_as_deletes", "apply_as_truncates")
        if (text := getattr(config, option))
    ]
    try:
        feed.selectExpr(*(text for _, text in options))
    except AnalysisException:
        problems = [f"{option}: {text} ({why})" for option, text in options if (why := _refusal(feed, text))]
        raise InvalidConfig(
            expected=f"SQL over the columns of the model ({', '.join(feed.columns)})",
            found="; ".join(problems),
            action="Correct the option, or let the model select the column.",
        ) from None


def _refusal(feed: DataFrame, text: str) -> str:
    """Spark's reason, in one line and without its plan; empty where it reads the text."""
    from pyspark.errors import AnalysisException

    try:
        feed.selectExpr(text)
    except AnalysisException as error:
        return str(error).partition("SQLSTATE")[0].strip().rstrip(".")
    return ""
