"""Manifests that hold what changed: their size, how they are read, and what vacuum leaves of them."""

from __future__ import annotations

import copy
import datetime
import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel.support import NO_RETENTION, create, merge, rows_of, stage
from lakemerge.errors import CorruptTable, TableTooNew
from lakemerge.kernel import Kernel, TableName
from lakemerge.kernel.maintenance.history import history
from lakemerge.kernel.maintenance.vacuum import vacuum
from lakemerge.kernel.table import manifests
from lakemerge.kernel.table.manifest import Delta
from lakemerge.kernel.table.manifests import read_manifest
from lakemerge.testing import World

NAME = TableName("default", "t")


def kernel_of(world: World) -> Kernel:
    """A process that has read nothing yet."""
    ports = world.process()
    # the same files by another object, for which nothing has been read
    return Kernel(replace(ports, files=copy.copy(ports.files)))


@pytest.fixture
def _every_table_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "FEW_PARTITIONS", 2)
    monkeypatch.setattr(manifests, "LONGEST_CHAIN", 4)


def kept(kernel: Kernel, txn: str) -> dict[str, Any]:
    state = kernel.open(NAME)
    body: dict[str, Any] = json.loads(kernel.files.read_text(state.layout.manifest_of(txn)))
    return body


def sizes(kernel: Kernel) -> list[int]:
    """Bytes of the manifests, the oldest first."""
    layout = kernel.open(NAME).layout
    return [
        len(kernel.files.read_text(layout.manifest_of(manifest.txn)).encode())
        for manifest in reversed(history(kernel, NAME))
    ]


def test_the_size_goes_with_what_changed(world: World) -> None:
    kernel = kernel_of(world)
    create(kernel, NAME, {f"p={number}": ["x"] for number in range(3000)})
    for number in range(17):
        merge(kernel, NAME, {f"p={number}": ["y"]})
    first, *differences, whole, last = sizes(kernel)
    assert first > 400_000
    assert len(differences) == manifests.LONGEST_CHAIN
    assert max(differences) < 2_000
    assert whole > 400_000
    assert last < 2_000


def test_a_table_of_few_partitions_has_all_in_each(world: World) -> None:
    kernel = kernel_of(world)
    create(kernel, NAME, {f"p={number}": ["x"] for number in range(manifests.FEW_PARTITIONS)})
    merge(kernel, NAME, {"p=1": ["y"]})
    newest = history(kernel, NAME)[0]
    body = kept(kernel, newest.txn)
    assert (newest.delta, body["delta"], body["reader_features"]) == (None, None, [])
    assert len(newest.partitions) == manifests.FEW_PARTITIONS


def test_a_commit_that_changes_most_is_whole(world: World) -> None:
    kernel = kernel_of(world)
    rows = {f"p={number}": ["x"] for number in range(200)}
    create(kernel, NAME, rows)
    merge(kernel, NAME, dict(list(rows.items())[:101]))
    assert history(kernel, NAME)[0].delta is None
    merge(kernel, NAME, dict(list(rows.items())[:99]))
    assert history(kernel, NAME)[0].delta is not None
    # a reader would have to go through more than there is
    merge(kernel, NAME, dict(list(rows.items())[:2]))
    assert history(kernel, NAME)[0].delta is None


PARTITIONS = st.sampled_from([f"p={number}" for number in range(12)])
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["write", "write", "remove", "replace", "insert by another", "drop by another"]),
        st.sets(PARTITIONS, min_size=1, max_size=3),
    ),
    max_size=14,
)


