"""Merge on read gives the same table as copy on write, whatever the order, split and repetition of a feed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakemerge import compaction_thresholds
from lakemerge.engine.merge import on_read
from lakemerge.engine.merge_on_read.deltas import Deltas
from lakemerge.engine.publish.publisher import Publisher
from lakemerge.errors import MetastoreError
from rings import of_rings

from .oracle import Change
from .test_merge_properties import (
    CONFIG,
    FEW,
    REPRESENTATIVE,
    SCHEMA,
    VARIANTS,
    as_stored,
    feeds,
    oracle_of,
    split,
)

ON_READ = {"write_mode": "merge_on_read"}
FEED = "id bigint, region string, name string, ts bigint, op string"


def change(number: int, ts: int, **other: Any) -> dict[str, Any]:
    return {"id": number, "region": "north", "name": f"n{ts}", "ts": ts, "op": "U", **other}


def refuse(*_: Any) -> Any:
    raise MetastoreError(expected="an answer", found="none", action="Run again.")


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


@pytest.mark.slow
class TestMergeOnRead:
    @pytest.mark.parametrize("variant", of_rings(REPRESENTATIVE, FEW[:1]))
    def test_any_split_and_order_gives_the_oracles_table(self, merger: Any, variant: str) -> None:
        config: dict[str, Any] = {**CONFIG, **VARIANTS[variant], **ON_READ}

        @given(
            feed=feeds(truncates="truncates" in variant),
            seed=st.integers(0, 2**16),
            exact_counts=st.booleans(),
            most_deltas=st.sampled_from([1, 2, 100]),
        )
        @settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
        def run(feed: list[Change], seed: int, exact_counts: bool, most_deltas: int) -> None:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(compaction_thresholds, "DELTAS", most_deltas)
                check(merger, {**config, "exact_counts": exact_counts}, feed, seed)

        run()


class TestAuto:
    """What is rewritten costs little in these tests, unless the limit is none."""

    def test_each_run_says_what_it_chose(self, merger: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        table = merger({**CONFIG, "partition_by": "region", "write_mode": "auto"}, FEED)

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

    @pytest.mark.slow
    def test_a_rewrite_takes_the_partitions_of_its_feed_and_leaves_the_deltas_of_others(
        self, merger: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        options = {"write_mode": "auto", "partition_by": "region", "exact_counts": True}
        table = merger({**CONFIG, **options}, FEED)

        def south(ts: int, op: str = "U") -> dict[str, Any]:
            return change(2, ts, region="south", op=op)

        def base() -> list[str]:
            rows = table.sql(f"select name from {table.relation.schema}.{table.name}__base order by id")
            return [row["name"] for row in rows]

        table.merge([change(1, 1), south(1)])
        with monkeypatch.context() as dear:
            dear.setattr(on_read, "_LEAST_BYTES", 0)
            dear.setattr(on_read, "_TIMES_DEARER", 0)
            table.merge([change(1, 2), south(2)])
        # no changes, or none that counts: nothing is written, and nothing is moved
        assert "copy_on_write" not in table.merge([])._message
        assert table.merge([change(1, 1)]).ignored == 1
        assert base() == ["n1", "n1"]
        assert "copy_on_write" in table.merge([change(1, 3)])._message
        assert base() == ["n3", "n1"]
        assert [row["name"] for row in table.rows()] == ["n3", "n2"]
        with table.adapter.connection_named(table.name):
            record = table.adapter.compaction.log(table.relation, 1)[0]
        assert (record["reason"], record["state"], record["left"]) == ("auto", "done", 1)
        # a feed of deletes does not tell where their rows are: all partitions count
        largest = max(state.bytes for state in table.partitions().values())
        monkeypatch.setattr(on_read, "_LEAST_BYTES", largest + 1)
        monkeypatch.setattr(on_read, "_TIMES_DEARER", 0)
        assert "copy_on_write" in table.merge([change(1, 4)])._message
        assert "merge_on_read" in table.merge([south(5, "D")])._message
        assert (base(), [row["name"] for row in table.rows()]) == (["n4", "n1"], ["n4"])
        table.drop()

    @pytest.mark.slow
    @pytest.mark.parametrize("columns", [FEED, f"{FEED}, more string"])
    def test_what_cannot_be_a_delta_is_rewritten_and_said_so(
        self, merger: Any, monkeypatch: pytest.MonkeyPatch, columns: str
    ) -> None:
        options = {
            "write_mode": "auto",
            "on_schema_change": "append_new_columns",
            "apply_as_truncates": "op = 'T'",
        }
        table = merger({**CONFIG, **options}, FEED)
        table.merge([change(1, 1)])
        monkeypatch.setattr(on_read, "_LEAST_BYTES", 0)
        monkeypatch.setattr(on_read, "_TIMES_DEARER", 0)
        table.merge([change(2, 2)])
        assert table.kind() == "VIRTUAL_VIEW"
        table.feed = columns
        last = change(3, 3, op="T") if columns == FEED else change(3, 3, more="m")
        assert "copy_on_write" in table.merge([last])._message
        assert (table.kind(), len(table.rows())) == ("MANAGED_TABLE", 0 if columns == FEED else 3)
        table.drop()

    @pytest.mark.slow
    @pytest.mark.parametrize("exact_counts", [False, True])
    def test_deltas_change_nothing_of_what_a_row_is_taken_to_cost(
        self, merger: Any, monkeypatch: pytest.MonkeyPatch, exact_counts: bool
    ) -> None:
        options = {"write_mode": "auto", "exact_counts": exact_counts}
        table = merger({**CONFIG, **options}, FEED)
        rows = "select id, 'north' as region, 'n' as name, 0L + {ts} as ts, 'U' as op from range({first}, {last})"
        monkeypatch.setattr(on_read, "_LEAST_BYTES", 0)
        table.merge(rows.format(ts=1, first=0, last=3000))
        # each a thirtieth of the rows, of which ten times the bytes are a third of what would be rewritten
        for ts in range(2, 5):
            assert "merge_on_read" in table.merge(rows.format(ts=ts, first=0, last=100))._message
        # new rows lie in deltas, so that those of the base get no smaller
        for ts in range(5, 8):
            assert "merge_on_read" in table.merge(rows.format(ts=ts, first=9000, last=9100))._message
        assert "copy_on_write" in table.merge(rows.format(ts=9, first=0, last=400))._message
        assert "merge_on_read" in table.merge(rows.format(ts=10, first=0, last=100))._message
        table.drop()


#: What follows on a commit: thresholds, the method that fails, and how one sees that a later run has done it.
STEPS: dict[str, tuple[dict[str, int], type, str, Callable[[Any], bool]]] = {
    "the view is put in the table's place": (
        {},
        Publisher,
        "begin_move",
        lambda table: table.kind() == "VIRTUAL_VIEW",
    ),
    "deltas are counted": (
        {"DELTAS": 2, "DELTAS_PERCENT": 10_000},
        Deltas,
        "count",
        lambda table: table.count_deltas() == 1,
    ),
    "deltas are moved into the base": (
        {"DELTAS": 1},
        Deltas,
        "move_into_base",
        lambda table: len(table.sql("select * from {table}__base")) == 3,
    ),
}


class TestAfterCommit:
    """What follows on a commit may fail: the commit stands, and if its node failed, it would be done again."""

    @pytest.mark.parametrize("step", of_rings(STEPS, ["deltas are counted"]))
    def test_a_step_that_fails_is_done_by_a_later_run(
        self, merger: Any, monkeypatch: pytest.MonkeyPatch, step: str
    ) -> None:
        thresholds, place, name, is_done = STEPS[step]
        for threshold, value in thresholds.items():
            monkeypatch.setattr(compaction_thresholds, threshold, value)
        table = merger({**CONFIG, **ON_READ}, FEED)
        with monkeypatch.context() as failing:
            if name == "begin_move":
                failing.setattr(place, name, refuse)
            assert table.merge([change(1, 1)]).rows_affected == 1
        with monkeypatch.context() as failing:
            if name != "begin_move":
                failing.setattr(place, name, refuse)
            assert table.merge([change(2, 2)]).rows_affected == 1
        table.merge([change(3, 3)])
        assert [row["name"] for row in table.rows()] == ["n1", "n2", "n3"]
        assert is_done(table)
        table.drop()

    @pytest.mark.slow
    def test_the_move_of_auto_fails_and_a_later_run_does_it(
        self, merger: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        table = merger({**CONFIG, "write_mode": "auto"}, FEED)
        table.merge([change(1, 1)])
        with monkeypatch.context() as dear:
            dear.setattr(on_read, "_LEAST_BYTES", 0)
            dear.setattr(on_read, "_TIMES_DEARER", 0)
            table.merge([change(2, 2)])
        with monkeypatch.context() as failing:
            failing.setattr(Publisher, "begin_move", refuse)
            assert table.merge([change(3, 3)]).rows_affected == 1
        base = f"select * from {table.relation.schema}.{table.name}__base"
        assert (len(table.rows()), len(table.sql(base))) == (3, 1)
        table.merge([change(4, 4)])
        assert (len(table.rows()), len(table.sql(base))) == (4, 4)
        table.drop()


class TestAttempts:
    """A run that changes how the table is read has not lost to anybody."""

    @pytest.mark.parametrize(
        "case", of_rings(["auto lays the view", "a truncate takes it away"], ["a truncate takes it away"])
    )
    def test_one_attempt_is_enough(self, merger: Any, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
        mode, last = (
            ("auto", change(2, 2)) if case.startswith("auto") else ("merge_on_read", change(2, 2, op="T"))
        )
        options = {"write_mode": mode, "max_attempts": 1, "apply_as_truncates": "op = 'T'"}
        table = merger({**CONFIG, **options}, FEED)
        table.merge([change(1, 1)])
        monkeypatch.setattr(on_read, "_LEAST_BYTES", 0)
        monkeypatch.setattr(on_read, "_TIMES_DEARER", 0)
        table.merge([last])
        assert [row["id"] for row in table.rows()] == ([1, 2] if mode == "auto" else [])
        assert table.kind() == "VIRTUAL_VIEW"
        table.drop()


@pytest.mark.slow
class TestRetiring:
    def test_deltas_that_the_base_holds_go_however_many_merges_follow(
        self, merger: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(compaction_thresholds, "DELTAS", 2)
        table = merger({**CONFIG, **ON_READ}, FEED)
        for number in range(1, 12):
            table.merge([change(number % 3, number)])
            shown = table.sql("select distinct lakemerge_txn from {table}__deltas")
            # at most the two of a move that is no ten minutes old, those of one before it, and those since
            assert len(shown) <= 6, number
            table.let_minutes_pass(4)
        assert [row["ts"] for row in table.rows()] == [9, 10, 11]
        table.let_minutes_pass(20)
        with table.adapter.connection_named(table.name):
            table.adapter.compaction.compact(table.context, table.relation, table.model)
        table.let_minutes_pass(20)
        with table.adapter.connection_named(table.name):
            table.adapter.compaction.compact(table.context, table.relation, table.model)
        assert table.sql("select * from {table}__deltas") == []
        assert [row["ts"] for row in table.rows()] == [9, 10, 11]
        table.drop()
