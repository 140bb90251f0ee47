"""Something that happens beside a call of a port, as another process's doing would."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import pytest

from kernel.support import Died
from lakemerge.kernel import Kernel, Settings
from lakemerge.kernel.ports import Ports
from lakemerge.testing import World


class Proxy:
    """A port in the place of another, whose attributes it has; those that it sets are the other's, but for its own."""

    _inner: Any

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
        else:
            setattr(self._inner, name, value)


class Meanwhile:
    """A port beside which something happens once, before or after the first of one of its calls that is meant."""

    def __init__(
        self,
        inner: Any,
        call: str,
        action: Callable[[], object],
        *,
        after: bool = False,
        when: Callable[..., bool] = lambda *_args, **_kwargs: True,
    ) -> None:
        """
        Args:
            when: given the call's arguments, whether it is meant.
        """
        self._inner, self._call, self._action, self._after, self._when = inner, call, action, after, when
        self._done = False

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)
        if name != self._call or self._done:
            return method

        def run(*args: Any, **kwargs: Any) -> Any:
            if self._done or not self._when(*args, **kwargs):
                return method(*args, **kwargs)
            self._done = True
            if not self._after:
                self._action()
            result = method(*args, **kwargs)
            if self._after:
                self._action()
            return result

        return run


def beside(
    world: World,
    port: str,
    call: str,
    others: Callable[[], object],
    *,
    after: bool = False,
    when: Callable[..., bool] = lambda *_, **__: True,
) -> Kernel:
    """A kernel beside one call of which others act."""
    ports = world.process()
    placed: Any = Meanwhile(getattr(ports, port), call, others, after=after, when=when)
    return Kernel(dataclasses.replace(ports, **{port: placed}))


class BeforeCall(Proxy):
    """A port of a process before one of whose calls, counted over all of its ports, others act."""

    def __init__(self, inner: Any, numbers: Callable[[], int], at: int, others: Callable[[], None]) -> None:
        self._inner, self._numbers, self._at, self._others = inner, numbers, at, others

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not callable(found):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            if self._numbers() == self._at:
                self._others()
            return found(*args, **kwargs)

        return call


def meeting(world: World, number: int, others: Callable[[], None], act: Callable[[Kernel], object]) -> bool:
    """Let a process act that dies at its end, and others before a call of it; false where it makes fewer calls."""
    ports, calls, met = world.process(), itertools.count(1), []

    def meet() -> None:
        met.append(number)
        others()

    placed: dict[str, Any] = {
        port: BeforeCall(getattr(ports, port), calls.__next__, number, meet)
        for port in ("metastore", "files")
    }
    act(Kernel(dataclasses.replace(ports, **placed)))
    world.running.discard(ports.host.owner().pid)
    return bool(met)


def sleeping(
    world: World, number: int, others: Callable[[World], None], met: list[int]
) -> tuple[Ports, list[str]]:
    """A process that sleeps past all leases before a call, counted from its claim on, while others are at work.

    Returns:
        Its ports, and a list that takes the steps of its commit.
    """
    ports, calls = world.process(), itertools.count(1)
    steps: list[str] = []

    def count() -> int:
        return next(calls) if "claimed" in steps else 0  # before that, what others do would be a conflict

    def meet() -> None:
        met.append(number)
        world.timeline.pass_by(10 * Settings().lease_seconds)
        others(world)

    slow: dict[str, Any] = {
        port: BeforeCall(getattr(ports, port), count, number, meet) for port in ("metastore", "files")
    }
    return dataclasses.replace(ports, **slow), steps


def die_at(world: World, at: str, act: Callable[[Kernel], object]) -> None:
    """Have a process act that dies at a step of its commit."""

    def reached(step: str) -> None:
        if step == at:
            raise Died

    ports = world.process()
    with pytest.raises(Died):
        act(Kernel(ports, step=reached))
    world.running.discard(ports.host.owner().pid)
