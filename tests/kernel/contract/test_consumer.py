"""Consumers: each partition reaches the output once, whatever happens to the runs."""

from __future__ import annotations

import datetime
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kernel.consuming import (
    CONSUMER,
    consume,
    consumer_of,
    counted,
    drain,
    lose_heartbeat,
    publish,
    states,
    texts,
)
from kernel.sites import Site
from kernel.support import (
    NO_RETENTION,
    add_plain_partition,
    append,
    assert_whole,
    compact,
    create,
    create_appendable,
    make_plain,
    merge,
)
from lakemerge.consumer import Batch, Options, WorkingSet
from lakemerge.consumer.working_set import PROCESSED
from lakemerge.errors import ConsumerExpired, ConsumerFenced, SourceChanged, SourceRewritten
from lakemerge.kernel import Kernel, TableName
from lakemerge.kernel.maintenance.history import history
from lakemerge.kernel.maintenance.vacuum import vacuum

_TESTS = Path(__file__).parents[1]


# -- what is new -----------------------------------------------------------------------------------


def test_an_append_table_is_consumed_commit_by_commit(
    kernel: Kernel, source: TableName, output: TableName
) -> None:
    create_appendable(kernel, source, {"p=1": ["a1"], "p=2": ["a2"]})
    assert consume(kernel, source, output) == ["p=1/_commit=1", "p=2/_commit=1"]
    assert consume(kernel, source, output) == []
    append(kernel, source, {"p=1": ["b1", "b2"]})
    assert consume(kernel, source, output) == ["p=1/_commit=2"]
    assert counted(texts(kernel, output)) == Counter(["a1", "a2", "b1", "b2"])
    assert set(states(kernel, source, output).values()) == {PROCESSED}
    assert_whole(kernel, output)


def test_compaction_neither_hides_nor_repeats_rows(
    kernel: Kernel, source: TableName, output: TableName
) -> None:
    create_appendable(kernel, source, {"p=1": ["a"]})
    append(kernel, source, {"p=1": ["b"]})
    assert consume(kernel, source, output, Options(limit=1)) == ["p=1/_commit=1"]
    append(kernel, source, {"p=1": ["c"]})
    compact(kernel, source)
    append(kernel, source, {"p=1": ["d"]})
    vacuum(kernel, source, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)
    assert drain(kernel, source, output, Options(limit=1)) == 3
    assert counted(texts(kernel, output)) == Counter("abcd")
    vacuum(kernel, source, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)
    assert len(history(kernel, source)) == 1, "nothing is pinned any more"


def test_limits_take_the_oldest_first_and_a_rebuild_takes_all(
    kernel: Kernel, source: TableName, output: TableName
) -> None:
    create_appendable(kernel, source, {"p=1": ["a"]})
    for text in "bcd":
        append(kernel, source, {"p=1": [text]})
    assert consume(kernel, source, output, Options(limit=2)) == ["p=1/_commit=1", "p=1/_commit=2"]
    assert consume(kernel, source, output, Options(max_bytes=1)) == ["p=1/_commit=3"]
    assert len(consume(kernel, source, output, Options(limit=1), rebuild=True)) == 4
    assert counted(texts(kernel, output)) == Counter("abcd")
    assert consume(kernel, source, output) == []


@pytest.mark.parametrize(("policy", "again"), [("reprocess", True), ("ignore", False), ("append_only", None)])
def test_a_rewritten_partition(
    policy: str, again: bool | None, kernel: Kernel, source: TableName, output: TableName
) -> None:
    create(kernel, source, {"p=1": ["old"], "p=2": ["old"]})
    options = Options(on_rewrite=policy)  # type: ignore[arg-type]
    consume(kernel, source, output, options)
    merge(kernel, source, {"p=1": ["new"], "p=3": ["new"]})
    if again is None:
        with pytest.raises(SourceRewritten):
            consume(kernel, source, output, options)
        return
    assert consume(kernel, source, output, options) == (["p=1", "p=3"] if again else ["p=3"])
    assert consume(kernel, source, output, options) == []


