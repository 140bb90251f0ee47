"""Options that are SQL over the feed: Spark analyses each one before it is put into the merge's queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lakemerge.engine.merge.merge_options import MergeConfig
from lakemerge.engine.spark.error_texts import reason_of
from lakemerge.errors import InvalidConfig

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: The options that say whether a change is of some kind.
_CONDITIONS = ("apply_as_deletes", "apply_as_truncates")


def check_expressions(config: MergeConfig, feed: DataFrame) -> None:
    """Raises InvalidConfig, which names each option that is not an expression of the feed's columns, and why."""
    options = [("sequence_by", text) for text in config.sequence_by]
    options += [(option, text) for option in _CONDITIONS if (text := getattr(config, option))]
    problems = _problems(feed, options)
    if problems:
        raise InvalidConfig(
            expected=f"SQL over the columns of the model ({', '.join(feed.columns)})",
            found="; ".join(problems),
            action="Correct the option, or let the model select the column.",
        )


def _problems(feed: DataFrame, options: Sequence[tuple[str, str]]) -> list[str]:
    """Each option that is not what it needs to be, and why, in one line. If all are right, one analysis shows it."""
    from pyspark.errors import AnalysisException
    from pyspark.sql.types import BooleanType

    if not options:
        return []
    try:
        # in brackets, as in the queries, so that an alias or a comment at the end is an error; and beside the columns,
        # so that an aggregate is one
        found = feed.selectExpr("*", *(f"({text})" for _, text in options)).schema.fields[-len(options) :]
    except AnalysisException as error:
        if len(options) > 1:
            return [problem for one in options for problem in _problems(feed, [one])]
        why = reason_of(error)
        return [f"{option}: {text} ({why})" for option, text in options]
    return [
        f"{option}: {text} ({field.dataType.simpleString()}, not true or false: write a condition, such as flag = 1)"
        for (option, text), field in zip(options, found, strict=True)
        if option in _CONDITIONS and not isinstance(field.dataType, BooleanType)
    ]
