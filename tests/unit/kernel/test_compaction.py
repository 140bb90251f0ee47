"""Which partitions of commits are merged: many of one size, oldest first, never those that are large."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakemerge.kernel import HiveColumn, Manifest, PartitionState
from lakemerge.kernel.maintenance.compaction import Group, groups_to_merge

MB = 1 << 20


def manifest(sizes: Mapping[str, int]) -> Manifest:
    partitions = {name: PartitionState("x", 1, size, "0") for name, size in sizes.items()}
    keys = (HiveColumn("p", "string"), HiveColumn("_commit", "bigint"))
    return Manifest(
        "t", 9, None, "i", "append", (), keys, "orc", partitions, (), (), "2026-01-01T00:00:00+00:00"
    )


def groups(sizes: Mapping[str, int], after: int = 3, below: int = 64 * MB) -> list[Group]:
    return groups_to_merge(manifest(sizes), "_commit", after=after, below=below)


def test_small_partitions_that_share_the_other_values_go_together() -> None:
    sizes = {f"p={p}/_commit={number}": 10 for p in "ab" for number in (2, 9, 10)}
    sizes["p=c/_commit=11"] = 10
    assert groups(sizes) == [
        Group(("p=a/_commit=2", "p=a/_commit=9", "p=a/_commit=10"), 10),
        Group(("p=b/_commit=2", "p=b/_commit=9", "p=b/_commit=10"), 10),
    ]


def test_a_large_one_is_not_written_again_with_small_ones() -> None:
    sizes = {"p=a/_commit=1": 60 * MB, "p=a/_commit=2": 10, "p=a/_commit=3": 10}
    assert groups(sizes) == []
    assert groups({**sizes, "p=a/_commit=4": 10})[0].members[0] == "p=a/_commit=2"


@pytest.mark.parametrize(("after", "below"), [(0, 64 * MB), (3, 10), (4, 64 * MB)])
def test_thresholds(after: int, below: int) -> None:
    assert groups({f"_commit={number}": 10 for number in (1, 2, 3)}, after, below) == []


def test_what_others_put_there_is_left_alone() -> None:
    names = ["_commit=__HIVE_DEFAULT_PARTITION__", "_commit=1", "_commit=2", "other=3"]
    assert groups(dict.fromkeys(names, 1)) == []


@given(st.lists(st.integers(1, 3 * MB), min_size=1, max_size=300), st.integers(2, 10))
def test_the_number_of_small_partitions_stays_bounded(appends: list[int], after: int) -> None:
    """Each append is followed by one compaction; no byte is lost and no large partition is written again."""
    sizes: dict[str, int] = {}
    for number, size in enumerate(appends, 1):
        sizes[f"_commit={number}"] = size
        for group in groups(sizes, after):
            assert all(sizes[member] < 64 * MB for member in group.members)
            sizes[group.target] = sum(sizes.pop(member) for member in group.members)
    small = [size for size in sizes.values() if size < 64 * MB]
    assert len(small) <= 3 * after, "three tiers below 64 MB"
    assert sum(sizes.values()) == sum(appends)
