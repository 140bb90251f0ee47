"""Another writer that comes in the middle of an attempt, always at the same place."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from dbt.adapters.lakemerge.publish.node_transaction import NodeTransaction

_waiting: list[Callable[[], Any]] = []


def overtake(monkeypatch: pytest.MonkeyPatch, other: Callable[[], Any]) -> None:
    """Let another writer do its work before the next attempt commits its rows."""
    commit = NodeTransaction.commit

    def overtaken(transaction: NodeTransaction, *arguments: Any) -> None:
        monkeypatch.setattr(NodeTransaction, "commit", commit)
        _in_a_thread(other)
        commit(transaction, *arguments)

    monkeypatch.setattr(NodeTransaction, "commit", overtaken)


def come_in_next(monkeypatch: pytest.MonkeyPatch, other: Callable[[], Any]) -> None:
    """Let another writer do its work while a Python model runs: at its next call of :func:`come_in`."""
    monkeypatch.setattr(f"{__name__}._waiting", [other])


def come_in() -> None:
    """Let the writer that waits do its work, if there is one; a Python model calls this."""
    while _waiting:
        _in_a_thread(_waiting.pop())


def _in_a_thread(other: Callable[[], Any]) -> None:
    # a connection of dbt belongs to a thread
    with ThreadPoolExecutor(1) as thread:
        thread.submit(other).result()
