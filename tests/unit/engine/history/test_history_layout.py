from __future__ import annotations

import dataclasses

import pytest

from lakemerge.engine.history import layout as layout_module
from lakemerge.engine.history.layout import HistoryLayout
from lakemerge.engine.options.reader import OptionReader
from lakemerge.kernel.ports.metastore import HiveColumn
from lakemerge.kernel.table.manifest import Manifest, PartitionState

MB = 2**20


def state(size: int = 100) -> PartitionState:
    return PartitionState("somewhere", 1, size, "0123456789abcdef")


def manifest(sizes: dict[str, int], *keys: str, version: int = 7) -> Manifest:
    return Manifest(
        txn="t",
        version=version,
        parent=None,
        table_id="i",
        operation="merge",
        columns=(HiveColumn("id", "bigint"),),
        partition_columns=tuple(HiveColumn(key, "bigint") for key in keys),
        file_format="orc",
        partitions={name: state(size) for name, size in sizes.items()},
        written=(),
        removed=(),
        committed_at="2026-11-21T00:00:00+00:00",
    )


def layout(sizes: dict[str, int], *keys: str) -> HistoryLayout:
    return HistoryLayout().of_table(manifest(sizes, *keys))


@pytest.mark.parametrize(
    ("config", "split", "partition"),
    [
        ({}, True, "dbt_closed_in"),
        ({"history_layout": "split", "history_partition": " Era "}, True, "era"),
        ({"history_layout": "plain"}, False, "dbt_closed_in"),
    ],
)
def test_options(config: dict[str, object], split: bool, partition: str) -> None:
    problems: list[str] = []
    found = HistoryLayout.of(OptionReader(config, problems))
    assert (found.split, found.partition, problems) == (split, partition, [])


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"history_layout": "both"}, "history_layout must be one of split, plain, not 'both'"),
        ({"history_partition": 3}, "history_partition must be a name, not 3"),
        ({"history_partition": " "}, "history_partition must be a name, not ' '"),
        (
            {"history_layout": "plain", "history_partition": "era"},
            "history_partition only has a meaning with history_layout 'split'",
        ),
    ],
)
def test_wrong_options_are_all_collected(config: dict[str, object], problem: str) -> None:
    problems = ["another"]
    HistoryLayout.of(OptionReader(config, problems))
    assert problems == ["another", problem]


def test_a_new_table_is_as_configured() -> None:
    new = HistoryLayout().of_table(None)
    assert new.partition_by(["region"]) == ("region", "dbt_closed_in")
    assert new.columns == (HiveColumn("dbt_closed_in", "bigint"),)
    plain = HistoryLayout(split=False).of_table(None)
    assert plain.partition_by(["region"]) == ("region",)
    assert plain.columns == ()


