"""Consumers of changes: versions in their order, and what they cannot follow."""

from __future__ import annotations

from collections import Counter
from itertools import chain

import pytest

from kernel.consuming import consume, consumer_of, drain, lose_heartbeat, replayed, states, texts, turns
from kernel.support import (
    NO_RETENTION,
    add_delta,
    add_overlay,
    append,
    create,
    create_appendable,
    make_plain,
    merge,
    rewrite,
)
from lakemerge.consumer import Batch, Options, Run
from lakemerge.consumer.working_set import IN_PROGRESS, PROCESSED
from lakemerge.errors import ConsumerExpired, ConsumerFenced, UnsupportedTable
from lakemerge.kernel import Kernel, TableName, drop
from lakemerge.kernel.maintenance.vacuum import vacuum

CHANGES = Options(changes=True)


def names(*versions: int) -> list[str]:
    return [f"_commit_version={version}" for version in versions]


def test_the_first_run_has_all_rows_and_later_ones_what_each_version_has_changed(
    kernel: Kernel, source: TableName, output: TableName
) -> None:
    create(kernel, source, {"p=1": ["a"], "p=2": ["b"]})
    merge(kernel, source, {"p=1": ["a", "a2"]})
    assert consume(kernel, source, output, CHANGES) == names(2)
    merge(kernel, source, {"p=2": ["b2"]})
    rewrite(kernel, source)
    merge(kernel, source, {"p=3": ["c"]})
    assert consume(kernel, source, output, CHANGES) == names(3, 5)
    assert consume(kernel, source, output, CHANGES) == []
    lines = Counter(["2 + a", "2 + a2", "2 + b", "3 + b2", "3 - b", "5 + c"])
    assert Counter(texts(kernel, output)) == lines
    assert states(kernel, source, output, CHANGES) == dict.fromkeys(names(2, 3, 5), PROCESSED)


def test_a_table_that_is_merged_on_read_is_followed_by_its_deltas(
    kernel: Kernel, source: TableName, output: TableName
) -> None:
    create(kernel, source, {"p=1": ["a"]})
    add_overlay(kernel, source)
    consume(kernel, source, output, CHANGES)
    version = add_delta(kernel, source, "b")
    assert consume(kernel, source, output, CHANGES) == names(version)


def test_it_begins_after_a_version_and_a_rebuild_begins_there_too(
    kernel: Kernel, source: TableName, output: TableName
) -> None:
    create_appendable(kernel, source, {"p=1": ["a"]})
    for text in "bc":
        append(kernel, source, {"p=1": [text]})
    options = Options(changes=True, from_version=1)
    assert consume(kernel, source, output, options) == names(2, 3)
    append(kernel, source, {"p=1": ["d"]})
    assert consume(kernel, source, output, options) == names(4)
    assert consume(kernel, source, output, options, rebuild=True) == names(2, 3, 4)
    consumer_of(kernel, source, output, CHANGES).reset(2)
    assert consume(kernel, source, output, CHANGES) == names(3, 4)
    consumer_of(kernel, source, output, CHANGES).reset()
    assert consume(kernel, source, output, CHANGES) == names(4)
    with pytest.raises(ConsumerExpired, match="version 9"):
        consumer_of(kernel, source, output, CHANGES).reset(9)


def test_none_is_taken_while_another_run_has_one_before_it(
    kernel: Kernel, source: TableName, output: TableName
) -> None:
    create(kernel, source, {"p=1": ["a"]})
    consume(kernel, source, output, CHANGES)
    for text in "bcd":
        merge(kernel, source, {"p=1": [text]})
    other = consumer_of(kernel, source, output, Options(changes=True, limit=1)).claim()
    batch = consumer_of(kernel, source, output, CHANGES).claim()
    assert batch.items == ()
    assert str(batch.left) == "2 for the next run, 1 in progress in other runs"
    assert [state for state in states(kernel, source, output, CHANGES).values() if state == IN_PROGRESS] == [
        IN_PROGRESS
    ]
    lose_heartbeat(other)
    assert consume(kernel, source, output, CHANGES) == names(2, 3, 4)
    parent = kernel.settled(output)[1]
    with pytest.raises(ConsumerFenced, match="another run has committed them"):
        other.check(parent)


def test_a_version_that_fails_holds_up_those_after_it_and_is_never_discarded(
    kernel: Kernel, source: TableName, output: TableName
) -> None:
    create(kernel, source, {"p=1": ["a"]})
    consume(kernel, source, output, CHANGES)
    for text in ("b", "c", "bad", "d", "e"):
        merge(kernel, source, {"p=1": [text]})

    def work(batch: Batch) -> None:
        if names(4)[0] in [item.partition for item in batch.items]:
            raise RuntimeError("a bad record")

    options = Options(changes=True, max_retries=0)
    for _ in range(9):
        with pytest.raises(RuntimeError):
            consume(kernel, source, output, options, work=work)
    assert replayed(kernel, output) == Counter("c")
    run = Run([consumer_of(kernel, source, output, options)])
    for (batch,) in run:
        batch.fail("not now", blame=False)
        break
    assert str(run.left[0]) == "2 to be retried separately"
    # once it is repaired, one run takes all: the suspects first, and none before its turn
    assert [*chain(*turns(kernel, source, output, options))] == names(4, 5, 6)
    assert replayed(kernel, output) == Counter("e")


def test_vacuum_keeps_what_has_not_been_read_until_the_pin_ends(
    kernel: Kernel, source: TableName, output: TableName
) -> None:
    def free() -> None:
        vacuum(kernel, source, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)

    create(kernel, source, {"p=1": ["a"]})
    consume(kernel, source, output, CHANGES)
    for text in "bcd":
        merge(kernel, source, {"p=1": [text]})
    free()
    assert drain(kernel, source, output, Options(changes=True, limit=1)) == 3
    assert replayed(kernel, output) == Counter("d")
    merge(kernel, source, {"p=1": ["e"]})
    consumer = consumer_of(kernel, source, output, CHANGES)
    kernel.files.delete(kernel.open(source).layout.pins)  # as if it had expired
    free()
    with pytest.raises(ConsumerExpired, match="--full-refresh"):
        consumer.claim()
    assert consume(kernel, source, output, CHANGES, rebuild=True) == names(5)


def test_what_it_cannot_follow_is_told(kernel: Kernel, source: TableName, output: TableName) -> None:
    make_plain(kernel, source, {"p=1": ["a"]})
    with pytest.raises(UnsupportedTable, match="to have versions"):
        consume(kernel, source, output, CHANGES)
    merge(kernel, source, {"p=1": ["a", "b"]})
    consume(kernel, source, output)
    with pytest.raises(ConsumerExpired, match="found progress in partitions"):
        consume(kernel, source, output, CHANGES)
    consume(kernel, source, output, CHANGES, rebuild=True)
    with pytest.raises(ConsumerExpired, match="found progress in changes"):
        consume(kernel, source, output)
    drop(kernel, source)
    create(kernel, source, {"p=1": ["other"]})
    with pytest.raises(ConsumerExpired, match="dropped and recreated") as error:
        consume(kernel, source, output, CHANGES)
    assert "--full-refresh" in error.value.action
