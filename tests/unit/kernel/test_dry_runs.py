"""Dry runs: they change nothing, neither in the metastore nor in files, whatever others have left to finish."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from kernel.support import (
    COLUMNS,
    NO_RETENTION,
    OTHER_KEYS,
    Died,
    add_delta,
    add_overlay,
    create,
    make_plain,
    merge,
    move_into_base,
    stage,
)
from lakemerge.errors import InvalidTransactionState, LakemergeError, TableNotFound, UnsupportedTable
from lakemerge.kernel import Kernel, ReadOnlyKernel, TableDefinition, TableName
from lakemerge.kernel.maintenance.vacuum import vacuum
from lakemerge.testing import World

NAME = TableName("s", "t")
_WRITES = {
    "create_table",
    "alter_table",
    "drop_table",
    "add_partitions",
    "alter_partitions",
    "drop_partition",
    "delete_table_column_statistics",
    "delete_partition_column_statistics",
    "lock",
    "unlock",
    "write_text",
    "make_directory",
    "delete",
    "delete_if_empty",
    "copy",
    "move",
    "now",  # it writes a file
}


class ReadOnly:
    """A port that may only be asked."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        assert name not in _WRITES, f"a dry run has called {name}"
        return getattr(self._inner, name)


def looking(world: World) -> ReadOnlyKernel:
    """A kernel of a process that may only look."""
    ports = world.process()
    metastore: Any = ReadOnly(ports.metastore)
    files: Any = ReadOnly(ports.files)
    return ReadOnlyKernel(dataclasses.replace(ports, metastore=metastore, files=files))


def all_there_is(world: World) -> tuple[object, object]:
    rows = {
        name: (entry.table, dict(entry.partitions), set(entry.statistics))
        for name, entry in world.metastore._entries.items()
    }
    return rows, {path: dict(entries) for path, entries in world.files._folders.items()}


def dies_at(world: World, step: str, act: Callable[[Kernel], object]) -> None:
    """A process ends at a step."""

    def reached(name: str) -> None:
        if name == step:
            raise Died

    ports = world.process()
    with contextlib.suppress(Died):
        act(Kernel(ports, step=reached))
    world.running.discard(ports.host.owner().pid)
    world.timeline.pass_by(3600)


def superseded(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, {"p=1": ["old"], "p=2": ["old"]})
    merge(kernel, NAME, {"p=1": ["new"]})


def unpartitioned(world: World, kernel: Kernel) -> None:
    create(kernel, NAME, {"": ["old"]})
    merge(kernel, NAME, {"": ["new"]})


def claimed(world: World, kernel: Kernel) -> None:
    superseded(world, kernel)
    dies_at(world, "claimed", lambda other: merge(other, NAME, {"p=2": ["claimed"]}))


def staged_and_left(world: World, kernel: Kernel) -> None:
    superseded(world, kernel)
    dies_at(world, "staged", lambda other: merge(other, NAME, {"p=2": ["never"]}))


def changed_by_hand(world: World, kernel: Kernel) -> None:
    superseded(world, kernel)
    state, manifest = kernel.settled(NAME)
    place = state.layout.absolute(manifest.partitions["p=1"].location)
    world.files.write_text(f"{place}/foreign.orc", "by hand")
    world.metastore.drop_partition(NAME, ["2"])


def plain(world: World, kernel: Kernel) -> None:
    make_plain(kernel, NAME, {"p=1": ["plain"]})


def half_dropped(world: World, kernel: Kernel) -> None:
    superseded(world, kernel)
    kernel.drops.prepare(kernel.table(NAME))
    world.timeline.pass_by(3600)


def dropped(world: World, kernel: Kernel) -> None:
    half_dropped(world, kernel)
    world.metastore.drop_table(NAME)


def _rebuild(kernel: Kernel) -> None:
    transaction = kernel.begin(NAME, "replace")
    transaction.replace_all()
    transaction.set_schema(COLUMNS, OTHER_KEYS)
    stage(kernel, transaction, {"q=1/r=x": ["new"]})
    transaction.commit()


def row_missing(world: World, kernel: Kernel) -> None:
    superseded(world, kernel)
    dies_at(world, "row moved", _rebuild)


def held_deltas(world: World, kernel: Kernel) -> None:
    superseded(world, kernel)
    add_overlay(kernel, NAME)
    add_delta(kernel, NAME, "delta")
    move_into_base(kernel, NAME, {"p=1": ["new"], "p=2": ["old"]})
    world.timeline.pass_by(3600)


PREPARATIONS = {
    prepare.__name__: prepare
    for prepare in (
        superseded,
        unpartitioned,
        claimed,
        staged_and_left,
        changed_by_hand,
        plain,
        half_dropped,
        dropped,
        row_missing,
        held_deltas,
    )
}


def _begin(kernel: Kernel) -> None:
    with pytest.raises(InvalidTransactionState):
        kernel.begin(NAME, "merge")
    with pytest.raises(InvalidTransactionState):
        kernel.create(TableDefinition(NAME, COLUMNS))
    with pytest.raises(InvalidTransactionState):
        kernel.recover(NAME)
    with pytest.raises(InvalidTransactionState):
        kernel.commit_external_changes(NAME, None)


LOOKS: dict[str, Callable[[Kernel], object]] = {
    "vacuum": lambda kernel: vacuum(
        kernel, NAME, retention=NO_RETENTION, dry_run=True, allow_short_retention=True
    ),
    "exists": lambda kernel: kernel.exists(NAME),
    "settled": lambda kernel: kernel.settled(NAME),
    "refused": _begin,
}


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("before", PREPARATIONS)
def test_a_dry_run_changes_nothing(world: World, kernel: Kernel, before: str, look: str) -> None:
    PREPARATIONS[before](world, kernel)
    there = all_there_is(world)
    with contextlib.suppress(TableNotFound, UnsupportedTable):
        LOOKS[look](looking(world))
    assert all_there_is(world) == there


def test_an_ordinary_kernel_changes_nothing_in_a_dry_run_either(world: World, kernel: Kernel) -> None:
    claimed(world, kernel)
    there = all_there_is(world)
    assert vacuum(Kernel(world.process()), NAME, retention=NO_RETENTION, allow_short_retention=True)
    assert all_there_is(world) == there


@pytest.mark.parametrize("before", ["superseded", "unpartitioned", "staged_and_left"])
def test_a_dry_run_says_what_a_vacuum_then_deletes(world: World, kernel: Kernel, before: str) -> None:
    PREPARATIONS[before](world, kernel)
    world.timeline.pass_by(60)
    foreseen = vacuum(looking(world), NAME, retention=NO_RETENTION, allow_short_retention=True)
    deleted = vacuum(kernel, NAME, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)
    assert {item.path for item in foreseen} <= {item.path for item in deleted}
    assert any("data" in item.path for item in foreseen)


def test_a_dry_run_does_not_count_what_a_claim_needs(world: World, kernel: Kernel) -> None:
    claimed(world, kernel)
    claim = kernel.current(NAME).state
    assert claim is not None
    assert claim.claim is not None
    found = vacuum(looking(world), NAME, retention=NO_RETENTION, allow_short_retention=True)
    assert found
    assert not any(claim.claim in item.path for item in found)


def test_a_dry_run_of_a_table_that_is_missing_says_so(world: World) -> None:
    with pytest.raises(LakemergeError, match="no such table"):
        vacuum(looking(world), NAME)
