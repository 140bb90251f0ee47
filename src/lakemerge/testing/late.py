"""Calls to a metastore that it carries out after their clients have given up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from lakemerge.kernel.ports import Metastore, Refused, ReplyLost


class LateCalls:
    """A client of a metastore, some of whose calls time out before the metastore gets to them.

    The client is told that no answer came (:class:`ReplyLost`). The call is carried out when :meth:`arrive` is called,
    whatever has happened by then; nobody gets its answer.

    Attributes:
        on_their_way: the calls that are still to be carried out, the oldest first.
    """

    def __init__(self, inner: Metastore) -> None:
        self._inner = inner
        self._lost: Counter[str] = Counter()
        self.on_their_way: list[Callable[[], object]] = []

    @property
    def metastore(self) -> Metastore:
        """The metastore as this client sees it."""
        return cast(Metastore, self)

    def lose(self, call: str, times: int = 1) -> None:
        """Let the next calls of this name, such as ``alter_partitions``, be late."""
        self._lost[call] += times

    def arrive(self) -> None:
        """Carry out the calls that are on their way, in the order in which they were sent."""
        while self.on_their_way:
            carry_out(self.on_their_way.pop(0))

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)
        if not callable(method):
            return method

        def call(*args: Any, **kwargs: Any) -> Any:
            if not self._lost[name]:
                return method(*args, **kwargs)
            self._lost[name] -= 1
            self.on_their_way.append(partial(method, *args, **kwargs))
            raise ReplyLost(expected=f"an answer to {name}", found="none", action="None.")

        return call


def carry_out(call: Callable[[], object]) -> bool:
    """Do what a client has asked for that no longer waits; whether the metastore has done it, or refused."""
    try:
        call()
    except Refused:
        return False
    return True
