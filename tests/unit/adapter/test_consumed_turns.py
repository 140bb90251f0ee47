"""The turns of a run, and what its result line says of them."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any

from dbt.adapters.lakemerge.methods.turns import ConsumedTurns
from dbt.adapters.lakemerge.responses import CommitResponse

from lakemerge.consumer import Left
from lakemerge.engine.consume.consumption import NodeConsumption


class FakeHandle:
    """A connection of a model that consumes two tables."""

    def __init__(self) -> None:
        self.opened: list[Any] = []
        requests: Any = [SimpleNamespace(source="shop.orders"), SimpleNamespace(source="shop.returns")]
        taken: Any = SimpleNamespace(open=lambda _, batches: self.opened.append(batches))
        self.node = NodeConsumption(requests, taken)
        self.held = 0
        self.releases = 0

    def notes(self, kind: type) -> NodeConsumption:
        assert kind is NodeConsumption
        return self.node

    def release(self, held: int) -> None:
        assert held == self.held
        self.releases += 1

    def raise_if_cancelled(self) -> None:
        return None


def response(version: int, inserted: int) -> CommitResponse:
    text = f"APPEND ({inserted} inserted, {f'version {version}' if version else 'nothing to write'})"
    return CommitResponse(
        _message=text, code="APPEND", rows_affected=inserted, version=version, inserted=inserted
    )


def turns_of(handle: Any, batches: list[Any], left: list[Left]) -> ConsumedTurns:
    class Run:
        def __init__(self) -> None:
            self.left = left

        def __iter__(self) -> Any:
            return iter(batches)

    run: Any = Run()
    return ConsumedTurns(handle, run, contextlib.nullcontext)


def test_a_model_that_consumes_nothing_has_one_turn_and_its_own_response() -> None:
    handle: Any = FakeHandle()
    turns = ConsumedTurns(handle)
    for turn in turns:
        assert turn.is_first
        turn.end("OK")
    assert turns.response == "OK"
    assert handle.releases == 0, "what a node holds is its connection's"


def test_each_commit_has_a_turn_and_the_result_line_has_them_all() -> None:
    handle: Any = FakeHandle()
    turns = turns_of(handle, ["new", "suspects"], [Left(), Left()])
    first = []
    for number, turn in enumerate(turns, 1):
        first.append(turn.is_first)
        turn.end(response(number, 10))
    assert (first, handle.opened, handle.releases) == ([True, False], ["new", "suspects"], 2)
    reported = turns.response
    assert reported._message == "APPEND (10 inserted, version 1; 10 inserted, version 2)"
    assert (reported.rows_affected, reported.inserted, reported.version, reported.left) == (20, 20, 2, 0)


def test_the_result_line_says_what_is_left_and_why() -> None:
    turns = turns_of(FakeHandle(), ["new"], [Left(waiting=31, suspects=4), Left(discarded=1)])
    for turn in turns:
        turn.end(response(0, 0))
    reported = turns.response
    assert reported._message == (
        "APPEND (0 inserted, nothing to write; left of shop.orders: 31 for the next run, 4 to be retried separately; "
        "left of shop.returns: 1 discarded)"
    )
    assert reported.left == 36
