"""Which partitions of commits are merged: many of one size, oldest first, never those that are large."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakemerge.kernel import HiveColumn, Manifest, PartitionState
from lakemerge.kernel.maintenance.small_files import (
    Group,
    SmallFiles,
    batches,
    beside,
    groups_to_merge,
    partitions_to_pack,
    within,
)

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
        Group(("p=a/_commit=2", "p=a/_commit=9", "p=a/_commit=10"), 3, 30),
        Group(("p=b/_commit=2", "p=b/_commit=9", "p=b/_commit=10"), 3, 30),
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


# -- partitions that get other files in their own place ----------------------------------------


def with_files(**states: tuple[int, int]) -> Manifest:
    """A version whose partitions have so many files and bytes."""
    partitions = {
        f"p={name}": PartitionState("x", files, size, "0") for name, (files, size) in states.items()
    }
    return dataclasses.replace(manifest({}), partitions=partitions)


def packed(rule: SmallFiles, **states: tuple[int, int]) -> list[str]:
    return [group.target for group in partitions_to_pack(with_files(**states), rule)]


def test_partitions_with_many_small_files_are_packed_the_most_useful_first() -> None:
    rule = SmallFiles(128 * MB)
    states = {"a": (9, 90 * MB), "b": (900, 90 * MB), "c": (1, 10), "d": (20, 10 * 128 * MB), "e": (0, 0)}
    assert packed(rule, **states) == ["p=b", "p=a"]
    assert packed(rule, f=(2, 10)) == ["p=f"]


def test_a_threshold_fires_only_for_many_files_that_are_far_too_small() -> None:
    rule = SmallFiles(128 * MB, files=50, surplus=4)
    assert packed(rule, few=(49, 10), large=(60, 20 * 128 * MB), many=(50, 10)) == ["p=many"]


@given(st.integers(0, 10**12), st.integers(1, 10**9))
def test_what_was_packed_is_not_packed_again(size: int, target: int) -> None:
    """Whatever is asked for: packing leaves at most so many files, and that many are never too many."""
    rule = SmallFiles(target)
    assert not rule.has_many(PartitionState("x", rule.packed(size), size, "0"))
    assert rule.packed(size) <= 2 * rule.fitting(size)


@given(st.lists(st.integers(1, 300), min_size=1, max_size=40), st.integers(20, 300))
def test_next_fit_packs_into_no_more_files_than_the_rule_knows(sizes: list[int], target: int) -> None:
    """Spark packs what a scan reads, cut at the target, by next fit, the largest piece first."""
    most = min(target, sum(sizes))
    pieces = [min(most, size - start) for size in sizes for start in range(0, size, most)]
    bins, filled = 0, 0
    for piece in sorted(pieces, reverse=True):
        if not bins or filled + piece > most:
            bins, filled = bins + 1, 0
        filled += piece
    assert bins <= SmallFiles(target).packed(sum(sizes))


def test_a_run_takes_on_no_more_than_its_bytes() -> None:
    groups = [Group((name,), 9, size) for name, size in (("a", 60), ("b", 50), ("c", 40))]
    assert [group.target for group in within(groups, 100)] == ["a", "c"]
    assert within(groups, None) == groups
    assert [len(lot) for lot in batches(groups, 100)] == [1, 2]
    assert [len(lot) for lot in batches(groups * 40, 10**9)] == [50, 50, 20]
    assert list(batches([], 100)) == []
    assert beside(groups[:1], groups) == groups
