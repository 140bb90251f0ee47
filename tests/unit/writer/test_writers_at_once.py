"""Writers of one table that commit at the same moment."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kernel.support import COLUMNS, COMMIT, COMMIT_KEYS, create, rows_of
from lakemerge import compaction_thresholds, writer
from lakemerge.errors import (
    InvalidConfig,
    InvalidTransactionState,
    LakemergeError,
    MetastoreUnreachable,
    UnsupportedTable,
    WriterFenced,
)
from lakemerge.kernel import Kernel, TableDefinition, TableName
from lakemerge.kernel.ports import ReplyLost
from lakemerge.table_rules import RULES, TableRules
from lakemerge.testing import World
from lakemerge.writer.compaction import compact

NAME = TableName("s", "events")
_FOLDERS = 10


class Meanwhile:
    """What happens between what a writer has prepared and its look at the newest version."""

    def __init__(self) -> None:
        self.once: list[Callable[[], object]] = []

    def __call__(self, step: str) -> None:
        if step == "staged" and self.once:
            self.once.pop()()


@pytest.fixture
def world() -> World:
    return World()


def make_table(world: World) -> Kernel:
    kernel = Kernel(world.process())
    kernel.create(TableDefinition(NAME, COLUMNS, COMMIT_KEYS, commit_column=COMMIT)).commit()
    return kernel


@contextmanager
def opened(kernel: Kernel, name: str) -> Iterator[writer.Writer]:
    with writer.open(str(NAME), kernel, name=name) as stream:
        yield stream


def write(stream: writer.Writer, text: str, batch: int) -> int | None:
    stream.write([(text, "1")])
    return stream.commit(batch)


def facts(kernel: Kernel) -> list[str]:
    return sorted(line for rows in rows_of(kernel, NAME).values() for text in rows for line in text.split())


def test_of_two_writers_that_fold_the_same_progress_both_commit(world: World) -> None:
    """The second leaves the folding to the first, and has to ask for nothing of what it asked for before."""
    other_kernel = make_table(world)
    meanwhile = Meanwhile()
    kernel = Kernel(world.process(), step=meanwhile)
    with opened(kernel, "one") as one, opened(other_kernel, "other") as other:
        # each of the two has left a folder when it was opened
        for batch in range(1, _FOLDERS - 1):
            assert write(other, f"other-{batch}", batch)
        assert len(kernel.settled(NAME)[1].sidecars["consumed"]) == _FOLDERS
        meanwhile.once.append(lambda: [write(other, f"other-{batch}", batch) for batch in (9, 10)])
        assert write(one, "one-1", 1)
        assert meanwhile.once == []
        assert one.last_batch == 1
        assert write(one, "one-2", 2)
    assert facts(kernel) == sorted([*(f"other-{batch}" for batch in range(1, 11)), "one-1", "one-2"])
    # what both have come to is known to whoever opens them again
    with opened(kernel, "one") as one, opened(other_kernel, "other") as other:
        assert (one.last_batch, other.last_batch) == (2, 10)


def test_a_batch_that_is_committed_while_its_writers_name_is_opened_again_is_known_to_the_new_one(
    world: World,
) -> None:
    """The new writer has read the progress before; its own entry must not take the batch out of it."""
    older_kernel = make_table(world)
    meanwhile = Meanwhile()
    kernel = Kernel(world.process(), step=meanwhile)
    with opened(older_kernel, "one") as older:
        meanwhile.once.append(lambda: write(older, "one-1", 1))
        with opened(kernel, "one") as newer:
            assert meanwhile.once == []
            assert newer.last_batch == 1
            assert write(newer, "one-1", 1) is None
    assert facts(kernel) == ["one-1"]


def test_a_writer_without_a_name_takes_no_numbers_of_batches(world: World) -> None:
    kernel = make_table(world)
    with writer.open(str(NAME), kernel) as stream:
        stream.write([("a", "1")])
        with pytest.raises(InvalidConfig, match="without a name"):
            stream.commit(1)
        assert stream.commit() == 2
    assert facts(kernel) == ["a"]


def test_a_writer_is_of_an_append_table_of_orc(world: World) -> None:
    kernel = Kernel(world.process())
    create(kernel, NAME, {"p=1": ["old"]})
    with pytest.raises(UnsupportedTable, match="without one"):
        writer.open(str(NAME), kernel)


@pytest.mark.parametrize(
    "partition", [{}, {"q": "1"}, {"p": "1", "P": "2"}], ids=["none", "another", "twice"]
)
def test_a_writers_partition_names_each_column_once(world: World, partition: dict[str, str]) -> None:
    with pytest.raises(InvalidConfig, match="values of the partition columns p"):
        writer.open(str(NAME), make_table(world), partition=partition)


def test_what_was_begun_is_ended_before_the_next(world: World) -> None:
    with writer.open(str(NAME), make_table(world)) as stream:
        assert stream.commit() is None
        stream.begin()
        with pytest.raises(InvalidTransactionState, match="a transaction begun"):
            stream.begin()
    with pytest.raises(InvalidTransactionState, match="a closed one"):
        stream.begin()


def test_records_of_one_partition_are_one_file(world: World) -> None:
    kernel = make_table(world)
    with writer.open(str(NAME), kernel) as stream:
        stream.write([("a", "1"), ("b", "2")])
        stream.write([("c", "1")])
        stream.commit()
    state, manifest = kernel.settled(NAME)
    files = [kernel.files.list(state.layout.absolute(one.location)) for one in manifest.partitions.values()]
    assert sorted(map(len, files)) == [1, 1]
    assert facts(kernel) == ["a", "b", "c"]


def write_small(kernel: Kernel, number: int) -> None:
    with writer.open(str(NAME), kernel) as stream:
        for text in map(str, range(number)):
            stream.write([(text, "1")])
            stream.commit()


@pytest.mark.parametrize(
    ("options", "partitions"),
    [({}, 1), ({"compaction": "off"}, 4), ({"target_file_size": 1}, 4), ({"target_file_size": 2**20}, 1)],
)
def test_a_writers_commits_are_compacted_as_the_tables_model_says(
    world: World, options: dict[str, Any], partitions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction_thresholds, "PARTITIONS", 4)
    rules = {RULES: TableRules("append", options).text}
    kernel = Kernel(world.process())
    kernel.create(
        TableDefinition(NAME, COLUMNS, COMMIT_KEYS, commit_column=COMMIT, parameters=rules)
    ).commit()
    write_small(kernel, 4)
    assert len(kernel.settled(NAME)[1].partitions) == partitions
    assert facts(kernel) == ["0", "1", "2", "3"]


@pytest.mark.parametrize("other", ["merges", "writes"])
def test_a_merge_of_small_files_leaves_what_others_do_meanwhile(
    world: World, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, others = make_table(world), Kernel(world.process())
    write_small(kernel, 4)
    monkeypatch.setattr(compaction_thresholds, "PARTITIONS", 3)
    begin = kernel.begin

    def meanwhile(*args: Any, **kwargs: Any) -> Any:
        if other == "merges":
            assert compact(others, NAME)
        transaction = begin(*args, **kwargs)
        if other == "writes":
            state, manifest = others.settled(NAME)
            place = state.layout.absolute(next(iter(manifest.partitions.values())).location)
            kernel.files.write_text(f"{place}/foreign.orc", "by hand")
        return transaction

    monkeypatch.setattr(kernel, "begin", meanwhile)
    assert not compact(kernel, NAME)
    assert facts(kernel) == sorted([*map(str, range(4)), *(("by", "hand") if other == "writes" else ())])


def test_a_batch_whose_commit_had_no_answer_is_not_written_twice(world: World) -> None:
    kernel = make_table(world)
    ports = world.process()

    class Mute:
        """A metastore that does what it is asked for, and then answers no more until it is heard again."""

        silent = False

        def __getattr__(self, name: str) -> Any:
            found = getattr(ports.metastore, name)
            if not callable(found):
                return found

            def call(*args: Any, **kwargs: Any) -> Any:
                if self.silent:
                    raise MetastoreUnreachable(expected="a metastore", found="none", action="Wait.")
                found(*args, **kwargs) if name == "alter_table" else None
                self.silent = name == "alter_table" and armed
                if self.silent:
                    raise ReplyLost(expected="an answer", found="none", action="None.")
                return None if name == "alter_table" else found(*args, **kwargs)

            return call

    armed = False
    metastore: Any = Mute()
    stream = writer.open(str(NAME), Kernel(dataclasses.replace(ports, metastore=metastore)), name="one")
    armed = True
    stream.write([("a", "1")])
    with pytest.raises(LakemergeError):
        stream.commit(1)
    armed = metastore.silent = False
    assert stream.last_batch is None
    stream.write([("a", "1")])
    assert stream.commit(1) is None
    assert stream.last_batch == 1
    assert facts(kernel) == ["a"]


@pytest.mark.parametrize("batch", [None, 1], ids=["without a number", "a batch"])
def test_a_writer_whose_name_was_taken_over_writes_no_more(world: World, batch: int | None) -> None:
    kernel, others = make_table(world), Kernel(world.process())
    older = writer.open(str(NAME), kernel, name="one")
    older.write([("older", "1")])
    with writer.open(str(NAME), others, name="one") as newer:
        with pytest.raises(WriterFenced, match="a newer one was opened"):
            older.commit(batch)
        newer.write([("newer", "1")])
        assert newer.commit(batch)
    assert facts(kernel) == ["newer"]
    with pytest.raises(InvalidTransactionState, match="a closed one"):
        older.begin()


def test_nothing_that_was_written_makes_no_version(world: World) -> None:
    kernel = make_table(world)
    with writer.open(str(NAME), kernel) as stream:
        stream.begin()
        assert stream.commit() is None
        stream.begin()  # that one has ended
    assert kernel.open(NAME).version == 1
