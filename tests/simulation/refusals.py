"""Refusals that last: a metastore whose database cannot hold some value, for a whole run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lakemerge.kernel import HiveColumn, HivePartition, HiveTable
from lakemerge.kernel.ports.metastore import Refused

#: What no row may have, in a comment, a parameter or a partition's value.
REFUSED = "☃"


def accept(call: str, rows: Iterable[HiveTable | HivePartition]) -> None:
    """Refuse rows that have what cannot be held.

    Raises:
        Refused: one has it.
    """
    if any(REFUSED in text for row in rows for text in _texts(row)):
        raise Refused(call, "MetaException", f"the database cannot hold {REFUSED}")


def _texts(row: HiveTable | HivePartition) -> Iterator[str]:
    yield from row.parameters.values()
    yield from _comments(row.storage.columns)
    if isinstance(row, HivePartition):
        yield from row.values
    else:
        yield from _comments(row.partition_columns)
        yield row.view_text


def _comments(columns: Iterable[HiveColumn]) -> Iterator[str]:
    for column in columns:
        yield from (column.name, column.comment)
