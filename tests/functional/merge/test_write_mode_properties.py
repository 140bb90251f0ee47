"""Whatever write mode each batch of a feed has, and whatever is compacted between them, the table is the oracle's."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from examples import OFTEN
from lakemerge.engine.merge import on_read

from .oracle import Change
from .test_merge_properties import CONFIG, SCHEMA, VARIANTS, as_stored, feeds, oracle_of, split

MODES = ("copy_on_write", "merge_on_read", "auto")


def compact(table: Any, **arguments: Any) -> None:
    with table.adapter.connection_named("by hand"):
        table.adapter.compaction.compact(table.context, table.relation, table.model, **arguments)


def check(merger: Any, config: dict[str, Any], feed: list[Change], seed: int, exact: bool) -> None:
    """Merge a feed in batches, each in a mode of its own, and deliver it a second time."""
    ways = random.Random(seed)
    table, oracle = merger({**config, "exact_counts": exact}, SCHEMA), oracle_of(config)
    hidden = config["except_column_list"]

    def rows() -> list[Change]:
        return sorted(table.rows(), key=lambda row: row["id"])

    def wanted() -> list[Change]:
        return [{n: v for n, v in row.items() if n not in hidden} for row in oracle.table()]

    try:
        for batch in split(feed, seed):
            expected = oracle.apply(as_stored(batch, config))
            table.model["config"]["write_mode"] = mode = ways.choice(MODES)
            response = table.merge(batch)
            assert rows() == wanted(), mode
            for count in ("inserted", "updated", "deleted"):
                if exact:
                    assert getattr(response, count) == expected[count], (mode, count, response, expected)
            # of the parts that are so small, none, some or all fit
            part = ways.choice((500, 1200, 2400))
            if (way := ways.choice((None, {"deltas": "minor"}, {}, {"max_bytes": part}))) is not None:
                compact(table, **way)
                assert rows() == wanted(), (mode, way)
        table.model["config"]["write_mode"] = mode = ways.choice(MODES)
        table.merge(feed)
        assert rows() == wanted(), f"the feed a second time, {mode}"
    finally:
        table.drop()
        assert table.left() == []


class TestModes:
    @pytest.mark.slow
    @pytest.mark.parametrize("variant", VARIANTS)
    def test_any_modes_one_after_another_give_the_oracles_table_often(
        self, merger: Any, monkeypatch: pytest.MonkeyPatch, variant: str
    ) -> None:
        config: dict[str, Any] = {**CONFIG, **VARIANTS[variant]}
        monkeypatch.setattr(on_read, "_LEAST_BYTES", 0)

        @given(
            feed=feeds(truncates="truncates" in variant),
            seed=st.integers(0, 2**16),
            exact=st.booleans(),
            # what `auto` then chooses: always a delta, never one, or by the rows
            dearer=st.sampled_from([0, 10, 10**9]),
        )
        @settings(max_examples=OFTEN, deadline=None, suppress_health_check=list(HealthCheck))
        def run(feed: list[Change], seed: int, exact: bool, dearer: int) -> None:
            monkeypatch.setattr(on_read, "_TIMES_DEARER", dearer)
            check(merger, config, feed, seed, exact)

        run()
