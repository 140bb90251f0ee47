"""The names by which statements read the rows of a node before they are published."""

from __future__ import annotations

#: The temporary view of a model's rows.
FEED = "lakemerge_feed"
#: The temporary view of the same rows, where the columns that reach the table have the table's types.
TYPED_FEED = "lakemerge_typed_feed"
