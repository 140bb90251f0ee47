"""The turns of one run of a model: one, or with consume() one for each commit that the taken partitions need."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbt.adapters.lakemerge.responses import CommitResponse

from lakemerge.consumer import Batch, Run
from lakemerge.engine.consume.consumption import NodeConsumption

if TYPE_CHECKING:
    from lakemerge.engine.spark.handle import SessionHandle

_SUMS = ("rows_affected", "inserted", "updated", "deleted", "ignored")


@dataclass
class Turn:
    """One turn: the model's query, and one commit of its rows.

    Attributes:
        is_first: whether it is the run's first.
        response: what its commit did.
    """

    is_first: bool
    response: Any = None

    def end(self, response: Any) -> None:
        """Record what its commit did."""
        self.response = response


class ConsumedTurns:
    """A run's turns; the loop over them is in the materialization."""

    def __init__(
        self,
        handle: SessionHandle,
        run: Run | None = None,
        guard: Callable[[], AbstractContextManager[None]] | None = None,
    ) -> None:
        """
        Args:
            run: takes the partitions of each turn; ``None`` for a model that consumes none.
            guard: translates errors of Spark and of the kernel to dbt's.
        """
        self._handle = handle
        self._run = run
        self._guard = guard
        self._responses: list[Any] = []

    def __iter__(self) -> Iterator[Turn]:
        if self._run is None:
            yield from self._turn(is_first=True)
            return
        batches = iter(self._run)
        while self._open_next(batches):
            yield from self._turn(is_first=not self._responses)

    def _open_next(self, batches: Iterator[list[Batch]]) -> bool:
        handle = self._handle
        assert self._guard is not None
        node = handle.notes(NodeConsumption)
        assert node.taken is not None
        handle.raise_if_cancelled()
        with self._guard():
            taken = next(batches, None)
            if taken is None:
                return False
            node.taken.open(node.requests, taken)
            return True

    def _turn(self, *, is_first: bool) -> Iterator[Turn]:
        turn, held = Turn(is_first), self._handle.held
        yield turn
        self._responses.append(turn.response)
        if self._run is not None:
            # a run may have any number of turns: none of them may leave anything in memory
            self._handle.release(held)

    @property
    def response(self) -> Any:
        """The response for dbt's result line, of all commits together and with what is left."""
        last = self._responses[-1]
        if self._run is None or not isinstance(last, CommitResponse):
            return last
        parts = [
            response._message.removeprefix(f"{last.code} (").removesuffix(")") for response in self._responses
        ]
        requests = self._handle.notes(NodeConsumption).requests
        for request, left in zip(requests, self._run.left, strict=True):
            if str(left):
                parts.append(f"left of {request.source}: {left}")
        sums = {name: sum(getattr(one, name) for one in self._responses) for name in _SUMS}
        return dataclasses.replace(
            last,
            _message=f"{last.code} ({'; '.join(parts)})",
            version=max(one.version for one in self._responses),
            left=sum(left.total for left in self._run.left),
            **sums,
        )
