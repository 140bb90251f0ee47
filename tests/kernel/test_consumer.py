"""Consumers: each partition reaches the output once, whatever happens to the runs."""

from __future__ import annotations

import datetime
import json
import os
import signal
import subprocess
import sys
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
from kernel.servers import MetastoreServer
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
from lakemerge.kernel import Jvm, Kernel, TableName, ports_of
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
    jvm: Jvm, kernel: Kernel, source: TableName, output: TableName
) -> None:
    create_appendable(kernel, source, {f"p={number}": [str(number)] for number in range(8)})
    with ThreadPoolExecutor(4) as pool:
        done = list(
            pool.map(lambda _: consume(Kernel(ports_of(jvm)), source, output, Options(limit=3)), range(4))
        )
    assert len({part for run in done for part in run}) == sum(len(run) for run in done) == 8
    assert counted(texts(kernel, output)) == Counter(str(number) for number in range(8))
    assert_whole(kernel, output)


@pytest.mark.parametrize("how", ["dead", "slow"])
@pytest.mark.parametrize("other_commits", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_zombie_cannot_commit(
    how: str, other_commits: bool, jvm: Jvm, kernel: Kernel, source: TableName, output: TableName
) -> None:
    create_appendable(kernel, source, {"p=1": ["a"], "p=2": ["b"]})
    zombie = consumer_of(Kernel(ports_of(jvm)), source, output).claim()
    assert len(zombie.items) == 2
    assert consume(kernel, source, output) == []
    options = Options(limit=1, timeout=datetime.timedelta(0) if how == "slow" else datetime.timedelta(1))
    if how == "dead":
        lose_heartbeat(zombie)
    other = consumer_of(kernel, source, output, options).claim()
    assert len(other.items) == 1
    if other_commits:
        publish(kernel, output, ["p=1 a"], other)
        other.succeed()
    with pytest.raises(ConsumerFenced):
        publish(Kernel(ports_of(jvm)), output, ["p=1 a", "p=2 b"], zombie)
    zombie.fail("fenced", blame=False)
    if not other_commits:
        publish(kernel, output, ["p=1 a"], other)
        other.succeed()
    drain(kernel, source, output, options)
    assert counted(texts(kernel, output)) == Counter("ab")


def test_progress_stays_short_and_complete_when_two_runs_shorten_it_at_once(
    jvm: Jvm, kernel: Kernel, source: TableName, output: TableName
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

    slow = Kernel(ports_of(jvm), step=overtake)
    batch = consumer_of(slow, source, output, Options(limit=1)).claim()
    others.append(consumer_of(kernel, source, output).claim())
    publish(slow, output, [f"p=1 {slow.files.read_text(path)}" for path, _ in batch.files()], batch)
    assert others == []
    assert all(count == 1 for count in counted(texts(kernel, output)).values())
    assert {"a", "b"} <= set(counted(texts(kernel, output)))
    assert consume(kernel, source, output) == []
    assert len(history(kernel, output, 1)[0].sidecars["consumed"]) <= 3


def test_the_output_s_commits_decide_where_the_working_set_is_gone(
    jvm: Jvm, kernel: Kernel, source: TableName, output: TableName
) -> None:
    create_appendable(kernel, source, {"p=1": ["a"]})
    assert consume(kernel, source, output) == ["p=1/_commit=1"]
    WorkingSet(kernel, output).drop()
    assert consume(kernel, source, output) == []


# -- crashes ---------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def gateway(jvm: Jvm) -> list[object]:
    parameters = jvm.gateway.gateway_parameters
    return [parameters.port, parameters.auth_token]


def run_process(
    server: MetastoreServer, gateway: list[object], source: TableName, output: TableName, write: int | None
) -> bool:
    """A run in a process of its own that is killed after its n-th write; whether it was."""
    job = {
        "conf": server.client_conf,
        "gateway": gateway,
        "source": source.name,
        "output": output.name,
        "limit": 2,
        "write": write,
    }
    done = subprocess.run(
        [sys.executable, "-m", "kernel.consuming_worker", json.dumps(job)],
        env={**os.environ, "PYTHONPATH": str(_TESTS)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode != 0


def kill_at(
    writes: list[int],
    server: MetastoreServer,
    gateway: list[object],
    kernel: Kernel,
    source: TableName,
    output: TableName,
) -> int:
    """Kill a run after each of these writes, on one pair of tables; how many were killed before their end."""
    create_appendable(kernel, source, {"p=1": ["first"]})
    expected = Counter(["first"])
    kills = 0
    for write in writes:
        texts_of_run = [f"{write} {number}" for number in range(3)]
        append(kernel, source, {f"p={number}": [text] for number, text in enumerate(texts_of_run)})
        expected.update(texts_of_run)
        kills += run_process(server, gateway, source, output, write)
        found = counted(texts(kernel, output)) if kernel.exists(output) else Counter()
        assert all(count == 1 for count in found.values())
    drain(kernel, source, output)
    assert counted(texts(kernel, output)) == expected
    assert set(states(kernel, source, output).values()) == {PROCESSED}
    kernel.recover(output)
    kernel.recover(WorkingSet(kernel, output).name)
    assert_whole(kernel, output)
    assert_whole(kernel, WorkingSet(kernel, output).name)
    return kills


def test_killed_at_telling_writes(
    server: MetastoreServer, gateway: list[object], kernel: Kernel, source: TableName, output: TableName
) -> None:
    assert kill_at([2, 15, 22], server, gateway, kernel, source, output) == 3


@pytest.mark.slow
def test_killed_after_each_write(
    server: MetastoreServer, gateway: list[object], kernel: Kernel, source: TableName, output: TableName
) -> None:
    kills = kill_at(list(range(1, 60)), server, gateway, kernel, source, output)
    print(f"{kills} kills")
    assert kills > 20


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
