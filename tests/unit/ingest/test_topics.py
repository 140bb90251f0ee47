"""How far topics are read: shares of a limit, what was added, lost or made anew."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakemerge.errors import CorruptTable, OffsetOutOfRange, TopicReplaced
from lakemerge.ingest.topics import (
    OffsetLedger,
    OffsetRange,
    Offsets,
    ReadTopic,
    TopicArrivals,
    TopicRules,
    TopicState,
    look_at_topics,
)

NEVER = OffsetLedger({}, 0)


def read(next_: dict[int, int], id_: str = "one") -> OffsetLedger:
    return OffsetLedger({"t": ReadTopic(id_, next_)}, 1)


def look(
    ledger: OffsetLedger,
    partitions: dict[int, tuple[int, int]],
    until: Offsets | None = None,
    id_: str = "one",
    **rules: Any,
) -> TopicArrivals:
    return look_at_topics(TopicRules(("t",), {}, **rules), ledger, {"t": TopicState(id_, partitions)}, until)


def chosen(arrivals: TopicArrivals) -> list[tuple[int, int, int]]:
    return [(item.partition, item.start, item.end) for item in arrivals.chosen]


@pytest.mark.parametrize(
    ("starting", "expected"),
    [
        ("earliest", [(0, 3, 9), (1, 0, 4)]),
        ("latest", []),
        ({"t": {0: 5, 1: -1}}, [(0, 5, 9)]),
        ({"t": {1: 2}}, [(0, 3, 9), (1, 2, 4)]),
    ],
)
def test_a_topic_is_begun_where_startingoffsets_says(starting: Any, expected: Any) -> None:
    arrivals = look(NEVER, {0: (3, 9), 1: (0, 4)}, starting_offsets=starting)
    assert chosen(arrivals) == expected
    # be there a record or not: the next run must go on from here
    assert not arrivals.is_empty
    assert arrivals.topics == {"t": ReadTopic("one", {0: 9, 1: 4})}


def test_it_is_gone_on_with_whatever_startingoffsets_says_and_partitions_that_were_added_from_their_begin() -> (
    None
):
    arrivals = look(read({0: 5}), {0: (0, 7), 1: (0, 2)}, starting_offsets="latest")
    assert chosen(arrivals) == [(0, 5, 7), (1, 0, 2)]
    nothing = look(read({0: 7}), {0: (0, 7)})
    assert nothing.is_empty
    assert (nothing.counts, nothing.behind) == ({"offsets": 0, "backlog": 0}, {"offsets": 0})


def test_what_comes_after_the_horizon_is_for_another_run() -> None:
    arrivals = look(read({0: 5}), {0: (0, 9), 1: (0, 2)}, until={"t": {0: 7}})
    assert chosen(arrivals) == [(0, 5, 7)]
    assert arrivals.backlog == 0
    # the partition that was added since is begun by that other run
    assert arrivals.topics["t"].next == {0: 7, 1: 0}


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=6), st.integers(1, 40)
)
def test_limited_batches_read_each_offset_once_and_end(sizes: list[tuple[int, int]], limit: int) -> None:
    partitions = {number: (start, start + size) for number, (start, size) in enumerate(sizes)}
    ledger, seen = NEVER, []
    for _ in range(sum(size for _, size in sizes) + 1):
        arrivals = look(ledger, partitions, max_offsets=limit)
        assert sum(map(len, arrivals.chosen)) < limit + len(partitions)
        assert all(len(item) > 0 for item in arrivals.chosen)
        seen += [
            (item.partition, offset) for item in arrivals.chosen for offset in range(item.start, item.end)
        ]
        ledger = OffsetLedger(arrivals.topics, ledger.last_batch + 1)
        if not arrivals.backlog:
            break
    assert seen == sorted(set(seen), key=seen.index)
    assert sorted(seen) == [
        (number, offset) for number, ends in partitions.items() for offset in range(*ends)
    ]


@pytest.mark.parametrize(("next_", "text"), [(1, "2 offsets are gone"), (8, "cut or set back")])
def test_offsets_that_are_not_there_are_an_error(next_: int, text: str) -> None:
    with pytest.raises(OffsetOutOfRange, match=text):
        look(read({0: next_}), {0: (3, 7)})


def test_it_goes_on_with_what_is_there_if_told_to() -> None:
    expired = look(read({0: 1}), {0: (3, 7)}, fail_on_data_loss=False)
    assert (chosen(expired), len(expired.lost)) == ([(0, 3, 7)], 1)
    cut = look(read({0: 8}), {0: (3, 7)}, fail_on_data_loss=False)
    assert (chosen(cut), len(cut.lost)) == ([], 1)
    assert cut.topics["t"].next == {0: 7}
    assert not cut.is_empty


def test_a_topic_that_was_made_anew_is_an_error_though_its_offsets_fit() -> None:
    with pytest.raises(TopicReplaced, match="deleted and created again"):
        look(read({0: 5}), {0: (0, 9)}, id_="two")
    again = look(read({0: 5}), {0: (0, 9)}, id_="two", fail_on_data_loss=False)
    assert chosen(again) == [(0, 0, 9)]
    assert again.topics["t"].id == "two"


@pytest.mark.parametrize(("known", "now"), [("", "two"), ("one", "")])
def test_brokers_that_know_no_ids_are_believed(known: str, now: str) -> None:
    assert chosen(look(read({0: 5}, known), {0: (0, 9)}, id_=now)) == [(0, 5, 9)]


def test_topics_that_are_no_longer_subscribed_are_remembered() -> None:
    ledger = OffsetLedger({"old": ReadTopic("x", {0: 3})}, 4)
    assert look(ledger, {0: (0, 1)}).topics["old"] == ReadTopic("x", {0: 3})


class FakeFiles:
    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def write_text(self, path: str, text: str) -> None:
        self.texts[path] = text

    def read_text(self, path: str) -> str:
        if path not in self.texts:
            raise FileNotFoundError(path)
        return self.texts[path]


class FakeTransaction:
    def __init__(self, base: Any) -> None:
        self.base = base
        self.layout = SimpleNamespace(absolute=lambda folder: folder)
        self.sidecars: dict[str, list[str]] = {}

    def sidecar_directory(self, kind: str) -> str:
        return f"{kind}/txn"

    def set_sidecars(self, kind: str, directories: list[str]) -> None:
        self.sidecars[kind] = directories


def test_what_a_commit_records_the_next_one_reads() -> None:
    files: Any = FakeFiles()
    transaction: Any = FakeTransaction(base=None)
    topics = {"b": ReadTopic("one", {0: 5, 10: 7}), "a": ReadTopic("", {0: 0})}
    assert OffsetLedger.of(files, transaction).last_batch == 0
    OffsetLedger.record(files, transaction, topics, 3)
    following: Any = FakeTransaction(base=SimpleNamespace(sidecars=transaction.sidecars))
    ledger = OffsetLedger.of(files, following)
    assert (dict(ledger.topics), ledger.last_batch) == (topics, 3)
    assert OffsetLedger.of(files, following, replaced=True).topics == {}


@pytest.mark.parametrize("text", [None, "", "[]", json.dumps({"batch": 1, "topics": {"t": {"id": ""}}})])
def test_offsets_that_cannot_be_read_are_no_reason_to_read_from_the_beginning(text: str | None) -> None:
    files: Any = FakeFiles()
    if text is not None:
        files.write_text("offsets/txn/offsets.json", text)
    transaction: Any = FakeTransaction(base=SimpleNamespace(sidecars={"offsets": ("offsets/txn",)}))
    with pytest.raises(CorruptTable, match="full-refresh"):
        OffsetLedger.of(files, transaction)


def test_a_range_is_called_as_kafka_calls_partitions() -> None:
    item = OffsetRange("my-topic", 3, 5, 9)
    assert (item.name, len(item)) == ("my-topic-3", 4)
