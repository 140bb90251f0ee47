"""What a publisher does when other commits overtake its attempts."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pytest

from lakemerge.engine.options.write import WriteConfig
from lakemerge.engine.publish import publisher as module
from lakemerge.engine.publish import redo
from lakemerge.engine.publish.publisher import Publisher
from lakemerge.errors import CommitConflict, CommitsExhausted, CommitUnfinished, InvalidTransactionState
from lakemerge.kernel import TableName

CONFLICT = CommitConflict(
    expected="shop.airports to be as it was read",
    found="that another writer made the table meanwhile",
    action="The work has to be redone on the newer version.",
)


class FakeTransaction:
    def __init__(self) -> None:
        self.version: int | None = None
        self.is_over = False
        self.is_staged = False
        self.made = None
        self.aborted = False

    def commit(self) -> str:
        self.version, self.is_over = 3, True
        return "done"

    def abort(self) -> None:
        self.aborted = True


@pytest.fixture
def started() -> list[FakeTransaction]:
    return []


@pytest.fixture
def publish(started: list[FakeTransaction], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(redo, "_LONGEST_WAIT", 0.0)
    config = WriteConfig(max_attempts=3)
    publisher = Publisher(Mock(), Mock(), TableName("shop", "airports"), config, constraints={})

    def begin() -> Any:
        started.append(FakeTransaction())
        return started[-1]

    return lambda attempt: publisher.publish("merge", begin, attempt)


def overtaken(times: int) -> Any:
    def attempt(txn: Any) -> str:
        nonlocal times
        times -= 1
        if times >= 0:
            raise CONFLICT
        return str(txn.commit())

    return attempt


def test_an_attempt_that_is_overtaken_is_given_up_and_made_again(
    publish: Any, started: list[FakeTransaction], monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[str] = []
    monkeypatch.setattr(module._LOG, "info", reported.append)
    txn, done = publish(overtaken(2))
    assert (txn.version, done) == (3, "done")
    assert [one.aborted for one in started] == [True, True, False]
    assert reported == 2 * ["shop.airports: another writer made the table meanwhile, so the work is redone."]


def test_a_commit_that_stands_is_not_made_again_whatever_error_it_quotes(
    publish: Any, started: list[FakeTransaction]
) -> None:
    def attempt(txn: Any) -> str:
        found = "SparkException: [CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND] Checkpoint block rdd_51_0 not found!"
        raise CommitUnfinished(expected="to finish the commit", found=found, action="Do not repeat it.")

    with pytest.raises(CommitUnfinished):
        publish(attempt)
    assert len(started) == 1


def test_attempts_that_were_all_overtaken_end_in_a_sentence(
    publish: Any, started: list[FakeTransaction]
) -> None:
    message = r"within 3 attempts; found that another writer made the table meanwhile\. Run again"
    with pytest.raises(CommitsExhausted, match=message):
        publish(overtaken(3))
    assert len(started) == 3


def test_other_errors_end_the_work(publish: Any, started: list[FakeTransaction]) -> None:
    def fails(txn: Any) -> None:
        raise ValueError("a broken query")

    with pytest.raises(ValueError, match="a broken query"):
        publish(fails)
    assert len(started) == 1


def test_an_attempt_must_come_to_an_end(publish: Any) -> None:
    with pytest.raises(InvalidTransactionState, match="neither"):
        publish(lambda txn: None)
