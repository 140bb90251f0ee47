"""Another writer that comes in the middle of an attempt, always at the same place."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from dbt.adapters.lakemerge.publish.node_transaction import NodeTransaction


def overtake(monkeypatch: pytest.MonkeyPatch, other: Callable[[], Any]) -> None:
    """Let another writer do its work before the next attempt commits its rows."""
    commit = NodeTransaction.commit

    def overtaken(transaction: NodeTransaction, *arguments: Any) -> None:
        monkeypatch.setattr(NodeTransaction, "commit", commit)
        # a connection of dbt belongs to a thread
        with ThreadPoolExecutor(1) as thread:
            thread.submit(other).result()
        commit(transaction, *arguments)

    monkeypatch.setattr(NodeTransaction, "commit", overtaken)
