"""What an ingest looks at again before it commits."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from lakemerge.engine.ingest.intake import Intake
from lakemerge.errors import CommitConflict
from lakemerge.ingest import OffsetLedger, TopicArrivals, TopicRules
from lakemerge.ingest.topics import OffsetRange, ReadTopic, TopicState


@pytest.mark.parametrize(
    ("state", "is_recorded"),
    [
        (TopicState("one", {0: (5, 20)}), True),
        (TopicState("one", {0: (6, 20)}), False),
        (TopicState("two", {0: (0, 20)}), False),
    ],
    ids=["as it was", "expired meanwhile", "made anew meanwhile"],
)
def test_offsets_are_recorded_only_if_the_topic_still_has_what_was_read(
    monkeypatch: pytest.MonkeyPatch, state: TopicState, is_recorded: bool
) -> None:
    recorded: list[Any] = []
    monkeypatch.setattr(OffsetLedger, "record", lambda *arguments: recorded.append(arguments))
    transaction: Any = SimpleNamespace(
        overtaken=lambda found: CommitConflict(expected="", found=found, action=""), kernel_transaction=None
    )
    plan: Any = SimpleNamespace(
        ranges=[OffsetRange("t", 0, 5, 9)],
        batch=1,
        options=SimpleNamespace(topics=TopicRules(("t",), {})),
    )
    arrivals = TopicArrivals(list(plan.ranges), {"t": ReadTopic("one", {0: 9})}, is_news=True)
    handle: Any = SimpleNamespace(application=SimpleNamespace(filesystem=None))
    intake = Intake(handle, plan)
    monkeypatch.setattr(intake, "_topic_source", lambda _: SimpleNamespace(states=lambda: {"t": state}))
    with nullcontext() if is_recorded else pytest.raises(CommitConflict, match="records of t"):
        intake.record(transaction, arrivals)
    assert bool(recorded) == is_recorded
