"""The heart of the merge: whatever the order, split and repetition of a feed, the table is the oracle's.

Of whole-row changes all of them give one table. Of partial updates they do as far as `TestTheOracle` says.
"""

from __future__ import annotations

import copy
import itertools
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from examples import OFTEN
from rings import of_rings

from .joining import joined
from .oracle import Change, Oracle

SCHEMA = "id bigint, region string, name string, ts bigint, op string"
CONFIG = {
    "unique_key": "id",
    "sequence_by": "ts",
    "apply_as_deletes": "op = 'D'",
    "except_column_list": ["op"],
}

REGIONS = st.sampled_from([None, "", "north", "a/b = %'x\" ", "δ south"])


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


def in_order(feed: list[Change], seed: int) -> list[list[Change]]:
    """The feed in one to four batches, each newer than all before."""
    random_ = random.Random(seed)
    cuts = sorted(random_.randint(0, len(feed)) for _ in range(random_.randint(0, 3)))
    changes = sorted(feed, key=lambda change: change["ts"])
    return [changes[start:end] for start, end in itertools.pairwise([0, *cuts, len(feed)])]


def as_stored(feed: list[Change], config: dict[str, Any]) -> list[Change]:
    """The feed as the table would hold it: an empty partition value is null to Hive."""
    partition = config.get("partition_by")
    return [{**row, partition: row[partition] or None} if partition else row for row in feed]


def oracle_of(config: dict[str, Any]) -> Oracle:
    return Oracle(config.get("merge_update_columns"), config.get("ignore_null_updates", False))


VARIANTS: dict[str, dict[str, Any]] = {
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
    "partial updates": {"ignore_null_updates": True, "partition_by": "region"},
    "partial updates, several sequence columns": {
        "ignore_null_updates": True,
        "sequence_by": ["ts div 3", "ts % 3"],
    },
    "listed columns": {"merge_update_columns": ["name", "ts"], "partition_by": "region"},
    "listed columns without nulls, sequence not in the table": {
        "ignore_null_updates": True,
        "merge_update_columns": ["name"],
        "except_column_list": ["op", "ts"],
    },
    "sequence of the first change": {"merge_update_columns": ["name", "region"], "partition_by": "region"},
}
#: Those whose ways through the merge differ most; all of them run in the slow ring.
REPRESENTATIVE = (
    "partitioned",
    "unpartitioned",
    "several sequence columns",
    "truncates, sequence not in the table",
    "partial updates",
    "listed columns without nulls, sequence not in the table",
)
#: Those of the fast ring: whole rows without a partition, the sequence in the ledger alone; parts of rows with one.
FEW = ("truncates, sequence not in the table", "partial updates")
REPRESENTED = of_rings(REPRESENTATIVE, FEW)


def check(
    merger: Any,
    config: dict[str, Any],
    feed: list[Change],
    seed: int,
    batches_of: Callable[[list[Change], int], list[list[Change]]] = split,
) -> None:
    """Merge a feed in batches, each as of a small or of a large table, and compare with the oracle after each."""
    table, oracle, ways = merger(config, SCHEMA), oracle_of(config), random.Random(seed)
    try:
        for batch in batches_of(feed, seed):
            expected = oracle.apply(as_stored(batch, config))
            with joined(by_one_task=ways.random() < 0.5):
                response = table.merge(batch)
            hidden = config["except_column_list"]
            wanted = [{n: v for n, v in row.items() if n not in hidden} for row in oracle.table()]
            assert sorted(table.rows(), key=lambda row: row["id"]) == wanted
            for count in ("inserted", "updated", "deleted"):
                assert getattr(response, count) == expected[count], (count, response, expected)
        version = table.history()[0]["version"]
        assert table.merge(feed).version == 0, "a feed that is known already must not be written again"
        assert table.history()[0]["version"] == version
    finally:
        table.drop()


@pytest.fixture(scope="class")
def compiles() -> bool:
    """Spark as users have it, in the fast ring too."""
    return True


