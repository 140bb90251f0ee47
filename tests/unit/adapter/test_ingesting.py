"""What an ingest looks at again before it commits."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from dbt.adapters.lakemerge.ingest.methods import IngestMethods

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
    told: list[str] = []
    transaction: Any = SimpleNamespace(overtaken=told.append, kernel_transaction=None)
    plan: Any = SimpleNamespace(
        ranges=[OffsetRange("t", 0, 5, 9)],
        batch=1,
        options=SimpleNamespace(topics=TopicRules(("t",), {})),
    )
    arrivals = TopicArrivals(list(plan.ranges), {"t": ReadTopic("one", {0: 9})}, is_news=True)
    methods: Any = SimpleNamespace(
        handle=SimpleNamespace(application=SimpleNamespace(filesystem=None)),
        _topic_source=lambda *_: SimpleNamespace(states=lambda: {"t": state}),
    )
    IngestMethods._record_offsets(methods, transaction, plan, arrivals)
    assert (bool(recorded), bool(told)) == (is_recorded, not is_recorded)
