"""How often work is redone: as often as others may overtake it, not counting what it does itself."""

from __future__ import annotations

import pytest

from lakemerge.engine.publish.redo import Restarted, RowsLost, redoing
from lakemerge.errors import CommitConflict, CommitsExhausted


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenacity.nap.time.sleep", lambda seconds: None)


def run(kinds: list[type[CommitConflict]], max_attempts: int) -> int:
    """Work whose attempts end by errors of these kinds, and then well; returns the number of attempts."""
    left = list(kinds)

    def attempt() -> int:
        if left:
            raise left.pop(0)(expected="a", found="that b", action="c")
        return len(kinds) + 1

    done: int = redoing("t", max_attempts, lambda conflict: None, advice="d")(attempt)
    return done


def test_attempts_that_begin_anew_by_themselves_are_not_counted() -> None:
    assert run([Restarted], 1) == 2
    assert run([Restarted, CommitConflict, Restarted], 2) == 4


def test_those_that_others_overtake_are() -> None:
    assert run([CommitConflict, CommitConflict], 3) == 3
    for kinds in ([CommitConflict], [Restarted, CommitConflict]):
        with pytest.raises(CommitsExhausted, match="within 1 attempts"):
            run(kinds, 1)


def test_who_loses_executors_is_not_told_to_wait_for_other_writers() -> None:
    with pytest.raises(CommitsExhausted, match=r"spark\.executor\.memory"):
        run([CommitConflict, RowsLost], 2)
    with pytest.raises(CommitsExhausted, match=r"d$"):
        run([RowsLost, CommitConflict], 2)


def test_no_work_begins_anew_for_ever() -> None:
    with pytest.raises(CommitsExhausted):
        run([Restarted] * 100, 1)
