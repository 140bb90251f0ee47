"""Work that another commit has overtaken, done again on the newer version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tenacity

from lakemerge.errors import CommitConflict, CommitsExhausted

# Seconds before the first redo of an overtaken attempt, at most, and before the later ones.
_FIRST_WAIT, _LONGEST_WAIT = 0.1, 5.0


def redoing(
    what: str, max_attempts: int, say: Callable[[CommitConflict], None], *, advice: str
) -> tenacity.Retrying:
    """What calls an attempt again while it raises CommitConflict.

    Args:
        what: the tables that are committed to, for the error.
        say: told of each conflict after which there is another attempt.
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

    return tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(CommitConflict),
        stop=tenacity.stop_after_attempt(max_attempts),
        wait=tenacity.wait_random_exponential(multiplier=_FIRST_WAIT, max=_LONGEST_WAIT),
        before_sleep=lambda state: say(_conflict_of(state)),
        retry_error_callback=give_up,
    )


def _conflict_of(state: tenacity.RetryCallState) -> CommitConflict:
    error = state.outcome.exception() if state.outcome else None
    assert isinstance(error, CommitConflict)
    return error
