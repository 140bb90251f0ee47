"""The query of a view that merges a base with its deltas, in the SQL that Hive, Spark and Trino have in common."""

from __future__ import annotations

from collections.abc import Sequence


def overlay_text(schema: str, name: str, columns: Sequence[str], keys: Sequence[str]) -> str:
    """The base's rows whose keys no delta has, and of each key in the deltas the newest row, unless it is deleted.

    Args:
        columns: all of the table, the partition columns last.
        keys: the columns by which rows are the same; never null in a delta.
    """
    base, deltas = f"`{schema}`.`{name}__base`", f"`{schema}`.`{name}__deltas`"
    of_keys = ", ".join(f"`{key}`" for key in keys)
    matches = " and ".join(f"b.`{key}` = k.`{key}`" for key in keys)
    return (
        f"select {', '.join(f'b.`{column}` as `{column}`' for column in columns)} from {base} b "
        f"left join (select {of_keys} from {deltas} group by {of_keys}) k on {matches} "
        f"where k.`{keys[0]}` is null "
        f"union all select {', '.join(f'd.`{column}` as `{column}`' for column in columns)} from ("
        f"select {', '.join(f'`{column}`' for column in columns)}, `_lakemerge_deleted`, "
        f"row_number() over (partition by {of_keys} order by `_lakemerge_order` desc) as `_lakemerge_newest` "
        f"from {deltas}) d where d.`_lakemerge_newest` = 1 and not d.`_lakemerge_deleted`"
    )
