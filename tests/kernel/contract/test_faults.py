"""Calls that fail or whose replies are lost: the table is the old or the new, and a commit counts once."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

from kernel.chain import KINDS, Chain
from kernel.commits import COMMITS, OPERATIONS
from kernel.faults import METASTORE_WRITES, Dice, lost
from kernel.sites import Site
from kernel.support import (
    NO_RETENTION,
    assert_nothing_orphaned,
    assert_whole,
    create,
    picture,
    settled,
    stage,
)
from lakemerge.errors import LakemergeError, StorageError
from lakemerge.kernel import Kernel, TableName
from lakemerge.kernel.maintenance.vacuum import vacuum

_COMMITS = 50


class LoseReply:
    """Loses the reply of the n-th metastore call of a kernel; that call has succeeded."""

    def __init__(self, number: int, calls: frozenset[str] | None = None) -> None:
        self._left = number
        self._calls = calls
        self.call: str | None = None

    def __call__(self, call: str) -> None:
        if self._calls is not None and call not in self._calls:
            return
        self._left -= 1
        if self._left == 0:
            self.call = call
            raise lost(call)


@pytest.mark.parametrize(
    ("probability", "seed", "partitioned", "commits"),
    [
        (0.1, 3, True, _COMMITS // 5),
        *(
            pytest.param(*run, partitioned, _COMMITS, marks=pytest.mark.slow)
            for run in ((0.01, 1), (0.01, 2), (0.1, 3))
            for partitioned in (True, False)
        ),
    ],
)
def test_failing_calls(
    probability: float, seed: int, partitioned: bool, commits: int, site: Site, name: TableName
) -> None:
    """Each run is a commit with calls that fail before they are made, then recovery without faults."""
    dice = Dice(seed, probability)
    sound = Kernel(site.ports())
    chain = Chain(sound, name, seed, partitioned=partitioned)
    failed: Counter[str] = Counter()
    for _ in range(commits):
        change = chain.draw()
        version = settled(sound, name).version
        metastore = site.metastore(before=dice.metastore)
        files = site.files(before=dice.storage)
        acknowledged = None
        try:
            acknowledged = change.run(Kernel(site.ports(metastore=metastore, files=files)))
        except LakemergeError:
            failed[change.kind] += 1
        assert sound.exists(name)
        sound.recover(name)
        assert_whole(sound, name)
        found = picture(sound, name)
        if acknowledged is not None or found != chain.picture:
            assert found == change.picture
            chain.done(change)
            assert settled(sound, name).version == version + 1 == (acknowledged or version + 1)
        else:
            assert settled(sound, name).version == version
    assert_nothing_orphaned(sound, name)
    print(f"{dice.failures} of {dice.calls} calls failed; failed commits: {dict(failed)}")
    assert dice.failures > 0


@pytest.mark.parametrize(
    ("kind", "partitioned"),
    [
        pytest.param(kind, partitioned, marks=() if kind == "swap" else pytest.mark.slow)
        for partitioned in (True, False)
        for kind in KINDS
    ],
)
def test_lost_replies_of_a_commit(kind: str, partitioned: bool, site: Site, name: TableName) -> None:
    """One metastore call of a commit after the other loses its reply."""
    sound = Kernel(site.ports())
    chain = Chain(sound, name, partitioned=partitioned)
    lost_replies: list[str] = []
    for number in itertools.count(1):
        change = chain.draw(kind)
        version = settled(sound, name).version
        loser = LoseReply(number, site.may_lose)
        metastore = site.metastore(after=loser)
        acknowledged = change.run(Kernel(site.ports(metastore=metastore)))
        assert acknowledged == version + 1, f"after the lost reply of {loser.call}"
        assert settled(sound, name).version == version + 1
        assert picture(sound, name) == change.picture
        assert_whole(sound, name)
        chain.done(change)
        if loser.call is None:
            break
        lost_replies.append(loser.call)
    assert_nothing_orphaned(sound, name)
    print(f"{kind}: {len(lost_replies)} lost replies, {sorted(set(lost_replies))}")
    assert "alter_table" in lost_replies


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=() if kind in ("create", "take-in") else pytest.mark.slow)
        for kind in ("create", "create-whole", *OPERATIONS)
    ],
)
def test_lost_replies_of_an_operation(kind: str, site: Site) -> None:
    """One write to the metastore after the other loses its reply, each on a table of its own."""
    sound = Kernel(site.ports())
    commit = (COMMITS | OPERATIONS)[kind]
    expected = None
    for number in itertools.count(0):
        name = TableName("default", f"lost_{kind.replace('-', '_')}_{number}")
        commit.prepare(sound, name)
        loser = LoseReply(number, METASTORE_WRITES)
        commit.run(Kernel(site.ports(metastore=site.metastore(after=loser))), name)
        if number == 0:
            expected = picture(sound, name)
        assert picture(sound, name) == expected, f"after the lost reply of {loser.call}"
        if expected is not None:
            assert_nothing_orphaned(sound, name)
        if number and loser.call is None:
            break
    assert number > 1 or kind == "vacuum"


def test_doubtful_claim_keeps_its_files(site: Site, name: TableName) -> None:
    """When nothing answers any more after a claim, giving up must not delete what it may need."""
    sound = Kernel(site.ports())
    chain = Chain(sound, name)
    change = chain.draw("swap")
    silent = False

    def after(call: str) -> None:
        nonlocal silent
        silent = silent or call == "alter_table"
        if silent:
            raise lost(call)

    hooked = site.metastore(after=after)
    hooked.compares = True
    with pytest.raises(LakemergeError):
        change.run(Kernel(site.ports(metastore=hooked)))
    sound.recover(name)
    assert picture(sound, name) == change.picture
    assert_whole(sound, name)


@pytest.mark.slow
@pytest.mark.parametrize(
    "site", ["jvm"], indirect=True
)  # in memory, a process that runs has its transactions
def test_an_abort_that_cannot_delete_ends_all_the_same(site: Site, name: TableName) -> None:
    """What it could not delete is vacuum's, and its heartbeat is no sign of life any more."""
    broken = False

    def before(call: str) -> None:
        if broken and call == "delete":
            raise StorageError(expected="to delete", found="an injected fault", action="None.")

    sound = Kernel(site.ports())
    create(sound, name, {"p=1": ["a"]})
    txn = Kernel(site.ports(files=site.files(before=before))).begin(name, "merge")
    stage(sound, txn, {"p=1": ["b"]})
    broken = True
    txn.abort()
    assert txn.state == "aborted"
    sound.recover(name)
    assert_whole(sound, name)
    assert vacuum(sound, name, retention=NO_RETENTION, dry_run=False, allow_short_retention=True)
    assert_nothing_orphaned(sound, name)
