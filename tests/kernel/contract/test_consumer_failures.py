"""Runs of consumers that fail or die: what becomes of their partitions, and of all others."""

from __future__ import annotations

import datetime
from collections import Counter

import pytest

from kernel.consuming import (
    CONSUMER,
    consume,
    consumer_of,
    counted,
    lose_heartbeat,
    publish,
    states,
    texts,
    turns,
)
from kernel.support import append, create_appendable
from lakemerge.consumer import Batch, Consumer, Options, Run
from lakemerge.consumer.working_set import AVAILABLE, COLUMNS, DISCARDED, IN_PROGRESS, PROCESSED
from lakemerge.kernel import Kernel, TableDefinition, TableName


def fails(_: Batch) -> None:
    raise RuntimeError("a bad record")


def test_partitions_of_a_failed_run_are_available_again_and_at_last_discarded(
    kernel: Kernel, source: TableName, output: TableName
) -> None:
    create_appendable(kernel, source, {f"p={number}": ["good"] for number in range(4)})
    append(kernel, source, {"p=bad": ["bad"]})
    options = Options(max_retries=2)

    def work(batch: Batch) -> None:
        if any("bad" in item.partition for item in batch.items):
            fails(batch)

    runs = 0
    while runs < 20:
        runs += 1
        try:
            if not consume(kernel, source, output, options, work=work):
                break
        except RuntimeError:
            continue
    assert counted(texts(kernel, output)) == Counter(["good"] * 4)
    (bad,) = [row for row in consumer_of(kernel, source, output).refresh() if row.state != PROCESSED]
    assert (bad.partition, bad.state, bad.reason) == ("p=bad/_commit=2", DISCARDED, "a bad record")
    assert bad.failures > 2
    assert consumer_of(kernel, source, output).put_back() == ["p=bad/_commit=2"]
    assert consume(kernel, source, output, options) == ["p=bad/_commit=2"]


def kill(kernel: Kernel, source: TableName, output: TableName, options: Options | None = None) -> Batch:
    """A run that dies with what it has claimed."""
    batch = consumer_of(kernel, source, output, options).claim()
    lose_heartbeat(batch)
    return batch


def test_after_one_death_a_run_takes_old_and_new_together(
    kernel: Kernel, source: TableName, output: TableName
) -> None:
    create_appendable(kernel, source, {f"p={number}": ["a"] for number in range(4)})
    assert len(kill(kernel, source, output).items) == 4
    append(kernel, source, {"p=0": ["b"], "p=1": ["b"]})
    (taken,) = turns(kernel, source, output)
    assert len(taken) == 6
    run = Run([consumer_of(kernel, source, output)])
    assert [batch.items for (batch,) in run] == [()]
    assert [left.total for left in run.left] == [0]


def test_new_partitions_are_committed_before_suspects_are_tried_and_all_in_one_run(
    kernel: Kernel, source: TableName, output: TableName
) -> None:
    create_appendable(kernel, source, {f"p={number}": ["a"] for number in range(5)})
    for _ in range(2):
        assert len(kill(kernel, source, output).items) == 5
    append(kernel, source, {"p=0": ["b"], "p=1": ["b"]})
    first, *others = turns(kernel, source, output)
    assert first == ["p=0/_commit=2", "p=1/_commit=2"]
    assert [len(group) for group in others] == [2, 2, 1]
    assert set(states(kernel, source, output).values()) == {PROCESSED}


@pytest.mark.parametrize("how", ["dies", "fails"])
def test_a_partition_that_ends_every_run_keeps_nothing_else_waiting_and_is_discarded(
    how: str, kernel: Kernel, source: TableName, output: TableName
) -> None:
    create_appendable(kernel, source, {f"p={number}": ["good"] for number in range(3)})
    append(kernel, source, {"p=bad": ["bad"]})
    options = Options(max_retries=2)

    class Died(BaseException):
        """Ends a run as a kill does: nothing is given back."""

    def work(batch: Batch) -> None:
        if any("bad" in item.partition for item in batch.items):
            if how == "fails":
                fails(batch)
            lose_heartbeat(batch)
            raise Died

    for runs in range(1, 20):
        append(kernel, source, {"p=new": [f"new {runs}"]})
        try:
            consume(kernel, source, output, options, work=work)
        except (RuntimeError, Died):
            if runs > (2 if how == "dies" else 1):  # from then on it is a suspect
                assert f"new {runs}" in counted(texts(kernel, output))
        else:
            break
    # halves of 4, and then alone until it is discarded
    assert runs <= 6
    assert counted(texts(kernel, output)) == Counter(
        {"good": 3, **{f"new {run}": 1 for run in range(1, runs + 1)}}
    )
    run = Run([consumer_of(kernel, source, output, options)])
    assert [batch.items for (batch,) in run] == [()]
    assert [str(left) for left in run.left] == ["1 discarded"]


