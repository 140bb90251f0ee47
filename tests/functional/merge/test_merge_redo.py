"""What a merge does when another commit overtakes it."""

from __future__ import annotations

from typing import Any

import pytest

from functional.overtaking import before, lose_rows, overtake

BY_DAY = {"unique_key": ["id", "day"], "partition_by": "day", "on_schema_change": "sync_all_columns"}


class TestRedo:
    @pytest.mark.parametrize(
        "history", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["master", "history"]
    )
    def test_the_feed_is_computed_again_on_what_the_other_commit_left(
        self, merger: Any, monkeypatch: pytest.MonkeyPatch, history: bool
    ) -> None:
        config = {"unique_key": "id", "sequence_by": "ts", "stored_as_scd_type": "2" if history else "1"}
        table = merger(config, "id int, price double, ts int")
        table.merge([{"id": 1, "price": 10.0, "ts": 1}])
        overtake(monkeypatch, lambda: table.merge([{"id": 1, "price": 100.0, "ts": 50}]))
        latest = "select id, max_by(price, ts) + 1 as price, max(ts) + 1 as ts from {table} group by id"
        assert table.merge(latest).version == 3
        assert [(row["price"], row["ts"]) for row in table.rows("ts")][-1] == (101.0, 51)

    def test_rows_that_are_gone_with_an_executor_are_computed_again(
        self, merger: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        table = merger({"unique_key": "id", "sequence_by": "ts"}, "id int, price double, ts int")
        table.merge([{"id": 1, "price": 10.0, "ts": 1}])
        lost = lose_rows(monkeypatch)
        table.merge([{"id": 1, "price": 11.0, "ts": 2}, {"id": 2, "price": 20.0, "ts": 2}])
        assert lost
        assert [row["price"] for row in table.rows()] == [11.0, 20.0]
        assert [commit["version"] for commit in table.history()] == [2, 1]

    def test_rows_of_another_program_stay_in_a_partition_that_was_read_before(
        self, merger: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        table = merger(BY_DAY, "id int, price int, day int")
        table.merge([{"id": 1, "price": 1, "day": 5}])
        overtake(monkeypatch, lambda: table.sql("insert into {table} partition (day = 5) values (2, 2)"))
        table.merge([{"id": 1, "price": 10, "day": 5}])
        assert [tuple(row.values()) for row in table.rows()] == [(1, 10, 5), (2, 2, 5)]

    def test_a_partition_that_comes_between_is_not_taken_for_one_that_was_read(
        self, merger: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        table = merger(BY_DAY, "id int, price int, day int")
        table.merge([{"id": 1, "price": 1, "day": 5}])
        # one insert before the rows are read, and one after
        insert = "insert into {table} partition (day = 9) values"
        before(monkeypatch, "stage", lambda: table.sql(f"{insert} (2, 2)"))
        overtake(monkeypatch, lambda: table.sql(f"{insert} (3, 3)"))
        table.merge([{"id": 1, "price": 10, "day": 5}])
        assert [tuple(row.values()) for row in table.rows()] == [(1, 10, 5), (2, 2, 9), (3, 3, 9)]
        assert [commit["operation"] for commit in table.history()].count("merge") == 2

    @pytest.mark.slow
    @pytest.mark.parametrize("day", [5, 9])
    @pytest.mark.parametrize("other", ["merge", "insert"])
    def test_a_change_of_types_depends_on_partitions_without_changes_too(
        self, merger: Any, monkeypatch: pytest.MonkeyPatch, other: str, day: int
    ) -> None:
        table = merger(BY_DAY, "id int, price int, day int")
        table.merge([{"id": 1, "price": 1, "day": 1}, {"id": 2, "price": 2, "day": 5}])
        writes = {
            "merge": lambda: table.merge([{"id": 3, "price": 3, "day": day}]),
            "insert": lambda: table.sql(f"insert into {{table}} partition (day = {day}) values (3, 3)"),
        }
        overtake(monkeypatch, writes[other])
        table.merge("select 1 as id, 10L as price, 1 as day")
        assert [tuple(row.values()) for row in table.rows()] == [(1, 10, 1), (2, 2, 5), (3, 3, day)]
        assert table.sql("select typeof(price) from {table}")[0][0] == "bigint"
