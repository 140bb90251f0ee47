"""Vacuum goes by the times of files: a directory's time is not known everywhere, as on an object store."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any
from weakref import WeakKeyDictionary

import pytest

from kernel.meanwhile import Meanwhile, beside
from kernel.support import (
    NO_RETENTION,
    assert_nothing_orphaned,
    create,
    make_plain,
    merge,
    rows_of,
    stage,
)
from lakemerge.errors import InvalidConfig
from lakemerge.kernel import Kernel, TableName, history
from lakemerge.kernel.maintenance.vacuum import vacuum
from lakemerge.kernel.table import manifests
from lakemerge.testing import World

NAME, OTHER = TableName("s", "t"), TableName("s", "u")
WEEK, HOUR = datetime.timedelta(days=7), datetime.timedelta(hours=1)


def leave(world: World, text: str) -> str:
    """A process stages something and ends; returns where it is."""
    ports = world.process()
    kernel = Kernel(ports)
    transaction = kernel.begin(NAME, "merge")
    stage(kernel, transaction, {"p=1": [text]})
    world.running.discard(ports.host.owner().pid)
    return transaction.layout.data_of(transaction.txn)


def test_what_was_left_is_kept_for_the_retention_time(world: World, kernel: Kernel) -> None:
    """Directories in memory have no time, as on S3."""
    create(kernel, NAME, {"p=1": ["old"]})
    place = leave(world, "left")
    world.timeline.pass_by(3600)
    merge(kernel, NAME, {"p=1": ["new"]})
    vacuum(kernel, NAME, retention=WEEK, dry_run=False)
    assert kernel.files.exists(f"{place}/p=1/part-0.orc")
    world.timeline.pass_by(WEEK.total_seconds())
    vacuum(kernel, NAME, retention=WEEK, dry_run=False)
    assert not kernel.files.exists(place)


def test_a_record_is_as_old_as_the_last_file_of_its_transaction(world: World) -> None:
    """Its writer slept between the two, and goes on."""
    sound = Kernel(world.process())
    for name in (NAME, OTHER):
        create(sound, name, {"p=1": ["old"]})

    def sleep() -> None:
        world.timeline.pass_by(2 * WEEK.total_seconds())

    written: list[str] = []

    def reached(step: str) -> None:
        written.extend([step] if step == "manifest written" else [])
        if len(written) == 2:
            written.clear()
            for name in (NAME, OTHER):
                vacuum(sound, name, retention=WEEK, dry_run=False)

    ports = world.process()
    files: Any = Meanwhile(ports.files, "write_text", sleep, when=is_of_manifest)
    writer = Kernel(dataclasses.replace(ports, files=files), step=reached)
    txns = [writer.begin(name, "merge") for name in (NAME, OTHER)]
    for txn in txns:
        stage(writer, txn, {"p=1": ["new"]})
    writer.commit_together(txns)
    for name in (NAME, OTHER):
        assert rows_of(sound, name) == {"p=1": ["new"]}


def is_of_manifest(path: str, _: str) -> bool:
    return path.endswith(".json") and not path.endswith(".group.json")


def test_an_empty_directory_is_as_old_as_its_commit(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    with kernel.begin(NAME, "merge") as transaction:
        transaction.read(["p=1"])
        transaction.remove(["p=1"])
        transaction.commit()
    empty = transaction.layout.empty_of(transaction.txn)
    vacuum(kernel, NAME, retention=WEEK, dry_run=False)
    assert kernel.files.exists(empty)
    world.timeline.pass_by(WEEK.total_seconds() + 1)
    vacuum(kernel, NAME, retention=WEEK, dry_run=False)
    assert not kernel.files.exists(empty)


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_short_retention_has_to_be_allowed(kernel: Kernel, dry_run: bool) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    merge(kernel, NAME, {"p=1": ["new"]})
    for short in (datetime.timedelta(0), datetime.timedelta(hours=23)):
        arguments: dict[str, Any] = {"retention": short, "dry_run": dry_run}
        with pytest.raises(InvalidConfig, match="24 hours or more"):
            vacuum(kernel, NAME, **arguments)
        vacuum(kernel, NAME, **arguments, allow_short_retention=True)
    with pytest.raises(InvalidConfig, match="0 or more"):
        vacuum(kernel, NAME, retention=-WEEK, dry_run=dry_run, allow_short_retention=True)
    vacuum(kernel, NAME, retention=datetime.timedelta(hours=24), dry_run=dry_run)


def test_a_version_of_long_ago_whose_files_are_in_use_is_no_dead_transaction(
    world: World, kernel: Kernel
) -> None:
    """Its manifest is gone, and only the places of partitions tell that it was committed."""
    create(kernel, NAME, {"p=1": ["old"], "p=2": ["kept"]})
    for number in range(3):
        merge(kernel, NAME, {"p=1": [f"new {number}"]})
    first = history(kernel, NAME)[-1].txn
    for _ in range(3):
        world.timeline.pass_by(3600)
        vacuum(kernel, NAME, retention=HOUR, dry_run=False, allow_short_retention=True)
    assert not kernel.files.exists(kernel.open(NAME).layout.manifest_of(first))
    version = kernel.open(NAME).version
    world.timeline.pass_by(3600)
    vacuum(kernel, NAME, retention=HOUR, dry_run=False, allow_short_retention=True)
    assert kernel.open(NAME).version == version == 4
    assert rows_of(kernel, NAME) == {"p=1": ["new 2"], "p=2": ["kept"]}


def test_a_file_beside_a_partition_that_is_in_use_stays(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"], "p=2": ["kept"]})
    state = kernel.open(NAME)
    mark = f"{state.layout.data_of(state.txn)}/_SUCCESS"
    kernel.files.write_text(mark, "")
    merge(kernel, NAME, {"p=1": ["new"]})
    for _ in range(2):
        world.timeline.pass_by(7200)
        vacuum(kernel, NAME, retention=HOUR, dry_run=False, allow_short_retention=True)
    assert not kernel.files.list(f"{state.layout.data_of(state.txn)}/p=1")
    assert kernel.files.exists(mark)
    assert rows_of(kernel, NAME) == {"p=1": ["new"], "p=2": ["kept"]}


def test_a_manifest_that_stays_is_whole(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """One may be too young to go although no version is kept that is as old, because time passes within a vacuum.

    What the table had before it was adopted is known by it alone, when the versions before it are gone.
    """
    monkeypatch.setattr(manifests, "FEW_PARTITIONS", 0)
    kernel = Kernel(world.process())
    make_plain(kernel, NAME, {f"p={number}": ["old"] for number in range(9)})
    merge(kernel, NAME, {"p=1": ["first"]})
    world.timeline.pass_by(1000)
    for text in ("second", "third"):
        merge(kernel, NAME, {"p=1": [text]})
        world.timeline.pass_by(1)
    with kernel.begin(NAME, "delete") as transaction:
        transaction.read()
        transaction.remove(["p=0"])
        transaction.commit()
    world.timeline.pass_by(47)
    slow = beside(
        world,
        "files",
        "write_text",
        lambda: world.timeline.pass_by(5),
        when=lambda path, *_: "/seen/" in path,
    )
    retention = datetime.timedelta(seconds=50)
    vacuum(slow, NAME, retention=retention, dry_run=False, allow_short_retention=True)
    world.timeline.pass_by(1000)
    # the next vacuum is another process's, which has read nothing
    monkeypatch.setattr(manifests, "_STORES", WeakKeyDictionary())
    assert kernel.files.list(f"{kernel.default_root(NAME)}/p=0")
    vacuum(kernel, NAME, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)
    assert kernel.files.list(f"{kernel.default_root(NAME)}/p=0") == []
    assert_nothing_orphaned(kernel, NAME)