@pytest.mark.usefixtures("_every_table_is_large")
@settings(deadline=None)
@given(steps=STEPS, vacuum_after=st.integers(0, 14))
def test_every_version_is_read_as_it_was_written(
    steps: list[tuple[str, set[str]]], vacuum_after: int
) -> None:
    world = World()
    kernel = kernel_of(world)
    rows = {f"p={number}": [f"first {number}"] for number in range(8)}
    create(kernel, NAME, rows)
    expected: dict[int, dict[str, list[str]]] = {1: dict(rows)}
    for number, (kind, names) in enumerate(steps):
        world.timeline.pass_by(60)
        if kind in ("write", "remove", "replace"):
            kernel.commit_external_changes(NAME, None)
            txn = kernel.begin(NAME, "merge")
            rows = {} if kind == "replace" else dict(rows)
            if kind == "replace":
                txn.replace_all()
            if kind == "remove":
                txn.remove(names)
                rows = {name: texts for name, texts in rows.items() if name not in names}
            else:
                rows |= {name: [f"{number}"] for name in names}
                stage(kernel, txn, {name: [f"{number}"] for name in names})
            expected[txn.commit()] = rows
        else:
            for row in world.metastore.partitions(NAME, sorted(names)):
                name = f"p={row.values[0]}"
                if kind == "drop by another":
                    world.metastore.drop_partition(NAME, row.values)
                    rows = {other: texts for other, texts in rows.items() if other != name}
                else:
                    text = f"{number} by another"
                    world.files.write_text(f"{row.location}/part-z{number}.orc", text)
                    rows = {**rows, name: sorted([*rows[name], text])}
            expected[kernel.commit_external_changes(NAME, None)[0].version] = rows
        if number == vacuum_after:
            vacuum(
                kernel_of(world),
                NAME,
                retention=datetime.timedelta(seconds=150),
                dry_run=False,
                allow_short_retention=True,
            )
    assert rows_of(kernel_of(world), NAME) == rows
    for version in history(kernel_of(world), NAME):
        assert sorted(version.partitions) == sorted(expected[version.version])
        fresh = kernel_of(world)
        assert read_manifest(fresh.files, fresh.open(NAME).layout, version.txn) == version


@pytest.mark.usefixtures("_every_table_is_large")
def test_vacuum_leaves_what_the_oldest_version_that_is_kept_needs(world: World) -> None:
    kernel = kernel_of(world)
    create(kernel, NAME, {f"p={number}": ["x"] for number in range(10)})
    for number in range(3):
        world.timeline.pass_by(60)
        merge(kernel, NAME, {f"p={number}": ["y"]})
    state = kernel.open(NAME)
    before = history(kernel, NAME)
    assert [manifest.delta is None for manifest in before] == [False, False, False, True]
    world.timeline.pass_by(60)
    assert vacuum(kernel, NAME, retention=NO_RETENTION, dry_run=True, allow_short_retention=True)
    assert not kernel.files.exists(state.layout.state_of(state.txn))
    vacuum(kernel, NAME, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)
    names = [entry.name for entry in kernel.files.list(state.layout.commits)]
    assert names == [f"{state.txn}.json", f"{state.txn}.state.json"]
    assert history(kernel_of(world), NAME) == before[:1]
    # and the next ones build on it
    for number in range(6):
        merge(kernel_of(world), NAME, {f"p={number}": ["z"]})
    assert len(history(kernel_of(world), NAME)[0].partitions) == 10
    vacuum(kernel_of(world), NAME, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)
    world.timeline.pass_by(60)
    vacuum(kernel_of(world), NAME, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)
    txn = kernel.open(NAME).txn
    left = {entry.name for entry in kernel.files.list(state.layout.commits)}
    assert left <= {f"{txn}.json", f"{txn}.state.json"}


@pytest.mark.usefixtures("_every_table_is_large")
def test_a_vacuum_that_dies_before_it_deletes_changes_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = kernel_of(world)
    create(kernel, NAME, {f"p={number}": ["x"] for number in range(10)})
    for number in range(3):
        world.timeline.pass_by(60)
        merge(kernel, NAME, {f"p={number}": ["y"]})
    before = history(kernel_of(world), NAME)
    world.timeline.pass_by(60)

    class _Dead(Exception):
        pass

    deleted: list[str] = []

    def die_at_a_manifest(path: str) -> None:
        if path.endswith(".json"):
            raise _Dead
        deleted.append(path)

    with monkeypatch.context() as patch:
        patch.setattr(world.files, "delete", die_at_a_manifest)
        with pytest.raises(_Dead):
            vacuum(kernel_of(world), NAME, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)
    assert history(kernel_of(world), NAME) == before


@pytest.mark.usefixtures("_every_table_is_large")
def test_a_manifest_that_is_gone_is_named(world: World) -> None:
    kernel = kernel_of(world)
    create(kernel, NAME, {f"p={number}": ["x"] for number in range(10)})
    for number in range(3):
        merge(kernel, NAME, {f"p={number}": ["y"]})
    state, gone = kernel.open(NAME), history(kernel, NAME)[2]
    kernel.files.delete(state.layout.manifest_of(gone.txn))
    fresh = kernel_of(world)
    with pytest.raises(CorruptTable, match=r"that .* is the difference to"):
        read_manifest(fresh.files, state.layout, state.txn)


