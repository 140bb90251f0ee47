"""Rows that a process reads half: it writes none of them back, so that no part of an earlier version returns.

A process has claimed and died at a step. Another rolls its commit forward, and one of its reads of a row begins before
a third process has done so, and ends after it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Callable
from functools import partial

import pytest

from kernel.commits import COMMITS
from kernel.meanwhile import Proxy, die_at
from kernel.support import NO_RETENTION, Died, assert_whole, merge, picture, rows_of
from lakemerge.errors import CommitConflict
from lakemerge.kernel import Kernel, Ports, TableName
from lakemerge.kernel.maintenance.vacuum import vacuum
from lakemerge.kernel.ports.metastore import HiveTable, Metastore
from lakemerge.kernel.table.definition import VERSION
from lakemerge.kernel.table.state import current_table
from lakemerge.testing import World

NAME = TableName("s", "t")
_FAST = {"swap", "rebuild", "lay", "delta"}
KINDS = [pytest.param(kind, marks=() if kind in _FAST else pytest.mark.slow) for kind in COMMITS]

Half = Callable[[HiveTable, HiveTable], HiveTable]


def version_last(before: HiveTable, after: HiveTable) -> HiveTable:
    """The version alone is new: a row's parameters are not of one moment over Derby."""
    return dataclasses.replace(before, parameters={**before.parameters, VERSION: after.parameters[VERSION]})


def parameters_last(before: HiveTable, after: HiveTable) -> HiveTable:
    """The parameters are new, and the location and the columns are not: they are read by other statements."""
    return dataclasses.replace(before, parameters=after.parameters)


HALVES = [version_last, parameters_last]


class HalfSeen(Proxy):
    """A metastore of a process: others act in the middle of one of its reads."""

    def __init__(self, inner: Metastore, number: int, others: Callable[[], None], half: Half) -> None:
        self._inner, self._left, self._others, self._half = inner, number, others, half

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def get_table(self, name: TableName) -> HiveTable | None:
        before = self._inner.get_table(name)
        self._left -= 1
        if self._left:
            return before
        self._others()
        after = self._inner.get_table(name)
        if before is None or after is None or VERSION not in after.parameters:
            return after
        return self._half(before, after)


def reading_half(
    world: World,
    number: int,
    others: Callable[[Kernel], object],
    half: Half,
    act: Callable[[Ports], object],
) -> bool:
    """Let a process act, one of whose reads is half; false where it makes fewer reads."""
    ports, met = world.process(), []

    def meet() -> None:
        met.append(number)
        others(Kernel(world.process()))

    act(dataclasses.replace(ports, metastore=HalfSeen(ports.metastore, number, meet, half)))  # type: ignore[arg-type]
    world.running.discard(ports.host.owner().pid)
    return bool(met)


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_commit_is_rolled_forward_once(kind: str, half: Half) -> None:
    steps = COMMITS[kind].steps
    world = World()
    sound = Kernel(world.process())
    COMMITS[kind].prepare(sound, NAME)
    COMMITS[kind].run(sound, NAME)
    expected = picture(sound, NAME)
    for step in steps[steps.index("claimed") : -1]:
        for number in itertools.count(1):
            world = World()
            COMMITS[kind].prepare(Kernel(world.process()), NAME)
            die_at(world, step, lambda kernel: COMMITS[kind].run(kernel, NAME))
            met = reading_half(
                world,
                number,
                lambda kernel: kernel.recover(NAME),
                half,
                lambda ports: Kernel(ports).recover(NAME),
            )
            last = Kernel(world.process())
            assert picture(last, NAME) == expected, (step, number)
            assert_whole(last, NAME)
            if not met:
                break


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("partition", ["", "p=1"])
def test_a_claim_follows_a_commit_that_was_seen_half(partition: str, half: Half) -> None:
    """Its process dies once it has claimed: what it has written back is then all that is there."""

    def claim(ports: Ports) -> None:
        def reached(step: str) -> None:
            if step == "claimed":
                raise Died

        with contextlib.suppress(Died, CommitConflict):
            merge(Kernel(ports, step=reached), NAME, {partition: ["last"]})

    for number in itertools.count(1):
        world = World()
        COMMITS["swap" if partition else "swap-whole"].prepare(Kernel(world.process()), NAME)
        met = reading_half(
            world, number, lambda kernel: merge(kernel, NAME, {partition: ["between"]}), half, claim
        )
        last = Kernel(world.process())
        last.recover(NAME)
        assert rows_of(last, NAME)[partition] in (["last"], ["between"])
        merge(last, NAME, {partition: ["after"]})
        vacuum(last, NAME, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)
        assert rows_of(last, NAME)[partition] == ["after"]
        assert_whole(last, NAME)
        if not met:
            break


def seen_beside(claim: HiveTable, settled: HiveTable, _: HiveTable) -> HiveTable:
    return version_last(settled, claim)


@pytest.mark.parametrize("kind", ["swap", "swap-whole", "rebuild"])
def test_a_claim_is_not_seen_beside_the_transaction_that_it_became(kind: str, world: World) -> None:
    """The version is of the moment of the claim, and all else of the time when the same commit was settled."""
    claims: list[HiveTable] = []
    sound = Kernel(world.process())

    def remember(_: str) -> None:
        row = sound.metastore.get_table(NAME)
        if row is not None and ":" in row.parameters.get(VERSION, ""):
            claims.append(row)

    COMMITS[kind].prepare(sound, NAME)
    COMMITS[kind].run(Kernel(world.process(), step=remember), NAME)
    for claim in claims or [sound.table(NAME)]:
        half = HalfSeen(sound.metastore, 1, lambda: None, partial(seen_beside, claim))
        sight = current_table(half, sound.files, NAME)  # type: ignore[arg-type]
        assert sight is not None
        assert sight.state is not None
        assert sight.manifest is not None
        assert sight.manifest.version == sight.state.version
        assert sight.state.claim is None
    assert bool(claims) == (kind != "swap-whole")
