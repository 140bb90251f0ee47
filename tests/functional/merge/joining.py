"""Merges of small tables by one task, as is usual, or as those of large tables, in several parts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from dbt.adapters.lakemerge.publish import gathering, joins


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
