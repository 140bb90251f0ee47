"""Merge on read gives the same table as copy on write, whatever the order, split and repetition of a feed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .oracle import Change
from .test_merge_properties import (
    CONFIG,
    REPRESENTATIVE,
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
    @pytest.mark.parametrize("variant", REPRESENTATIVE)
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
