"""Another writer that comes in the middle of an attempt, always at the same place."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import pytest
from dbt.adapters.lakemerge.publish.node_transaction import NodeTransaction


def overtake(
    monkeypatch: pytest.MonkeyPatch, other: Callable[[], Any], before: Literal["stage", "commit"] = "commit"
) -> None:
    """Let another writer do its work before the next attempt stages its rows, or commits them.

    What the attempt reads is declared before it stages; partitions are listed after that.
    """
    step = getattr(NodeTransaction, before)

    def overtaken(transaction: NodeTransaction, *arguments: Any, **named: Any) -> Any:
        monkeypatch.setattr(NodeTransaction, before, step)
        # a connection of dbt belongs to a thread
        with ThreadPoolExecutor(1) as thread:
            thread.submit(other).result()
        return step(transaction, *arguments, **named)

    monkeypatch.setattr(NodeTransaction, before, overtaken)