@pytest.mark.usefixtures("_every_table_is_large")
def test_a_writer_that_lost_a_race_writes_the_difference_to_the_winner(world: World) -> None:
    other = kernel_of(world)
    create(other, NAME, {f"p={number}": ["x"] for number in range(10)})
    races = iter([{"p=8": ["theirs"]}, {"p=9": ["theirs"]}])

    def overtake(step: str) -> None:
        if step == "manifest written" and (rows := next(races, None)):
            merge(other, NAME, rows)

    kernel = kernel_of(world)
    kernel.step = overtake
    txn = kernel.begin(NAME, "merge")
    stage(kernel, txn, {"p=1": ["mine"]})
    assert txn.commit() == 4
    newest = history(kernel_of(world), NAME)[0]
    assert newest.delta == Delta(whole=history(other, NAME)[-1].txn, steps=3, states=3)
    found = rows_of(kernel_of(world), NAME)
    assert (found["p=1"], found["p=8"], found["p=9"]) == (["mine"], ["theirs"], ["theirs"])


@pytest.mark.usefixtures("_every_table_is_large")
def test_a_reader_without_the_feature_refuses_a_difference(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = kernel_of(world)
    create(kernel, NAME, {f"p={number}": ["x"] for number in range(10)})
    merge(kernel, NAME, {"p=1": ["y"]})
    body = kept(kernel, history(kernel, NAME)[0].txn)
    monkeypatch.setattr("lakemerge.kernel.table.manifest.READER_FEATURES", frozenset())
    older = kernel_of(world)
    with pytest.raises(TableTooNew, match="partition_deltas"):
        older.open(NAME)
    # which reads the partitions before it comes to the features
    assert list(body["partitions"]) == ["p=1"]


@pytest.mark.usefixtures("_every_table_is_large")
def test_a_manifest_of_before_is_followed_on(world: World) -> None:
    kernel = kernel_of(world)
    create(kernel, NAME, {f"p={number}": ["x"] for number in range(10)})
    state = kernel.open(NAME)
    path = state.layout.manifest_of(state.txn)
    body = json.loads(kernel.files.read_text(path))
    del body["delta"]
    kernel.files.write_text(path, json.dumps(body))
    merge(kernel_of(world), NAME, {"p=1": ["y"]})
    newest = history(kernel_of(world), NAME)[0]
    assert newest.delta is not None
    assert len(newest.partitions) == 10


def test_the_versions_are_read_one_file_each(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = kernel_of(world)
    create(kernel, NAME, {f"p={number}": ["x"] for number in range(150)})
    for number in range(40):
        merge(kernel, NAME, {f"p={number}": ["y"]})
    reads: Counter[str] = Counter()
    read_text = world.files.read_text

    def count(path: str) -> str:
        reads.update([path] if "/commits/" in path else [])
        return read_text(path)

    monkeypatch.setattr(world.files, "read_text", count)
    assert len(history(kernel_of(world), NAME)) == 41
    assert max(reads.values()) <= 3


@pytest.mark.usefixtures("_every_table_is_large")
def test_a_version_with_a_name_stays_readable_when_those_around_it_go(world: World) -> None:
    kernel = kernel_of(world)
    create(kernel, NAME, {f"p={number}": ["x"] for number in range(10)})
    merge(kernel, NAME, {"p=1": ["y"]})
    named = history(kernel, NAME)[0]
    assert named.delta is not None
    txn = kernel.begin(NAME, "tag")
    txn.set_reference("kept", named.txn)
    txn.commit()
    for number in range(6):
        world.timeline.pass_by(60)
        merge(kernel, NAME, {f"p={number}": ["z"]})
    for _ in range(2):
        world.timeline.pass_by(60)
        vacuum(kernel_of(world), NAME, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)
        fresh = kernel_of(world)
        assert read_manifest(fresh.files, fresh.open(NAME).layout, named.txn) == named
    assert len(history(kernel_of(world), NAME)) == 1


def test_a_version_with_a_name_is_not_taken_for_the_work_of_a_dead_writer(world: World) -> None:
    kernel = kernel_of(world)
    create(kernel, NAME, {"p=1": ["x"]})
    txn = kernel.begin(NAME, "tag")
    txn.set_reference("kept", history(kernel, NAME)[0].txn)
    txn.commit()
    merge(kernel, NAME, {"p=1": ["y"]})
    for _ in range(3):
        world.timeline.pass_by(60)
        vacuum(kernel_of(world), NAME, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)
    assert kernel_of(world).open(NAME).version == 3
