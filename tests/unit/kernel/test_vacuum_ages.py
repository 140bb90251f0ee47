"""Vacuum goes by the times of files: a directory's time is not known everywhere, as on an object store."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from kernel.support import create, merge, stage
from lakemerge.errors import InvalidConfig
from lakemerge.kernel import Kernel, TableName
from lakemerge.kernel.maintenance.vacuum import vacuum
from lakemerge.testing import World

NAME = TableName("s", "t")
WEEK = datetime.timedelta(days=7)


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
