"""Retries of a failed action, by the kernel's own clock and random numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import tenacity

from lakemerge.kernel.ports.system import Clock, Host

T = TypeVar("T")
_DOUBLINGS = 60


def retried(
    clock: Clock,
    host: Host,
    action: Callable[[], T],
    *errors: type[Exception],
    first: float,
    longest: float,
    seconds: float | None = None,
    attempts: int | None = None,
) -> T:
    """Call an action until it succeeds, fails with another error, or fails for the last time.

    Args:
        errors: those after which it is called again.
        first, longest: the waits in between, in seconds: at most ``first``, then at most twice as long each time, up to
            ``longest``.
        seconds, attempts: how long, or how often in all, it is tried; one of the two.
    """
    started = clock.monotonic()

    def is_over(state: tenacity.RetryCallState) -> bool:
        if attempts is not None:
            return state.attempt_number >= attempts
        return seconds is not None and clock.monotonic() - started >= seconds

    def wait(state: tenacity.RetryCallState) -> float:
        # no float is 2 to the power of the attempts of a wait of some minutes
        ceiling: float = min(longest, first * 2.0 ** min(state.attempt_number - 1, _DOUBLINGS))
        return host.chance() * ceiling

    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(errors),
        stop=is_over,
        wait=wait,
        sleep=clock.sleep,
        reraise=True,
    )
    return retrying(action)
