"""A transaction gives the same table as dbt runs that merge the same changes, whatever the batches are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lakemerge
from examples import OFTEN
from functional.merge.oracle import Change
from functional.merge.test_merge_properties import CONFIG, SCHEMA, feeds, split
from lakemerge import compaction_thresholds

ON_READ = {"write_mode": "merge_on_read"}
VARIANTS: dict[str, dict[str, Any]] = {
    "partitioned": {"partition_by": "region"},
    "merge on read": {"partition_by": "region", **ON_READ},
    "partial updates, sequence not in the table": {
        "ignore_null_updates": True,
        "except_column_list": ["op", "ts"],
    },
}
REPRESENTED = [
    pytest.param(variant, marks=() if variant == "merge on read" else pytest.mark.slow)
    for variant in VARIANTS
]
MORE_VARIANTS: dict[str, dict[str, Any]] = {
    "unpartitioned, parquet": {"file_format": "parquet"},
    "several sequence columns": {"sequence_by": ["ts div 3", "ts % 3"], "partition_by": "region"},
    "listed columns": {"merge_update_columns": ["name", "ts"], "partition_by": "region"},
    "merge on read, unpartitioned, counted": {**ON_READ, "exact_counts": True},
    "merge on read, partial updates": {**ON_READ, "ignore_null_updates": True},
}
# Without it there would be no rules yet: a model's commit records them.
FIRST = {"id": 0, "region": "north", "name": "first", "ts": 0, "op": "U"}


def in_transaction(name: str, spark: Any, batches: list[list[Change]]) -> None:
    with lakemerge.transaction(name, spark=spark) as t:
        for change in (change for batch in batches for change in batch):
            if change["op"] == "D":
                t.delete(name, {"id": change["id"], "ts": change["ts"]})
            else:
                t.upsert(name, {name: value for name, value in change.items() if name != "op"})


def check(merger: Any, program: Any, config: dict[str, Any], feed: list[Change], seed: int) -> None:
    """The same batches: the first by dbt on both, the others in one transaction, and by a run of dbt."""
    by_dbt, by_program = merger(config, SCHEMA), merger(config, SCHEMA)
    first, *others = [[FIRST], *split(feed, seed)]
    try:
        for table in (by_dbt, by_program):
            table.merge(first)
        by_dbt.merge([change for batch in others for change in batch])
        in_transaction(program.name(by_program), program.spark, others)
        assert by_program.rows() == by_dbt.rows()
        assert by_program.kind() == by_dbt.kind()
        assert program.left(by_program) == ([], [])
        # the ledgers are the same too: what is known already is not written again
        assert by_program.merge([change for batch in others for change in batch]).version == 0
    finally:
        by_dbt.drop()
        by_program.drop()


def run(merger: Any, program: Any, config: dict[str, Any], examples: int) -> None:
    @given(feed=feeds(), seed=st.integers(0, 2**16))
    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
    def once(feed: list[Change], seed: int) -> None:
        check(merger, program, {**CONFIG, **config}, feed, seed)

    once()


@pytest.fixture(autouse=True)
def two_deltas_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction_thresholds, "DELTAS", 2)


class TestTransactionProperties:
    @pytest.mark.slow
    @pytest.mark.parametrize("variant", REPRESENTED)
    def test_a_transaction_gives_the_table_of_a_dbt_run(
        self, merger: Any, program: Any, variant: str
    ) -> None:
        run(merger, program, VARIANTS[variant], 1)

    @pytest.mark.slow
    @pytest.mark.parametrize("variant", [*VARIANTS, *MORE_VARIANTS])
    def test_a_transaction_gives_the_table_of_a_dbt_run_often(
        self, merger: Any, program: Any, variant: str
    ) -> None:
        run(merger, program, {**VARIANTS, **MORE_VARIANTS}[variant], OFTEN)

    @pytest.mark.parametrize(
        "config", [{}, {"ignore_null_updates": True, **ON_READ}], ids=["whole", "partial"]
    )
    def test_without_a_sequence_later_changes_win(
        self, merger: Any, program: Any, config: dict[str, Any]
    ) -> None:
        table = merger({"unique_key": "id", **config}, "id bigint, a string, b string")
        table.merge([{"id": 1, "a": "old", "b": "old"}, {"id": 2, "a": "old", "b": "old"}])
        name = program.name(table)
        with lakemerge.transaction(name, spark=program.spark) as t:
            t.delete(name, {"id": 1})
            t.upsert(name, {"id": 1, "a": "x", "b": None})
            t.upsert(name, {"id": 2, "a": "y", "b": "y"})
            t.upsert(name, {"id": 2, "a": "z", "b": None})
            t.upsert(name, {"id": 3, "a": "gone", "b": None})
            t.delete(name, {"id": 3})
        kept = "y" if config else None
        assert table.rows() == [{"id": 1, "a": "x", "b": None}, {"id": 2, "a": "z", "b": kept}]
        table.drop()