def test_a_plain_table_is_consumed_by_partition_and_file(
    kernel: Kernel, source: TableName, output: TableName
) -> None:
    make_plain(kernel, source, {"p=1": ["a"], "p=2": ["b"]})
    root = kernel.default_root(source)
    options = Options(on_rewrite="append_only")
    assert sorted(consume(kernel, source, output, options)) == ["p=1", "p=2"]
    assert consume(kernel, source, output, options) == []
    kernel.files.write_text(f"{root}/p=1/part-9.orc", "c")
    kernel.files.write_text(f"{root}/p=3/part-0.orc", "d")
    add_plain_partition(kernel, source, "p=3", f"{root}/p=3")
    assert sorted(consume(kernel, source, output, options)) == ["p=1", "p=3"]
    assert counted(texts(kernel, output)) == Counter("abcd")
    assert kernel.current_state(source) is None, "consuming a table does not adopt it"
    kernel.files.write_text(f"{root}/p=2/part-0.orc", "changed")
    with pytest.raises(SourceRewritten):
        consume(kernel, source, output, options)
    assert consume(kernel, source, output) == ["p=2"]


def test_a_file_that_changes_while_it_is_read(kernel: Kernel, source: TableName, output: TableName) -> None:
    make_plain(kernel, source, {"p=1": ["a"]})
    root = kernel.default_root(source)

    def change(_: Batch) -> None:
        kernel.files.write_text(f"{root}/p=1/part-0.orc", "other")

    with pytest.raises(SourceChanged):
        consume(kernel, source, output, work=change)
    assert consume(kernel, source, output) == ["p=1"]
    assert counted(texts(kernel, output)) == Counter(["other"])


# -- several runs ----------------------------------------------------------------------------------


def test_runs_at_once_take_disjoint_partitions(
    site: Site, kernel: Kernel, source: TableName, output: TableName
) -> None:
    create_appendable(kernel, source, {f"p={number}": [str(number)] for number in range(8)})
    with ThreadPoolExecutor(4) as pool:
        done = list(
            pool.map(lambda _: consume(Kernel(site.ports()), source, output, Options(limit=3)), range(4))
        )
    assert len({part for run in done for part in run}) == sum(len(run) for run in done) == 8
    assert counted(texts(kernel, output)) == Counter(str(number) for number in range(8))
    assert_whole(kernel, output)


