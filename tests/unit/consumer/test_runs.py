"""Runs of consumers in memory: how long they may have partitions, and how they end."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from kernel.consuming import consume, consumer_of, publish
from kernel.support import Died, append, create, create_appendable, make_plain, merge, stage
from lakemerge.consumer import Options, Run, record
from lakemerge.consumer.working_set import AVAILABLE, IN_PROGRESS, PROCESSED
from lakemerge.errors import ConsumerFenced, MetastoreUnreachable, SourceChanged
from lakemerge.kernel import Kernel, TableDefinition, TableName, drop
from lakemerge.kernel.ports.names import DEFAULT_PARTITION
from lakemerge.testing import World

SOURCE, OUTPUT = TableName("s", "raw"), TableName("s", "clean")


def test_a_run_that_takes_longer_than_the_timeout_loses_its_partitions() -> None:
    world = World()
    kernel = Kernel(world.process())
    create_appendable(kernel, SOURCE, {"p=1": ["a"]})
    consumer = consumer_of(kernel, SOURCE, OUTPUT, Options(timeout=datetime.timedelta(hours=12)))
    consumer.claim()
    world.timeline.pass_by(11 * 3600)
    assert [row.state for row in consumer.refresh()] == [IN_PROGRESS]
    world.timeline.pass_by(2 * 3600)
    (row,) = consumer.refresh()
    assert (row.state, row.failures) == (AVAILABLE, 1)
    assert row.changed_at.startswith("2024-01-01T13:")


def test_a_run_that_ends_while_no_metastore_answers_holds_its_partitions_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    kernel = Kernel(world.process())
    create_appendable(kernel, SOURCE, {"p=1": ["a"]})
    batch = consumer_of(kernel, SOURCE, OUTPUT).claim()

    def down(*_: Any, **__: Any) -> Any:
        raise MetastoreUnreachable(expected="a metastore", found="none", action="Wait.")

    with monkeypatch.context() as patch:
        for call in ("get_table", "database_location"):
            patch.setattr(world.metastore, call, down)
        with pytest.raises(MetastoreUnreachable):
            batch.fail("the metastore is down")
    other = consumer_of(Kernel(world.process()), SOURCE, OUTPUT)
    assert [row.state for row in other.refresh()] == [AVAILABLE]


def test_a_look_at_a_source_that_has_not_changed_makes_no_version() -> None:
    """Orchestrators look every minute."""
    world = World()
    kernel = Kernel(world.process())
    create_appendable(kernel, SOURCE, {"p=1": ["a"]})
    consumer = consumer_of(kernel, SOURCE, OUTPUT)
    shown = consumer.refresh()
    (working_set,) = [
        TableName("s", row.name)
        for row in kernel.metastore.table_summaries("s")
        if row.name.startswith(OUTPUT.name)
    ]
    version = kernel.open(working_set).version
    for _ in range(3):
        world.timeline.pass_by(60)
        assert consumer.refresh() == shown
    assert kernel.open(working_set).version == version


def test_files_that_another_program_adds_after_a_run_has_taken_their_partition_are_not_read() -> None:
    kernel = Kernel(World().process())
    create_appendable(kernel, SOURCE, {"p=1": ["a"]})
    batch = consumer_of(kernel, SOURCE, OUTPUT).claim()
    ((file, partition),) = batch.files()
    kernel.files.write_text(file.replace("part-0", "part-1"), "b")
    with pytest.raises(SourceChanged, match="not to change after this run took them"):
        batch.files()
    batch.fail("its files have changed")
    (again,) = consumer_of(kernel, SOURCE, OUTPUT).claim().items
    assert again.partition == partition


def test_what_other_programs_leave_beside_the_rows_of_a_working_set_is_not_read() -> None:
    kernel = Kernel(World().process())
    create_appendable(kernel, SOURCE, {"p=1": ["a"]})
    consumer = consumer_of(kernel, SOURCE, OUTPUT)
    shown = consumer.refresh()
    table = kernel.table(consumer.working_set.name)
    kernel.files.write_text(f"{table.location}/_SUCCESS", "")
    kernel.files.write_text(f"{table.location}/.rows.txt.crc", "not a row")
    assert consumer.refresh() == shown


def test_a_partition_that_is_rewritten_while_a_run_has_it_waits_for_the_run() -> None:
    kernel = Kernel(World().process())
    create(kernel, SOURCE, {"p=1": ["a"]})
    batch = consumer_of(kernel, SOURCE, OUTPUT, Options(on_rewrite="reprocess")).claim()
    merge(kernel, SOURCE, {"p=1": ["b"]})
    consumer = consumer_of(kernel, SOURCE, OUTPUT, Options(on_rewrite="reprocess"))
    assert [row.state for row in consumer.refresh()] == [IN_PROGRESS]
    assert consumer.claim().items == ()
    batch.fail("its partition was rewritten")
    assert [row.state for row in consumer.refresh()] == [AVAILABLE]


def test_a_run_that_has_nothing_records_nothing() -> None:
    kernel = Kernel(World().process())
    create_appendable(kernel, SOURCE, {"p=1": ["a"]})
    consume(kernel, SOURCE, OUTPUT)
    before = kernel.settled(OUTPUT)[1].sidecars
    empty = consumer_of(kernel, SOURCE, OUTPUT).claim()
    with kernel.begin(OUTPUT, "append") as transaction:
        record(kernel, transaction, [empty])
        stage(kernel, transaction, {f"c={DEFAULT_PARTITION}": ["by hand"]})
        transaction.commit()
    assert kernel.settled(OUTPUT)[1].sidecars == before


def test_a_run_does_not_commit_after_a_reset_that_died(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has begun anew, and has not taken the partitions from the run yet."""
    kernel = Kernel(World().process())
    create_appendable(kernel, SOURCE, {"p=1": ["a"]})
    consume(kernel, SOURCE, OUTPUT)
    append(kernel, SOURCE, {"p=2": ["b"]})
    batch, other = consumer_of(kernel, SOURCE, OUTPUT).claim(), consumer_of(kernel, SOURCE, OUTPUT)

    def die(*_: Any) -> Any:
        raise Died

    monkeypatch.setattr(other.working_set, "update", die)
    with pytest.raises(Died):
        other.reset()
    with pytest.raises(ConsumerFenced, match="reset"):
        publish(kernel, OUTPUT, ["b"], batch)


