"""The format of a table's files, as models name it for lakemerge and as they name it for dbt-spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FORMATS = ("orc", "parquet")
_LAKES = ("delta", "iceberg", "hudi")


def format_of(named: Any, options: Any) -> tuple[str, str]:
    """The format of a table's files, and what is wrong with the config; empty where nothing is.

    Args:
        named: the option ``file_format``; nothing or an empty text for the default, ORC.
        options: the option of that name: with the format ``hive``, dbt-spark takes the files' from its ``fileFormat``.
    """
    if named is None or named == "":
        return FORMATS[0], ""
    text = str(named).lower()
    if text == "hive":
        given = options if isinstance(options, Mapping) else {}
        text = next(
            (str(value).lower() for key, value in given.items() if str(key).lower() == "fileformat"), ""
        )
        return _known(text, "file_format 'hive' needs options: {fileFormat: orc} or {fileFormat: parquet}")
    problem = f"file_format must be one of {', '.join(FORMATS)}, not {named!r}"
    if text in _LAKES:
        problem += (
            ": tables of lakemerge are plain Hive tables, which it merges and compacts itself. Remove the option, or "
            f"build this model with an adapter for {text}"
        )
    return _known(text, problem)


def _known(text: str, problem: str) -> tuple[str, str]:
    return (text, "") if text in FORMATS else (FORMATS[0], problem)
