"""Names of tables, as Python programs write them."""

from __future__ import annotations

from lakemerge.kernel import TableName


def table_name(text: str) -> TableName:
    """The table of ``schema.table``, in any case, with or without backticks; without a schema, it is ``default``'s."""
    schema, _, name = text.replace("`", "").lower().rpartition(".")
    return TableName(schema or "default", name)
