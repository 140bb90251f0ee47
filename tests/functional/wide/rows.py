"""Rows of 2,000 columns."""

from __future__ import annotations

from typing import Any

WIDTH = 2000
# Types of the columns in turn, and the value of each for a number.
KINDS = {
    "int": lambda number: number,
    "string": lambda number: f"value {number}",
    "double": lambda number: number + 0.5,
    "boolean": lambda number: number % 2 == 0,
}
COLUMNS = {f"c{number}": list(KINDS)[number % len(KINDS)] for number in range(WIDTH - 1)}
LAST = f"c{WIDTH - 2}"
DDL = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())


def row(number: int, **other: Any) -> dict[str, Any]:
    """The values of all columns but the key, for a number."""
    return {**{name: KINDS[kind](number) for name, kind in COLUMNS.items()}, **other}


def change(key: int, number: int, seq: int, **other: Any) -> dict[str, Any]:
    """A change of a feed."""
    return {"id": key, "seq": seq, "op": "U", **row(number, **other)}


#: A feed of changes, and how a merge reads it.
FEED = f"id int, seq int, op string, {DDL}"
ORDERED = {
    "unique_key": "id",
    "sequence_by": "seq",
    "apply_as_deletes": "op = 'D'",
    "except_column_list": ["op"],
}
