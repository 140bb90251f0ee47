"""The heart of the merge: any order, split and repetition of a feed gives one table, and it is the oracle's."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .oracle import Change, Oracle

SCHEMA = "id bigint, region string, name string, ts bigint, op string"
CONFIG = {
    "unique_key": "id",
    "sequence_by": "ts",
    "apply_as_deletes": "op = 'D'",
    "except_column_list": ["op"],
}

REGIONS = st.sampled_from([None, "north", "a/b = %'x\" ", "δ south"])


@st.composite
def feeds(draw: st.DrawFn, *, truncates: bool = False) -> list[Change]:
    """Changes of a few keys, each at its own place in the order, so that no two contradict each other."""
    size = draw(st.integers(1, 14))
    order = draw(st.permutations(range(1, size + 1)))
    operations = ["U", "U", "U", "D", *(["T"] if truncates else [])]
    feed = []
    for ts in order:
        op = draw(st.sampled_from(operations))
        feed.append(
            {
                "id": None if op == "T" else draw(st.integers(1, 4)),
                "region": draw(REGIONS),
                "name": draw(st.sampled_from([None, "x", "y'z", ""])),
                "ts": ts,
                "op": op,
            }
        )
    return feed


def split(feed: list[Change], seed: int) -> list[list[Change]]:
    """The feed in another order, with repetitions, in one to three batches."""
    random_ = random.Random(seed)
    changes = feed + random_.sample(feed, k=min(len(feed), random_.randint(0, 3)))
    random_.shuffle(changes)
    cuts = sorted(random_.randint(0, len(changes)) for _ in range(random_.randint(0, 2)))
    bounds = [0, *cuts, len(changes)]
    return [changes[start:end] for start, end in itertools.pairwise(bounds)]


def shown(row: Change, config: dict[str, Any]) -> Change:
    """A row as the table holds it: without excluded columns; an empty partition value is null to Hive."""
    hidden = config["except_column_list"]
    partition = config.get("partition_by")
    return {
        name: None if name == partition and value == "" else value
        for name, value in row.items()
        if name not in hidden
    }


VARIANTS = {
    "partitioned": {"partition_by": "region"},
    "unpartitioned": {},
    "parquet": {"partition_by": "region", "file_format": "parquet"},
    "sequence not in the table": {"partition_by": "region", "except_column_list": ["op", "ts"]},
    "truncates": {"partition_by": "region", "apply_as_truncates": "op = 'T'"},
    "truncates, sequence not in the table": {
        "apply_as_truncates": "op = 'T'",
        "except_column_list": ["op", "ts"],
    },
    "several sequence columns": {"sequence_by": ["ts div 3", "ts % 3"], "partition_by": "region"},
}
#: Those whose ways through the merge differ most; all of them run in the slow ring.
REPRESENTATIVE = (
    "partitioned",
    "unpartitioned",
    "several sequence columns",
    "truncates, sequence not in the table",
)


def check(merger: Any, config: dict[str, Any], feed: list[Change], seed: int) -> None:
    """Merge a feed in batches and compare table and counts with the oracle after each."""
    table, oracle = merger(config, SCHEMA), Oracle()
    try:
        for batch in split(feed, seed):
            expected = oracle.apply(batch)
            response = table.merge(batch)
            found = table.rows()
            wanted = [shown(row, config) for row in oracle.table()]
            assert (
                sorted(found, key=lambda row: row["id"])
                == [{name: row[name] for name in found[0]} for row in wanted]
                if wanted
                else found == []
            )
            for count in ("inserted", "updated", "deleted"):
                assert getattr(response, count) == expected[count], (count, response, expected)
        version = table.history()[0]["version"]
        assert table.merge(feed).version == 0, "a feed that is known already must not be written again"
        assert table.history()[0]["version"] == version
    finally:
        table.drop()


class TestMergeProperties:
    @pytest.mark.parametrize("variant", REPRESENTATIVE)
    def test_any_split_and_order_gives_the_oracles_table(self, merger: Any, variant: str) -> None:
        config = {**CONFIG, **VARIANTS[variant]}

        @given(feed=feeds(truncates="truncates" in variant), seed=st.integers(0, 2**16))
        @settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
        def run(feed: list[Change], seed: int) -> None:
            check(merger, config, feed, seed)

        run()

    @pytest.mark.slow
    @pytest.mark.parametrize("variant", VARIANTS)
    def test_any_split_and_order_gives_the_oracles_table_often(self, merger: Any, variant: str) -> None:
        config = {**CONFIG, **VARIANTS[variant]}

        @given(feed=feeds(truncates="truncates" in variant), seed=st.integers(0, 2**16))
        @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
        def run(feed: list[Change], seed: int) -> None:
            check(merger, config, feed, seed)

        run()
