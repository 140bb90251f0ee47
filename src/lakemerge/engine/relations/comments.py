"""Descriptions of tables and columns in the metastore."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lakemerge.kernel import (
    HiveColumn,
    HiveTable,
    Kernel,
    TableName,
    respelled,
    with_parameters,
)

#: Full text of a column comment that is too long for the metastore's column; ``<prefix><column>``.
COMMENT_PROPERTY = "lakemerge.comment."

#: Hive's schema has 256 characters for a column's comment; a longer one fails after many retries.
MAX_COLUMN_COMMENT = 256

_PROVIDER = "spark.sql.sources.provider"


def short_comment(comment: str) -> str:
    """The comment, cut to what the metastore can keep with the column."""
    if len(comment) <= MAX_COLUMN_COMMENT:
        return comment
    return comment[: MAX_COLUMN_COMMENT - 1] + "…"


def comment_properties(comments: Mapping[str, str]) -> dict[str, str]:
    """Table properties with the full text of those comments that :func:`short_comment` cuts.

    Args:
        comments: texts by column name.
    """
    return {
        COMMENT_PROPERTY + name.lower(): comment
        for name, comment in comments.items()
        if len(comment) > MAX_COLUMN_COMMENT
    }


def set_comments(
    kernel: Kernel, name: TableName, table_comment: str | None, column_comments: Mapping[str, str]
) -> bool:
    """Change the comments of a table or view and of some of its columns, in one call; returns whether any changed.

    A concurrent commit is not undone: the change is repeated on top of it.

    Args:
        table_comment: ``None`` leaves the table's as it is.
        column_comments: texts by column name; other columns keep theirs.

    Raises:
        TableNotFound: there is no such table.
        ClaimHeld: commits came between every time.
    """
    wanted = {column.lower(): comment for column, comment in column_comments.items()}
    return kernel.change_row(name, lambda row: _with_comments(row, table_comment, wanted))


def _with_comments(table: HiveTable, table_comment: str | None, wanted: Mapping[str, str]) -> HiveTable:
    columns = _commented(table.columns, wanted)
    keys = _commented(table.partition_columns, wanted)
    parameters = comment_properties(wanted)
    if table_comment is not None:
        parameters["comment"] = table_comment
    outdated = {COMMENT_PROPERTY + column for column in wanted} & set(table.parameters) - set(parameters)
    changed = with_parameters(
        replace(table, storage=replace(table.storage, columns=columns), partition_columns=keys), parameters
    )
    kept = {key: value for key, value in changed.parameters.items() if key not in outdated}
    changed = replace(changed, parameters=kept)
    if changed != table and table.parameters.get(_PROVIDER, "hive").lower() == "hive":
        # otherwise Spark keeps showing the comments of the schema that it stores among the parameters
        changed = respelled(changed)
    return changed


def _commented(columns: Sequence[HiveColumn], wanted: Mapping[str, str]) -> tuple[HiveColumn, ...]:
    return tuple(
        replace(column, comment=short_comment(wanted[column.name.lower()]))
        if column.name.lower() in wanted
        else column
        for column in columns
    )
