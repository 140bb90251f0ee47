"""SQL over the partition columns that is true in certain partitions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from dbt.adapters.lakemerge.relations.conditions import any_of
from dbt.adapters.lakemerge.relations.table_schema import literal

from lakemerge.kernel import DEFAULT_PARTITION, HiveColumn, partition_values


def partition_filter(
    columns: Sequence[HiveColumn], names: Iterable[str] | None, known: Collection[str] | None
) -> str:
    """SQL that is true in the partitions of these names (``None``: in all).

    Args:
        columns: the partition columns; none for an unpartitioned table.
        known: all partitions that can be read, where that is sure: if every one is named, none needs a condition.
    """
    if names is None or not columns:
        return "true"
    wanted = sorted(set(names))
    if not wanted:
        return "false"
    if known is not None and set(known) <= set(wanted):
        return "true"
    if len(columns) == 1:
        return _one_of(columns[0], [partition_values(name)[0] for name in wanted])
    terms = [
        " and ".join(map(_one_of, columns, [[value] for value in partition_values(name)])) for name in wanted
    ]
    return f"({any_of(terms)})"


def _one_of(column: HiveColumn, values: list[str]) -> str:
    given = sorted({value for value in values if value != DEFAULT_PARTITION})
    quoted = f"`{column.name}`"
    terms = []
    # the metastore's filters cannot hold both quotes: Spark has to look at the names of all partitions then
    unfit = any("'" in value and '"' in value for value in given)
    if given:
        items = ", ".join(f"cast({literal(value)} as {column.type})" for value in given)
        terms.append(f"{f'concat({quoted})' if unfit else quoted} in ({items})")
    if len(given) < len(set(values)):
        terms.append(f"{quoted} is null")
    return "(" + " or ".join(terms) + ")"
