"""Merge on read gives the same table as copy on write, whatever the order, split and repetition of a feed."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.adapters.lakemerge.merge import on_read
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .oracle import Change
from .test_merge_properties import (
    CONFIG,
    REPRESENTED,
    SCHEMA,
    VARIANTS,
    as_stored,
    feeds,
    oracle_of,
    split,
)

ON_READ = {"write_mode": "merge_on_read"}


def check(merger: Any, config: dict[str, Any], feed: list[Change], seed: int) -> None:
    """Merge a feed in batches and compare what readers see with the oracle after each."""
    table, oracle = merger(config, SCHEMA), oracle_of(config)
    try:
        for batch in split(feed, seed):
            expected = oracle.apply(as_stored(batch, config))
            response = table.merge(batch)
            hidden = config["except_column_list"]
            wanted = [{n: v for n, v in row.items() if n not in hidden} for row in oracle.table()]
            assert sorted(table.rows(), key=lambda row: row["id"]) == wanted
            for count in ("inserted", "updated", "deleted"):
                if config["exact_counts"]:
                    assert getattr(response, count) == expected[count], (count, response, expected)
        assert table.kind() == "VIRTUAL_VIEW"
    finally:
        table.drop()
        assert table.left() == []


class TestMergeOnRead:
    @pytest.mark.parametrize("variant", REPRESENTED)
    def test_any_split_and_order_gives_the_oracles_table(self, merger: Any, variant: str) -> None:
        config = {**CONFIG, **VARIANTS[variant], **ON_READ}

        @given(
            feed=feeds(truncates="truncates" in variant),
            seed=st.integers(0, 2**16),
            options=st.fixed_dictionaries(
                {"exact_counts": st.booleans(), "compact_deltas": st.sampled_from([0, 1, 2])}
            ),
        )
        @settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
        def run(feed: list[Change], seed: int, options: dict[str, Any]) -> None:
            check(merger, {**config, **options}, feed, seed)

        run()


class TestAuto:
    """What is rewritten costs little in these tests, unless the limit is none."""

    FEED = "id bigint, region string, name string, ts bigint, op string"

    def test_each_run_says_what_it_chose(self, merger: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        table = merger({**CONFIG, "partition_by": "region", "write_mode": "auto"}, self.FEED)

        def merge(number: int) -> Any:
            row = {"id": number % 3, "region": "north", "name": f"n{number}", "ts": number, "op": "U"}
            return table.merge([row])

        assert "copy_on_write" in merge(1)._message
        assert "copy_on_write" in merge(2)._message
        assert table.kind() == "MANAGED_TABLE"
        monkeypatch.setattr(on_read, "_LEAST_BYTES", 0)
        monkeypatch.setattr(on_read, "_TIMES_DEARER", 0)
        response = merge(3)
        assert "1 upserted, 0 deleted, merge_on_read, version" in response._message
        assert (response.upserted, response.rows_affected) == (1, 1)
        assert table.kind() == "VIRTUAL_VIEW"
        monkeypatch.undo()
        assert "copy_on_write" in merge(4)._message
        assert table.kind() == "VIRTUAL_VIEW"
        assert [row["name"] for row in table.rows()] == ["n3", "n4", "n2"]
        base = table.sql(f"select name from {table.relation.schema}.{table.name}__base order by id")
        assert [row["name"] for row in base] == ["n3", "n4", "n2"], (
            "the delta was moved into the base at once"
        )
        table.drop()
