"""What follows a commit, in commits of its own that change no row and may fail."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from lakemerge.engine.failures import text_of
from lakemerge.kernel import TableName

# dbt shows what the kernel logs, and programs without dbt find it where they look for the kernel's messages
_LOG = logging.getLogger("lakemerge")


@contextmanager
def told_only(table: TableName, left: str, action: str) -> Iterator[None]:
    """Log an error as a warning instead of raising it.

    The rows are published by then. If their node failed, dbt would run it again, and they might be added twice.

    Args:
        left: what then is not done to the table.
        action: who does it later, or what a user can do.
    """
    try:
        yield
    except Exception as error:  # noqa: BLE001 - whatever it is, it must not fail what is published
        _LOG.warning("%s: the commit stands, but %s. %s The reason: %s", table, left, action, text_of(error))
