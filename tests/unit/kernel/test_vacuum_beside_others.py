"""What a vacuum finds at its second look, and what it deletes of what commits leave beside their rows."""

from __future__ import annotations

import dataclasses
import datetime

import pytest

from kernel.meanwhile import beside
from kernel.support import (
    COLUMNS,
    OTHER_KEYS,
    add_delta,
    add_overlay,
    create,
    locations,
    make_plain,
    merge,
    move_into_base,
    rows_of,
    stage,
)
from lakemerge.kernel import (
    Kernel,
    TableName,
    drop,
    vacuum,
)
from lakemerge.kernel.table.manifest import FENCE
from lakemerge.testing import World

NAME = TableName("s", "t")
HOUR = datetime.timedelta(hours=1)


def vacuum_all(kernel: Kernel) -> list[str]:
    found = vacuum(kernel, NAME, retention=HOUR, dry_run=False, allow_short_retention=True)
    return [item.path for item in found]


def leave(world: World, kernel: Kernel) -> str:
    """A transaction that has staged something, and has died long ago; where that is."""
    dead = Kernel(world.process())
    transaction = dead.begin(NAME, "merge")
    stage(dead, transaction, {"p=1": ["never"]})
    world.running.discard(dead.host.owner().pid)
    world.timeline.pass_by(7200)
    return transaction.layout.data_of(transaction.txn)


def replace(kernel: Kernel) -> None:
    with kernel.begin(NAME, "replace") as transaction:
        transaction.replace_all()
        transaction.set_schema(COLUMNS, OTHER_KEYS)
        stage(kernel, transaction, {"q=1/r=x": ["theirs"]})
        transaction.commit()


def test_a_vacuum_that_cannot_fence_off_a_dead_writer_deletes_nothing(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    left = leave(world, kernel)
    looking = beside(world, "metastore", "alter_table", lambda: replace(kernel))
    assert vacuum_all(looking) == []
    assert kernel.files.exists(f"{left}/p=1/part-0.orc") or kernel.files.list(left)
    assert left in vacuum_all(kernel)
    assert kernel.settled(NAME)[1].operation == FENCE


def test_a_vacuum_leaves_the_next_table_of_the_name_alone(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    layout = kernel.open(NAME).layout
    kernel.files.write_text(layout.creation_of("20200101T000000-000000000000"), "id")
    world.timeline.pass_by(7200)

    def make_next() -> None:
        drop(kernel, NAME)
        create(kernel, NAME, {"p=1": ["next"]})
        world.timeline.pass_by(7200)

    looking = beside(world, "files", "delete", make_next, when=lambda path: "/creations/" in path)
    assert vacuum_all(looking) == []
    assert rows_of(kernel, NAME) == {"p=1": ["next"]}


def test_a_file_among_the_folders_of_transactions_is_none_of_them(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    path = f"{kernel.open(NAME).layout.data}/README"
    kernel.files.write_text(path, "what is here")
    world.timeline.pass_by(7200)
    assert path not in vacuum_all(kernel)
    assert kernel.files.exists(path)
    assert kernel.open(NAME).version == 1


def test_a_vacuum_makes_no_version_for_deltas_that_are_not_due(kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    add_overlay(kernel, NAME)
    add_delta(kernel, NAME, "delta")
    version = move_into_base(kernel, NAME, {"p=1": ["new"]})
    vacuum_all(kernel)
    assert kernel.open(NAME).version == version


def test_files_of_writes_that_never_ended_go(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    layout = kernel.open(NAME).layout
    halves = [f"{layout.open}/.half", f"{layout.pins}/.half"]
    for path in halves:
        kernel.files.write_text(path, "{")
    assert not set(halves) & set(vacuum_all(kernel)), "they may be written at this moment"
    world.timeline.pass_by(7200)
    assert set(halves) <= set(vacuum_all(kernel))


def test_the_empty_directories_of_commits_go(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"]})
    empty = kernel.open(NAME).layout.empty_of(kernel.open(NAME).txn)
    assert empty not in vacuum_all(kernel), "a query may have planned with it"
    world.timeline.pass_by(7200)
    assert empty in vacuum_all(kernel)


@pytest.mark.parametrize("kind", ["MANAGED_TABLE", "EXTERNAL_TABLE"])
def test_the_files_that_an_external_table_had_before_its_adoption_stay(
    world: World, kernel: Kernel, kind: str
) -> None:
    """They may be of use to somebody else."""
    make_plain(kernel, NAME, {"p=1": ["plain"], "p=2": ["plain"]})
    world.metastore.alter_table(NAME, dataclasses.replace(kernel.table(NAME), kind=kind))
    place = locations(kernel, NAME)["p=1"]
    merge(kernel, NAME, {"p=1": ["new"]})
    for _ in range(2):
        world.timeline.pass_by(7200)
        vacuum_all(kernel)
    assert bool(kernel.files.list(place)) == (kind == "EXTERNAL_TABLE")
    assert rows_of(kernel, NAME) == {"p=1": ["new"], "p=2": ["plain"]}


def test_files_that_the_drop_of_an_earlier_table_has_kept_stay(world: World, kernel: Kernel) -> None:
    """The manifests that name them lie beside those of the table that has the name now."""
    make_plain(kernel, NAME, {"p=1": ["plain"], "p=2": ["plain"]})
    place = locations(kernel, NAME)["p=1"]
    merge(kernel, NAME, {"p=1": ["new"]})
    drop(kernel, NAME, keep_files=True)
    create(kernel, NAME, {"p=1": ["next"]})
    for _ in range(2):
        world.timeline.pass_by(7200)
        vacuum_all(kernel)
    assert kernel.files.list(place)
    assert rows_of(kernel, NAME) == {"p=1": ["next"]}
