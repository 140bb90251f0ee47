"""The query of a view that merges a base with its deltas, in the SQL that Hive, Spark and Trino have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lakemerge.engine.sql_text import quote
from lakemerge.kernel import DELETED, DELTA_NAME, NAMED, ORDER


def overlay_text(schema: str, name: str, columns: Sequence[str], keys: Sequence[str]) -> str:
    """The query of the base's rows whose keys no delta has, and of each delta key's newest row, unless it is deleted.

    The kernel puts in the names of the deltas (:data:`NAMED`). Each column is named once: a metastore on Derby keeps
    no more than 32,700 characters of a view.

    Args:
        columns: all of the table, the partition columns last.
        keys: the columns by which rows are the same; never null in a delta.
    """
    base, deltas = (f"{quote(schema)}.{quote(f'{name}__{part}')}" for part in ("base", "deltas"))
    is_named = f"{quote(DELTA_NAME)} in ({NAMED})"
    matches = " and ".join(f"b.{quote(key)} = k.{quote(key)}" for key in keys)
    return (
        f"select b.* from {base} b "
        f"left join (select {_listed(keys)} from {deltas} where {is_named} group by {_listed(keys)}) k on {matches} "
        f"where k.{quote(keys[0])} is null "
        f"union all select {_listed(columns)} from (select s.*, row_number() over "
        f"(partition by {_listed(keys)} order by {quote(ORDER.name)} desc) as `_lakemerge_newest` "
        f"from {deltas} s where {is_named}) d "
        f"where `_lakemerge_newest` = 1 and not {quote(DELETED.name)}"
    )


def _listed(names: Iterable[str]) -> str:
    return ",".join(map(quote, names))