@pytest.mark.parametrize("how", ["dead", "slow"])
@pytest.mark.parametrize("other_commits", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_zombie_cannot_commit(
    how: str, other_commits: bool, site: Site, kernel: Kernel, source: TableName, output: TableName
) -> None:
    create_appendable(kernel, source, {"p=1": ["a"], "p=2": ["b"]})
    zombie = consumer_of(Kernel(site.ports()), source, output).claim()
    assert len(zombie.items) == 2
    assert consume(kernel, source, output) == []
    options = Options(limit=1, timeout=datetime.timedelta(0) if how == "slow" else datetime.timedelta(1))
    if how == "dead":
        lose_heartbeat(zombie)
    kernel.clock.sleep(0.01)
    other = consumer_of(kernel, source, output, options).claim()
    assert len(other.items) == 1
    if other_commits:
        publish(kernel, output, ["p=1 a"], other)
        other.succeed()
    with pytest.raises(ConsumerFenced):
        publish(Kernel(site.ports()), output, ["p=1 a", "p=2 b"], zombie)
    zombie.fail("fenced", blame=False)
    if not other_commits:
        publish(kernel, output, ["p=1 a"], other)
        other.succeed()
    drain(kernel, source, output, options)
    assert counted(texts(kernel, output)) == Counter("ab")


def test_progress_stays_short_and_complete_when_two_runs_shorten_it_at_once(
    site: Site, kernel: Kernel, source: TableName, output: TableName
) -> None:
    create_appendable(kernel, source, {"p=1": ["0"]})
    consume(kernel, source, output)
    for number in range(1, 12):
        append(kernel, source, {"p=1": [str(number)]})
        consume(kernel, source, output)
        assert len(history(kernel, output, 1)[0].sidecars["consumed"]) <= 10
        if len(history(kernel, output, 1)[0].sidecars["consumed"]) == 10:
            break
    for text in "ab":
        append(kernel, source, {"p=1": [text]})
    others: list[Batch] = []

    def overtake(step: str) -> None:
        if step == "staged" and others:
            other = others.pop()
            publish(
                kernel, output, [f"p=1 {kernel.files.read_text(path)}" for path, _ in other.files()], other
            )

    slow = Kernel(site.ports(), step=overtake)
    batch = consumer_of(slow, source, output, Options(limit=1)).claim()
    others.append(consumer_of(kernel, source, output).claim())
    publish(slow, output, [f"p=1 {slow.files.read_text(path)}" for path, _ in batch.files()], batch)
    assert others == []
    assert all(count == 1 for count in counted(texts(kernel, output)).values())
    assert {"a", "b"} <= set(counted(texts(kernel, output)))
    assert consume(kernel, source, output) == []
    assert len(history(kernel, output, 1)[0].sidecars["consumed"]) <= 3


def test_the_output_s_commits_decide_where_the_working_set_is_gone(
    site: Site, kernel: Kernel, source: TableName, output: TableName
) -> None:
    create_appendable(kernel, source, {"p=1": ["a"]})
    assert consume(kernel, source, output) == ["p=1/_commit=1"]
    WorkingSet(kernel, output).drop()
    assert consume(kernel, source, output) == []


# -- operations ------------------------------------------------------------------------------------


def test_reset_to_a_version_and_to_the_beginning(
    kernel: Kernel, source: TableName, output: TableName
) -> None:
    create_appendable(kernel, source, {"p=1": ["a"]})
    append(kernel, source, {"p=1": ["b"]})
    consume(kernel, source, output)
    consumer = consumer_of(kernel, source, output)
    consumer.reset(1)
    assert consume(kernel, source, output) == ["p=1/_commit=2"]
    consumer.reset()
    assert consume(kernel, source, output) == ["p=1/_commit=1", "p=1/_commit=2"]
    with pytest.raises(ConsumerExpired):
        consumer.reset(99)


def test_a_consumer_pins_what_it_has_not_read_until_the_pin_expires(
    kernel: Kernel, source: TableName, output: TableName
) -> None:
    create_appendable(kernel, source, {"p=1": ["a"]})
    consume(kernel, source, output)
    for text in "bc":
        append(kernel, source, {"p=1": [text]})
    compact(kernel, source)
    vacuum(kernel, source, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)
    assert len(history(kernel, source)) == 4
    expired = Options(pin=datetime.timedelta(0))
    assert consume(kernel, source, output, Options(limit=1, pin=expired.pin)) == ["p=1/_commit=2"]
    vacuum(kernel, source, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)
    with pytest.raises(ConsumerExpired):
        consume(kernel, source, output, expired)
    assert CONSUMER in str(consumer_of(kernel, source, output).key)


def test_dropped_consumers_are_forgotten(kernel: Kernel, source: TableName, output: TableName) -> None:
    create_appendable(kernel, source, {"p=1": ["a"]})
    consume(kernel, source, output)
    consumer = consumer_of(kernel, source, output)
    consumer.drop()
    assert consumer.progress() is None
    assert not kernel.exists(WorkingSet(kernel, output).name)
    assert texts(kernel, output) == ["p=1/_commit=1 a"]
    state = kernel.current_state(source)
    assert state is not None
    assert kernel.files.list(state.layout.pins) == []
