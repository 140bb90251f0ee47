"""Redo a node's work when another commit overtook it."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator

from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.lakemerge.publish.node_transaction import NodeTransaction

from lakemerge.errors import CommitConflict, CommitsExhausted, InvalidTransactionState
from lakemerge.kernel import TableName

logger = AdapterLogger("Lakemerge")


def attempts(name: TableName, begin: Callable[[], NodeTransaction], most: int) -> Iterator[NodeTransaction]:
    """Transactions, until one is committed or skipped.

    A loop over them is how a macro redoes its work, so it cannot be a retrying library's: the work is in
    the loop's body, and Jinja hands no exception of the body back to the loop.

    Args:
        begin: begins one on the newest version.
        most: how many to try.

    Raises:
        CommitsExhausted: the last one was overtaken too.
    """
    conflict: CommitConflict | None = None
    for attempt in range(most):
        transaction = begin()
        yield transaction
        conflict = transaction.conflict
        if conflict is None:
            if transaction.is_over:
                return
            raise InvalidTransactionState(
                expected="the materialization to commit its transaction or to skip it",
                found="that it did neither",
                action="Report this with the model's name.",
            )
        logger.info(
            f"{name}: {conflict.found.removeprefix('that ')}, so the work is redone on the newer version."
        )
        time.sleep(random.uniform(0, min(5.0, 0.1 * 2**attempt)))
    assert conflict is not None
    raise CommitsExhausted(
        expected=f"to commit to {name} within {most} attempts",
        found=conflict.found,
        action="Run again when the other writers are done, or let fewer of them share partitions.",
    ) from conflict