@pytest.mark.parametrize(
    ("config", "lines"),
    [
        ({}, 1),
        ({"history_layout": "split"}, 0),
        ({"history_layout": "plain"}, 0),
        ({"history_partition": "era"}, 0),
    ],
)
def test_a_column_that_nobody_asked_for_is_reported(
    config: dict[str, object], lines: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(layout_module._LOG, "info", said.append)
    HistoryLayout.of(OptionReader(config, [])).log_made("shop.customers_snapshot")
    assert len(said) == lines
    for line in said:
        assert "shop.customers_snapshot gets the partition column dbt_closed_in" in line
        assert "history_layout: plain" in line


def test_a_table_keeps_the_layout_that_it_has() -> None:
    assert not HistoryLayout().of_table(manifest({"region=1": 1}, "region")).split
    assert not HistoryLayout().of_table(manifest({"": 1})).split
    assert HistoryLayout(split=False).of_table(manifest({}, "region", "dbt_closed_in")).split


def test_a_column_of_that_name_elsewhere_in_the_path_is_not_the_layouts() -> None:
    assert not HistoryLayout().of_table(manifest({}, "dbt_closed_in", "region")).split


def test_rows_closed_now_go_by_the_version_that_the_commit_makes() -> None:
    found = layout({"dbt_closed_in=0": 10}, "dbt_closed_in")
    assert found.version == 8
    assert found.value("end is null") == "cast(if(end is null, 0, 8) as bigint)"
    assert found.closes_into("dbt_closed_in=0") == "dbt_closed_in=8"


def test_open_and_closed_partitions() -> None:
    found = layout(
        {"r=0/dbt_closed_in=0": 1, "r=0/dbt_closed_in=3": 1, "r=a%2Fb/dbt_closed_in=0": 1},
        "r",
        "dbt_closed_in",
    )
    assert found.open_partitions == ["r=0/dbt_closed_in=0", "r=a%2Fb/dbt_closed_in=0"]
    assert found.closed_partitions == ["r=0/dbt_closed_in=3"]
    assert found.open_filter == "`dbt_closed_in` = 0"
    assert found.closes_into("r=a%2Fb/dbt_closed_in=0") == "r=a%2Fb/dbt_closed_in=8"
    assert found.closed_siblings(["r=0/dbt_closed_in=0", "r=2/dbt_closed_in=0"]) == ["r=0/dbt_closed_in=3"]
    assert found.closed_siblings(["r=a%2Fb/dbt_closed_in=0"]) == []


def test_in_a_plain_table_every_partition_is_open() -> None:
    plain = layout({"r=0": 1, "r=1": 1}, "r")
    assert plain.open_partitions == ["r=0", "r=1"]
    assert plain.closed_partitions == []
    assert (plain.open_filter, plain.closed_filter) == ("true", "false")
    assert plain.closes_into("r=0") == "r=0"
    assert plain.to_merge(["r=0"]) == []


def closed(sizes: list[int], user: str = "") -> dict[str, int]:
    return {f"{user}dbt_closed_in={number}": size for number, size in enumerate(sizes, 1)}


def test_few_closed_partitions_are_left_alone() -> None:
    found = layout(closed([10] * 32), "dbt_closed_in")
    assert found.to_merge(["dbt_closed_in=0"]) == []


def test_many_alike_become_one() -> None:
    found = layout(closed([10] * 33), "dbt_closed_in")
    assert len(found.to_merge(["dbt_closed_in=0"])) == 33


def test_a_large_one_is_not_rewritten_for_small_ones() -> None:
    found = layout(closed([100_000_000, *[10] * 32]), "dbt_closed_in")
    merged = found.to_merge(["dbt_closed_in=0"])
    assert len(merged) == 32
    assert "dbt_closed_in=1" not in merged


def test_only_beside_what_the_commit_writes() -> None:
    sizes = closed([10] * 33, "r=0/") | closed([10] * 33, "r=1/")
    found = layout(sizes, "r", "dbt_closed_in")
    merged = found.to_merge(["r=1/dbt_closed_in=0", "r=1/dbt_closed_in=5"])
    assert len(merged) == 0, "one of the 33 is written anew already"
    merged = found.to_merge(["r=1/dbt_closed_in=0"])
    assert {name[:4] for name in merged} == {"r=1/"}


def test_sizes_that_are_all_different_are_merged_all_the_same() -> None:
    found = layout(closed([2**20 * 9**number for number in range(33)]), "dbt_closed_in")
    assert len(found.to_merge(["dbt_closed_in=0"])) == 4


def test_the_work_of_merging_follows_the_rows_and_not_their_square() -> None:
    """A thousand commits that close a megabyte each: it is rewritten a few times, however long the history."""
    current, rewritten, most = HistoryLayout(), 0, 0
    stored: dict[str, int] = {}
    for version in range(1000):
        current = current.of_table(manifest(stored, "dbt_closed_in", version=version))
        merged = current.to_merge(["dbt_closed_in=0"])
        size = sum(stored.pop(name) for name in merged)
        rewritten += size
        stored[current.closes_into("dbt_closed_in=0")] = MB + size
        most = max(most, len(stored))
    assert sum(stored.values()) == 1000 * MB
    assert rewritten < 5 * 1000 * MB
    assert most <= 34


def test_it_is_a_value() -> None:
    assert dataclasses.replace(HistoryLayout(), version=2) == HistoryLayout(version=2)
