"""Work that another commit has overtaken, done again on the newer version."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import tenacity

from lakemerge.errors import CommitConflict, CommitsExhausted

# So often an attempt may restart by itself; only a run of another write_mode beside it takes more than once.
_MOST_PREPARED = 20
# Seconds before the first redo of an overtaken attempt, at most, and before the later ones.
_FIRST_WAIT, _LONGEST_WAIT = 0.1, 5.0


class Restarted(CommitConflict):
    """The attempt has itself changed how the table is read, and the next begins on that. No other commit came first."""


def redoing(
    what: str, max_attempts: int, say: Callable[[CommitConflict], None], *, advice: str
) -> tenacity.Retrying:
    """What calls an attempt again while it raises CommitConflict. Its result is for one piece of work.

    Args:
        max_attempts: that other commits may overtake; one that restarts by itself is not counted.
        what: the tables that are committed to, for the error.
        say: called with each conflict after which there is another attempt.
        advice: what a user does when no attempt is left.

    Raises:
        CommitsExhausted: the last attempt was overtaken too.
    """

    def give_up(state: tenacity.RetryCallState) -> Any:
        conflict = _conflict_of(state)
        raise CommitsExhausted(
            expected=f"to commit to {what} within {max_attempts} attempts",
            found=conflict.found,
            action=advice,
        ) from conflict

    overtaken, prepared = itertools.count(1), itertools.count(1)

    def is_last(state: tenacity.RetryCallState) -> bool:
        if isinstance(_conflict_of(state), Restarted):
            return next(prepared) > _MOST_PREPARED
        return next(overtaken) >= max_attempts

    return tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(CommitConflict),
        stop=is_last,
        wait=tenacity.wait_random_exponential(multiplier=_FIRST_WAIT, max=_LONGEST_WAIT),
        before_sleep=lambda state: say(_conflict_of(state)),
        retry_error_callback=give_up,
    )


def _conflict_of(state: tenacity.RetryCallState) -> CommitConflict:
    error = state.outcome.exception() if state.outcome else None
    assert isinstance(error, CommitConflict)
    return error