def test_a_run_of_one_commit_takes_suspects_if_there_is_nothing_else() -> None:
    kernel = Kernel(World().process())
    create_appendable(kernel, SOURCE, {"p=1": ["a"]})
    consumer_of(kernel, SOURCE, OUTPUT).claim().fail("its rows are wrong")
    (batches,) = Run([consumer_of(kernel, SOURCE, OUTPUT)], once=True)
    assert len(batches[0].items) == 1


def test_what_a_run_has_committed_it_does_not_commit_again() -> None:
    """For instance because the answer to its commit was lost."""
    kernel = Kernel(World().process())
    create_appendable(kernel, SOURCE, {"p=1": ["a"]})
    batch = consumer_of(kernel, SOURCE, OUTPUT).claim()
    publish(kernel, OUTPUT, ["a"], batch)
    with pytest.raises(ConsumerFenced, match="another run has committed them"):
        publish(kernel, OUTPUT, ["a"], batch)


def test_a_rebuild_takes_what_another_run_has_and_fences_it() -> None:
    kernel = Kernel(World().process())
    create_appendable(kernel, SOURCE, {"p=1": ["a"]})
    batch = consumer_of(kernel, SOURCE, OUTPUT).claim()
    rebuild = consumer_of(kernel, SOURCE, OUTPUT).claim(rebuild=True)
    assert [item.partition for item in rebuild.items] == [item.partition for item in batch.items]
    with pytest.raises(ConsumerFenced):
        publish(kernel, OUTPUT, ["a"], batch)
    publish(kernel, OUTPUT, ["a"], rebuild, rebuild=True)


def test_two_first_runs_at_once_count_from_the_same_beginning() -> None:
    kernel = Kernel(World().process())
    create_appendable(kernel, SOURCE, {"p=1": ["a"], "p=2": ["b"]})
    one, other = (consumer_of(kernel, SOURCE, OUTPUT, Options(limit=1)).claim() for _ in range(2))
    assert one.items != other.items
    for batch in (one, other):
        publish(kernel, OUTPUT, [batch.items[0].partition], batch)
        batch.succeed()
    shown = consumer_of(kernel, SOURCE, OUTPUT).refresh()
    assert [row.state for row in shown] == [PROCESSED, PROCESSED]
    assert consume(kernel, SOURCE, OUTPUT) == []


def test_what_is_committed_is_processed_though_its_run_died_before_it_said_so() -> None:
    kernel = Kernel(World().process())
    create_appendable(kernel, SOURCE, {"p=1": ["a"], "p=2": ["b"]})
    batch = consumer_of(kernel, SOURCE, OUTPUT, Options(limit=1)).claim()
    publish(kernel, OUTPUT, ["a"], batch)
    shown = {row.partition: row.state for row in consumer_of(kernel, SOURCE, OUTPUT).refresh()}
    assert shown.pop(batch.items[0].partition) == PROCESSED
    assert list(shown.values()) == [AVAILABLE]


def test_a_consumer_that_has_never_run_has_nothing_to_show() -> None:
    kernel = Kernel(World().process())
    create_appendable(kernel, SOURCE, {"p=1": ["a"]})
    assert consumer_of(kernel, SOURCE, OUTPUT).refresh() == []


def test_a_run_ends_though_its_source_has_become_a_plain_table() -> None:
    kernel = Kernel(World().process())
    create_appendable(kernel, SOURCE, {"p=1": ["a"]})
    batch = consumer_of(kernel, SOURCE, OUTPUT).claim()
    publish(kernel, OUTPUT, ["a"], batch)
    drop(kernel, SOURCE)
    make_plain(kernel, SOURCE, {"p=1": ["b"]})
    batch.consumer.pin(batch.progress_after)
    assert not kernel.files.list(kernel.layout_of(TableDefinition(SOURCE, ())).pins)
