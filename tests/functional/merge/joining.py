"""Merges of small tables by one task, as is usual, or as those of large tables, in several parts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from lakemerge.engine.layout import gathering, joins

#: A feed, and the config of a table that it is merged into.
FEED = "id bigint, region string, name string, ts bigint, op string"
CONFIG: dict[str, Any] = {
    "unique_key": "id",
    "sequence_by": "ts",
    "apply_as_deletes": "op = 'D'",
    "except_column_list": ["op"],
    "partition_by": "region",
}


def changes(rows: list[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """Rows of the feed."""
    return [dict(zip(("id", "region", "name", "ts", "op"), row, strict=True)) for row in rows]


@contextmanager
def joined(*, by_one_task: bool) -> Iterator[None]:
    """Let the merges inside the block join changes and stored rows like this."""
    with pytest.MonkeyPatch.context() as patch:
        if not by_one_task:
            patch.setattr(joins, "_BYTES", -1)
            # a file of a few rows has some 700
            patch.setattr(gathering, "_LEAST_BYTES", 1)
            patch.setattr(gathering, "_MOST_BYTES", 1000)
        yield
