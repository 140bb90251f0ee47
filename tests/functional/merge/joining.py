"""Merges of small tables by one task, as is usual, or as those of large tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from dbt.adapters.lakemerge.publish import joins


@contextmanager
def joined(*, by_one_task: bool) -> Iterator[None]:
    """Let the merges inside the block join changes and stored rows like this."""
    with pytest.MonkeyPatch.context() as patch:
        if not by_one_task:
            patch.setattr(joins, "_BYTES", -1)
        yield