class TestMergeProperties:
    @pytest.mark.parametrize("variant", REPRESENTED)
    def test_any_split_and_order_gives_the_oracles_table(self, merger: Any, variant: str) -> None:
        config: dict[str, Any] = {**CONFIG, **VARIANTS[variant]}

        @given(feed=feeds(truncates="truncates" in variant), seed=st.integers(0, 2**16))
        @settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
        def run(feed: list[Change], seed: int) -> None:
            check(merger, config, feed, seed)

        run()

    @pytest.mark.slow
    @pytest.mark.parametrize("variant", VARIANTS)
    def test_any_split_and_order_gives_the_oracles_table_often(self, merger: Any, variant: str) -> None:
        config: dict[str, Any] = {**CONFIG, **VARIANTS[variant]}

        @given(feed=feeds(truncates="truncates" in variant), seed=st.integers(0, 2**16))
        @settings(max_examples=OFTEN, deadline=None, suppress_health_check=list(HealthCheck))
        def run(feed: list[Change], seed: int) -> None:
            check(merger, config, feed, seed)

        run()

    @pytest.mark.parametrize(
        "variant",
        sorted(VARIANTS),
    )
    @pytest.mark.slow
    def test_batches_that_are_newer_than_all_before_give_it_too(self, merger: Any, variant: str) -> None:
        config: dict[str, Any] = {**CONFIG, **VARIANTS[variant]}
        examples = 3 if variant == "partitioned" else OFTEN

        @given(feed=feeds(truncates="truncates" in variant), seed=st.integers(0, 2**16))
        @settings(
            max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
        )
        def run(feed: list[Change], seed: int) -> None:
            check(merger, config, feed, seed, in_order)

        run()


class TestTheOracle:
    """What is promised about batches: the tables above are the oracle's, so it is enough that these hold for it."""

    PARTIAL = st.builds(
        Oracle, updates=st.sampled_from([None, ["name"], ["name", "ts"]]), ignores_nulls=st.booleans()
    )

    @given(feed=feeds(), seed=st.integers(0, 2**16))
    def test_of_whole_rows_every_split_and_order_gives_one_table(self, feed: list[Change], seed: int) -> None:
        one, many = Oracle(), Oracle()
        one.apply(feed)
        for batch in split(feed, seed):
            many.apply(batch)
        assert one.table() == many.table()

    @given(feed=feeds(), oracle=PARTIAL, cuts=st.sets(st.integers(0, 14)))
    def test_of_partial_updates_batches_in_the_order_of_the_sequence_give_one_table(
        self, feed: list[Change], oracle: Oracle, cuts: set[int]
    ) -> None:
        one, many = copy.deepcopy(oracle), oracle
        one.apply(feed)
        for start, end in itertools.pairwise([0, *sorted(cuts), 15]):
            many.apply([change for change in feed if start < change["ts"] <= end])
        assert one.table() == many.table()

    @given(feed=feeds(), oracle=PARTIAL, seed=st.integers(0, 2**16))
    def test_what_was_delivered_changes_nothing_when_it_comes_again(
        self, feed: list[Change], oracle: Oracle, seed: int
    ) -> None:
        for batch in split(feed, seed):
            oracle.apply(batch)
        found = oracle.table()
        for batch in split(feed, seed + 1):
            counts = oracle.apply(batch)
            assert set(+counts) <= {"ignored"}
        assert oracle.table() == found

    def test_of_partial_updates_a_late_batch_is_lost_even_for_columns_left_alone(self) -> None:
        newer, older = ({"id": 1, "name": name, "ts": ts, "op": "U"} for name, ts in ((None, 2), ("x", 1)))
        apart, together = Oracle(ignores_nulls=True), Oracle(ignores_nulls=True)
        apart.apply([newer])
        apart.apply([older])
        together.apply([newer, older])
        assert [apart.rows[1]["name"], together.rows[1]["name"]] == [None, "x"]