def test_limits_count_suspects_apart_so_that_neither_waits_for_the_other(
    kernel: Kernel, source: TableName, output: TableName
) -> None:
    create_appendable(kernel, source, {f"p={number}": ["a"] for number in range(6)})
    for _ in range(2):
        kill(kernel, source, output)
    append(kernel, source, {f"p={number}": ["b"] for number in range(6)})
    run = Run([consumer_of(kernel, source, output, Options(limit=4))])
    taken = []
    for (batch,) in run:
        publish(kernel, output, [item.partition for item in batch.items], batch)
        batch.succeed()
        taken.append(len(batch.items))
    assert taken == [4, 3, 1]
    assert [str(left) for left in run.left] == ["2 for the next run, 2 to be retried separately"]


def test_what_is_left_is_told_by_its_reason(kernel: Kernel, source: TableName, output: TableName) -> None:
    create_appendable(kernel, source, {f"p={number}": ["a"] for number in range(4)})
    other = consumer_of(kernel, source, output, Options(limit=1)).claim()
    options = Options(limit=1, max_retries=0)
    consumer_of(kernel, source, output, options).claim().fail("a bad record")
    consumer = Consumer(
        kernel,
        source,
        CONSUMER,
        output,
        options,
        ready=lambda _, items: [i for i in items if "p=3" not in i.partition],
    )
    batch = consumer.claim()
    assert str(batch.left) == "1 not ready, 1 in progress in other runs, 1 discarded"
    batch.succeed()
    other.succeed()


def test_a_run_that_died_long_ago_has_died_and_was_not_too_slow(
    kernel: Kernel, source: TableName, output: TableName
) -> None:
    create_appendable(kernel, source, {"p=1": ["a"]})
    kill(kernel, source, output)
    kernel.clock.sleep(0.01)
    late = Options(timeout=datetime.timedelta(0))
    (row,) = consumer_of(kernel, source, output, late).refresh()
    assert (row.state, row.failures, row.deaths) == (AVAILABLE, 0, 1)
    batch = consumer_of(kernel, source, output).claim()
    (row,) = consumer_of(kernel, source, output, late).refresh()
    assert (row.state, row.failures, row.deaths) == (AVAILABLE, 1, 1)
    lose_heartbeat(batch)


def test_the_reason_of_a_failure_may_hold_any_character(
    kernel: Kernel, source: TableName, output: TableName
) -> None:
    create_appendable(kernel, source, {"p=1": ["a"]})
    reason = "".join(map(chr, range(1, 256))) + "\u2028\u2029\ud800\U0001f600\\N"
    consumer_of(kernel, source, output).claim().fail(reason)
    (row,) = consumer_of(kernel, source, output).refresh()
    kept = reason.replace("\x01", " ").replace("\n", " ").replace("\r", " ").replace("\ud800", "?")
    assert row.reason == kept
    assert consume(kernel, source, output) == ["p=1/_commit=1"]


def test_a_failure_that_is_not_theirs_does_not_count(
    kernel: Kernel, source: TableName, output: TableName
) -> None:
    create_appendable(kernel, source, {"p=1": ["a"]})
    batch = consumer_of(kernel, source, output).claim()
    assert states(kernel, source, output) == {"p=1/_commit=1": IN_PROGRESS}
    batch.fail("no metastore", blame=False)
    (row,) = consumer_of(kernel, source, output).refresh()
    assert (row.state, row.failures) == (AVAILABLE, 0)


def test_a_working_set_of_an_earlier_release_is_read_and_widened(
    kernel: Kernel, source: TableName, output: TableName
) -> None:
    create_appendable(kernel, source, {"p=1": ["a"], "p=2": ["b"]})
    consumer = consumer_of(kernel, source, output)
    consumer.claim().fail("a bad record")
    (name, columns) = consumer.working_set.name, COLUMNS[:-1]
    rows = [[str(getattr(row, column.name)) for column in columns] for row in consumer.refresh()]
    consumer.working_set.drop()
    transaction = kernel.create(TableDefinition(name, columns, file_format="text"), "consume")
    text = "".join("\x01".join(row) + "\n" for row in rows)
    kernel.files.write_text(f"{transaction.stage_directory}/rows.txt", text)
    transaction.add_staged()
    transaction.commit()
    assert [(row.failures, row.deaths) for row in consumer.refresh()] == [(1, 0)] * 2
    lose_heartbeat(consumer.claim())
    assert [(row.failures, row.deaths) for row in consumer.refresh()] == [(1, 1), (1, 0)]
    assert [column.name for column in kernel.table(name).columns] == [column.name for column in COLUMNS]
