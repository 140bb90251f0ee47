from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from dbt.adapters.lakemerge.publish import retries

from lakemerge.errors import CommitConflict, CommitsExhausted
from lakemerge.kernel import TableName

NAME = TableName("shop", "airports")
CONFLICT = CommitConflict(
    expected="shop.airports to be as it was read",
    found="that another writer made the table meanwhile",
    action="The work has to be redone on the newer version.",
)


def test_a_redo_is_told_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(retries.logger, "info", told.append)
    outcomes: list[Any] = [SimpleNamespace(conflict=CONFLICT), SimpleNamespace(conflict=None, is_over=True)]
    assert len(list(retries.attempts(NAME, lambda: outcomes.pop(0), most=3))) == 2
    assert told == [
        "shop.airports: another writer made the table meanwhile, so the work is redone on the newer version."
    ]


def test_attempts_that_were_all_overtaken_end_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries.time, "sleep", lambda _: None)
    never: Any = SimpleNamespace(conflict=CONFLICT)
    with pytest.raises(
        CommitsExhausted, match=r"found that another writer made the table meanwhile\. Run again"
    ):
        list(retries.attempts(NAME, lambda: never, most=2))
