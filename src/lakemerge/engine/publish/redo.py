"""Work that another commit has overtaken, or that has lost rows with an executor, done again on the newest version."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tenacity

from lakemerge.engine.failures import failures
from lakemerge.engine.spark.handle import has_lost_rows
from lakemerge.errors import CommitConflict, CommitsExhausted

# An attempt may restart by itself this many times. It takes more than one restart only if a run with another write_mode
# is at work beside it.
_MOST_PREPARED = 20
# The most seconds before the first redo of an overtaken attempt, and before the later ones.
_FIRST_WAIT, _LONGEST_WAIT = 0.1, 5.0


class Restarted(CommitConflict):
    """The attempt itself has changed how the table is read; the next one begins on that. No other commit came first."""


class RowsLost(CommitConflict):
    """An executor is gone with rows that the attempt had computed. No other commit came first."""

    ADVICE = (
        "Find out in the executors' logs why they are lost; often they need more memory (spark.executor.memory, "
        "spark.executor.memoryOverhead). Then run again."
    )


def redoing(
    what: str, max_attempts: int, say: Callable[[CommitConflict], None], *, advice: str
) -> tenacity.Retrying:
    """A callable that repeats an attempt as long as it raises CommitConflict. Make one for each piece of work.

    Args:
        max_attempts: how many attempts other commits may overtake; one that restarts by itself is not counted.
        what: the tables that are committed to, for the error.
        say: called with each conflict after which there is another attempt.
        advice: what a user does when no attempt is left.

    Raises:
        CommitsExhausted: the last attempt was overtaken too, or has lost its rows.
    """

    def give_up(state: tenacity.RetryCallState) -> Any:
        conflict = _conflict_of(state)
        raise CommitsExhausted(
            expected=f"to commit to {what} within {max_attempts} attempts",
            found=conflict.found,
            action=RowsLost.ADVICE if isinstance(conflict, RowsLost) else advice,
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


@contextmanager
def lost_rows_as_conflict() -> Iterator[None]:
    """Let an attempt that has lost rows with an executor be made again, as one that another commit has overtaken."""
    try:
        yield
    except failures() as error:
        if not has_lost_rows(error):
            raise
        raise RowsLost(
            expected="the executors to stay that keep rows of this work",
            found="that an executor is gone, with rows that it kept",
            action="The work has to be redone.",
        ) from error


def _conflict_of(state: tenacity.RetryCallState) -> CommitConflict:
    error = state.outcome.exception() if state.outcome else None
    assert isinstance(error, CommitConflict)
    return error
