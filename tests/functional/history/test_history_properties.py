"""The heart of the history: any order, split and repetition of a feed gives one table, and it is the oracle's."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from examples import OFTEN
from functional.merge.test_merge_properties import SCHEMA, as_stored, feeds, split
from lakemerge.engine.publish.side_data import SideData

from .oracle import Change, history

pytestmark = pytest.mark.slow

# A failing feed is shown as it was drawn: each step of making it smaller would cost as many merges again.
RUN: dict[str, Any] = {
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "phases": [Phase.explicit, Phase.generate],
}
CONFIG = {
    "unique_key": "id",
    "sequence_by": "ts",
    "apply_as_deletes": "op = 'D'",
    "except_column_list": ["op", "ts"],
}
VARIANTS: dict[str, dict[str, Any]] = {
    "all tracked": {"partition_by": "region"},
    "one tracked": {"track_history_column_list": ["region"]},
    "partition not tracked": {"partition_by": "region", "track_history_except_column_list": ["region"]},
    "key in the partition": {"partition_by": "id", "track_history_column_list": ["name"]},
    "plain layout": {"history_layout": "plain", "track_history_column_list": ["name"]},
    "truncates": {"apply_as_truncates": "op = 'T'", "track_history_column_list": ["name"]},
    "bitemporal": {"bitemporal": True, "track_history_column_list": ["name"]},
}

#: Those whose ways through the merge differ most; all of them run in the slow ring.
REPRESENTATIVE = ("all tracked", "key in the partition", "truncates", "bitemporal")


def tracked(config: dict[str, Any]) -> list[str]:
    untracked = config.get("track_history_except_column_list", [])
    return config.get("track_history_column_list") or [
        name for name in ("region", "name") if name not in untracked
    ]


def believed(table: Any, config: dict[str, Any]) -> list[Change]:
    """The versions that the table stands by, without the columns that say where they lie."""
    where = "where __known_to is null" if config.get("bitemporal") else ""
    names = "id, region, name, __start_at, __end_at"
    rows = table.sql(f"select {names} from {table.relation.render()} {where} order by id, __start_at")
    return [row.asDict() for row in rows]


def check(merger: Any, config: dict[str, Any], feed: list[Change], seed: int) -> None:
    """Merge a feed in batches and compare the table with the oracle after each."""
    table = merger(config, SCHEMA)
    delivered: list[Change] = []
    try:
        for batch in split(feed, seed):
            delivered += batch
            table.merge(batch)
            wanted = [
                {name: row[name] for name in ("id", "region", "name", "__start_at", "__end_at")}
                for row in history(as_stored(delivered, config), tracked(config))
            ]
            assert believed(table, config) == wanted
        version = table.history()[0]["version"]
        assert table.merge(feed).version == 0, "a feed that is known already must not be written again"
        assert table.history()[0]["version"] == version
    finally:
        table.drop()


def check_over_time(merger: Any, config: dict[str, Any], feed: list[Change], seed: int) -> None:
    """Merge a feed as time goes by, a month between batches, each with any changes of those before once more."""
    random_ = random.Random(seed)
    table = merger(config, SCHEMA)
    delivered: list[Change] = []
    ordered = sorted(feed, key=lambda change: change["ts"])
    cuts = sorted(random_.randint(1, len(feed)) for _ in range(2))
    try:
        for news in (ordered[: cuts[0]], ordered[cuts[0] : cuts[1]], ordered[cuts[1] :], []):
            repeated = random_.sample(delivered, random_.randint(0, len(delivered))) if news else delivered
            batch = random_.sample([*news, *repeated], len(news) + len(repeated))
            delivered = delivered + news
            response = table.merge(batch)
            wanted = [
                {name: row[name] for name in ("id", "region", "name", "__start_at", "__end_at")}
                for row in history(as_stored(delivered, config), tracked(config))
            ]
            assert believed(table, config) == wanted
            if not news:
                assert (response.inserted, response.updated, response.deleted) == (0, 0, 0)
            table.let_days_pass()
    finally:
        table.drop()


@pytest.fixture(scope="class")
def compiles() -> bool:
    """Spark as users have it, in the fast ring too."""
    return True


class TestHistoryProperties:
    @pytest.mark.parametrize("variant", REPRESENTATIVE)
    def test_any_split_and_order_gives_the_oracles_table(self, merger: Any, variant: str) -> None:
        config = {**CONFIG, **VARIANTS[variant]}

        @given(feed=feeds(truncates="truncates" in variant), seed=st.integers(0, 2**16))
        @settings(max_examples=2, derandomize=True, **RUN)
        def run(feed: list[Change], seed: int) -> None:
            check(merger, config, feed, seed)

        run()

    def test_repetitions_stay_repetitions_for_ever(
        self, merger: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        config = {**CONFIG, **VARIANTS["truncates"]}
        # so that it forgets at once what it may forget
        monkeypatch.setattr(SideData, "has_many_folders", lambda *_: True)

        @given(feed=feeds(truncates=True), seed=st.integers(0, 2**16))
        @settings(max_examples=2, derandomize=True, **RUN)
        def run(feed: list[Change], seed: int) -> None:
            check_over_time(merger, config, feed, seed)

        run()

    @pytest.mark.parametrize("variant", VARIANTS)
    def test_repetitions_stay_repetitions_for_ever_often(
        self, merger: Any, variant: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        config = {**CONFIG, **VARIANTS[variant]}
        monkeypatch.setattr(SideData, "has_many_folders", lambda *_: True)

        @given(feed=feeds(truncates="truncates" in variant), seed=st.integers(0, 2**16))
        @settings(max_examples=OFTEN, **RUN)
        def run(feed: list[Change], seed: int) -> None:
            check_over_time(merger, config, feed, seed)

        run()

    @pytest.mark.parametrize("variant", VARIANTS)
    def test_any_split_and_order_gives_the_oracles_table_often(self, merger: Any, variant: str) -> None:
        config = {**CONFIG, **VARIANTS[variant]}

        @given(feed=feeds(truncates="truncates" in variant), seed=st.integers(0, 2**16))
        @settings(max_examples=OFTEN, **RUN)
        def run(feed: list[Change], seed: int) -> None:
            check(merger, config, feed, seed)

        run()
