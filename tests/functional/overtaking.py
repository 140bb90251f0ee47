"""Another writer that comes in the middle of an attempt, always at the same place."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from lakemerge.engine.publish.node_transaction import NodeTransaction
from lakemerge.engine.spark.handle import SessionHandle

_waiting: list[Callable[[], Any]] = []


def overtake(monkeypatch: pytest.MonkeyPatch, other: Callable[[], Any]) -> None:
    """Let another writer do its work before the next attempt commits its rows."""
    before(monkeypatch, "commit", other)


def come_in_next(monkeypatch: pytest.MonkeyPatch, other: Callable[[], Any]) -> None:
    """Let another writer do its work while a Python model runs: at its next call of :func:`come_in`."""
    monkeypatch.setattr(f"{__name__}._waiting", [other])


def come_in() -> None:
    """Let the writer that waits do its work, if there is one; a Python model calls this."""
    while _waiting:
        _in_a_thread(_waiting.pop())


def before(monkeypatch: pytest.MonkeyPatch, step: str, other: Callable[[], Any]) -> None:
    """Let another writer do its work before a step of the next attempt: a method of NodeTransaction."""
    own = getattr(NodeTransaction, step)

    def overtaken(transaction: NodeTransaction, *arguments: Any, **named: Any) -> Any:
        monkeypatch.setattr(NodeTransaction, step, own)
        _in_a_thread(other)
        return own(transaction, *arguments, **named)

    monkeypatch.setattr(NodeTransaction, step, overtaken)


def lose_rows(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let the next rows that are kept on executors be gone at once; returns a list that gets the name of their view."""
    keep_rows = SessionHandle.keep_rows
    lost: list[str] = []

    def keep_and_lose(handle: SessionHandle, view: str, frame: Any) -> None:
        keep_rows(handle, view, frame)
        if not lost:
            lost.append(view)
            context: Any = handle.spark.sparkContext._jsc
            context.sc().unpersistRDD(handle._kept[view], True)

    monkeypatch.setattr(SessionHandle, "keep_rows", keep_and_lose)
    return lost


def _in_a_thread(other: Callable[[], Any]) -> None:
    # a connection of dbt belongs to a thread
    with ThreadPoolExecutor(1) as thread:
        thread.submit(other).result()
