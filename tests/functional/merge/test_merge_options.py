"""Each option of the merge, and what it refuses."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any, ClassVar

import pytest
from dbt_common.exceptions import CompilationError, DbtRuntimeError

SCHEMA = "id bigint, name string, price double, ts bigint, op string"
FEED = {"unique_key": "id", "sequence_by": "ts", "apply_as_deletes": "op = 'D'", "except_column_list": ["op"]}


def change(
    key: int | None, name: str | None, price: float | None, ts: int | None, op: str = "U"
) -> dict[str, Any]:
    return {"id": key, "name": name, "price": price, "ts": ts, "op": op}


class TestRefusals:
    """What has no one answer is refused with the keys named, and the table stays as it was."""

    @pytest.mark.parametrize(
        ("config", "rows", "error", "named"),
        [
            (FEED, [change(None, "a", 1.0, 1)], "NullKey", "1 rows of the feed"),
            (FEED, [change(7, "a", 1.0, None), change(7, "b", 1.0, 3)], "NullSequence", "(7)"),
            (FEED, [change(7, "a", 1.0, 3), change(7, "b", 1.0, 3)], "AmbiguousChange", "(7)"),
            (
                {"unique_key": ["id", "name"], "except_column_list": ["op"]},
                [change(7, "a", 1.0, 3), change(7, "a", 2.0, 4)],
                "AmbiguousChange",
                "(7, a)",
            ),
            ({"unique_key": "id", "sync": "full"}, [], "EmptySync", "would delete every row"),
            ({"unique_key": "nope"}, [change(1, "a", 1.0, 1)], "InvalidConfig", "unique_key nope"),
        ],
    )
    def test_refused_before_anything_is_written(
        self, merger: Any, config: dict[str, Any], rows: list[dict[str, Any]], error: str, named: str
    ) -> None:
        table = merger(config, SCHEMA)
        table.merge(
            [change(1, "kept", 1.0, 1)] if "nope" not in str(config) else []
        ) if error != "InvalidConfig" else None
        with pytest.raises(DbtRuntimeError) as raised:
            table.merge(rows)
        assert error in str(raised.value)
        assert named in str(raised.value)
        if error != "InvalidConfig":
            assert [row["name"] for row in table.rows()] == ["kept"]
            assert len(table.history()) == 1

    def test_identical_repeats_are_no_tie(self, merger: Any) -> None:
        table = merger(FEED, SCHEMA)
        assert table.merge([change(1, "a", 1.0, 1)] * 3).inserted == 1

    def test_a_tie_across_batches_is_refused_too(self, merger: Any) -> None:
        table = merger(FEED, SCHEMA)
        table.merge([change(1, "a", 1.0, 5)])
        with pytest.raises(DbtRuntimeError, match=r"AmbiguousChange.*for the keys \(1\)"):
            table.merge([change(1, "other", 1.0, 5)])
        assert table.rows()[0]["name"] == "a"

    def test_on_sequence_tie_any_takes_the_same_row_in_any_order(self, merger: Any) -> None:
        rows = [change(1, "a", 1.0, 3), change(1, "b", 2.0, 3), change(1, "c", 3.0, 3)]
        found = []
        for order in (rows, rows[::-1]):
            table = merger({**FEED, "on_sequence_tie": "any"}, SCHEMA)
            table.merge(order)
            found.append(table.rows())
        assert found[0] == found[1]

    def test_all_wrong_options_are_named_at_once(self, merger: Any) -> None:
        table = merger(
            {"sync": "partly", "tombstone_retention": "soon", "ignore_null_updates": "yes"}, SCHEMA
        )
        with pytest.raises(CompilationError) as raised:
            table.merge([])
        for option in (
            "sync must be one of",
            "tombstone_retention",
            "ignore_null_updates",
            "needs a unique_key",
        ):
            assert option in str(raised.value)


class TestWithoutSequence:
    CONFIG: ClassVar = {"unique_key": "id", "except_column_list": ["op", "ts"]}

    def test_rows_are_inserted_and_updated_and_equal_ones_left_alone(self, merger: Any) -> None:
        table = merger(self.CONFIG, SCHEMA)
        table.merge([change(1, "a", 1.0, 0), change(2, None, None, 0)])
        response = table.merge([change(1, "b", 1.0, 0), change(2, None, None, 0), change(3, "c", 1.0, 0)])
        assert (response.inserted, response.updated, response.ignored) == (1, 1, 1)
        assert [row["name"] for row in table.rows()] == ["b", None, "c"]
        assert table.merge([change(1, "b", 1.0, 0)]).version == 0

    def test_deletes_apply_to_what_is_there(self, merger: Any) -> None:
        table = merger({**self.CONFIG, "apply_as_deletes": "op = 'D'"}, SCHEMA)
        table.merge([change(1, "a", 1.0, 0)])
        response = table.merge([change(1, None, None, 0, "D"), change(9, None, None, 0, "D")])
        assert (response.deleted, response.ignored) == (1, 1)
        assert table.rows() == []


class TestTruncates:
    def test_a_truncate_ends_rows_whose_only_changes_are_older_than_it(self, merger: Any) -> None:
        table = merger({**FEED, "partition_by": "name", "apply_as_truncates": "op = 'T'"}, SCHEMA)
        table.merge([change(n, "p", 1.0, 1) for n in (1, 2, 3)] + [change(4, "q", 1.0, 9)])
        response = table.merge(
            [
                change(None, None, None, 5, "T"),
                change(1, "p", 2.0, 4),  # newer than the stored row, older than the truncate
                change(2, "p", 1.0, 1),  # delivered again
            ]
        )
        assert (response.updated, response.deleted, response.ignored) == (0, 3, 2)
        assert [row["id"] for row in table.rows()] == [4]


class TestPartialUpdates:
    def test_nulls_keep_the_stored_value(self, merger: Any) -> None:
        table = merger({**FEED, "ignore_null_updates": True}, SCHEMA)
        table.merge([change(1, "a", 1.0, 1)])
        table.merge([change(1, None, 2.0, 2)])
        assert table.rows() == [{"id": 1, "name": "a", "price": 2.0, "ts": 2}]

    def test_partial_updates_of_one_batch_add_up_as_if_they_came_alone(self, merger: Any) -> None:
        feed = [change(1, "a", None, 1), change(1, None, 2.0, 2), change(1, "c", None, 3)]
        table = merger({**FEED, "ignore_null_updates": True}, SCHEMA)
        table.merge(feed[:1])
        table.merge(feed[1:])
        assert table.rows() == [{"id": 1, "name": "c", "price": 2.0, "ts": 3}]

    def test_a_delete_in_between_ends_what_was_stored(self, merger: Any) -> None:
        table = merger({**FEED, "ignore_null_updates": True}, SCHEMA)
        table.merge([change(1, "a", 1.0, 1)])
        table.merge([change(1, None, None, 2, "D"), change(1, None, 3.0, 3)])
        assert table.rows() == [{"id": 1, "name": None, "price": 3.0, "ts": 3}]

    def test_only_the_listed_columns_are_updated(self, merger: Any) -> None:
        table = merger({**FEED, "merge_update_columns": ["price", "ts"]}, SCHEMA)
        table.merge([change(1, "a", 1.0, 1)])
        table.merge([change(1, "b", 2.0, 2), change(2, "first", 1.0, 1), change(2, "second", 5.0, 2)])
        assert [(row["name"], row["price"]) for row in table.rows()] == [("a", 2.0), ("first", 5.0)]

    def test_excluded_columns_are_not_updated_and_late_rows_are_known_all_the_same(self, merger: Any) -> None:
        table = merger({**FEED, "merge_exclude_columns": ["ts"]}, SCHEMA)
        table.merge([change(1, "a", 1.0, 1)])
        table.merge([change(1, "b", 2.0, 5)])
        assert table.merge([change(1, "late", 2.0, 3)]).version == 0
        assert table.rows() == [{"id": 1, "name": "b", "price": 2.0, "ts": 1}]

    @pytest.mark.parametrize("known_by", ["table", "ledger"])
    def test_late_changes_are_ignored_as_a_whole_before_the_rest_is_applied(
        self, merger: Any, known_by: str
    ) -> None:
        hidden = ["op"] if known_by == "table" else ["op", "ts"]
        table = merger({**FEED, "ignore_null_updates": True, "except_column_list": hidden}, SCHEMA)
        table.merge([change(1, "a", 99.0, 100), change(2, "b", 99.0, 100), change(3, None, None, 100, "D")])
        response = table.merge(
            [
                change(1, None, 50.0, 90),
                change(1, "late", None, 100) if known_by == "ledger" else change(1, "a", 99.0, 100),
                change(1, "new", None, 120),
                change(2, None, None, 50, "D"),
                change(2, "new", None, 120),
                change(3, None, 50.0, 90),
                change(3, "new", None, 120),
            ]
        )
        assert (response.inserted, response.updated, response.ignored) == (1, 2, 0)
        assert [(row["name"], row["price"]) for row in table.rows()] == [
            ("new", 99.0),
            ("new", 99.0),
            ("new", None),
        ]

    def test_a_late_change_is_not_what_inserts_a_deleted_key_again(self, merger: Any) -> None:
        table = merger({**FEED, "merge_update_columns": ["price", "ts"]}, SCHEMA)
        table.merge([change(1, None, None, 5, "D")])
        table.merge([change(1, "late", 1.0, 4), change(1, "first", 1.0, 6), change(1, "second", 2.0, 7)])
        assert table.rows() == [{"id": 1, "name": "first", "price": 2.0, "ts": 7}]

    @pytest.mark.slow
    def test_a_repetition_says_nothing_of_the_columns_that_it_leaves_alone(self, merger: Any) -> None:
        config = {**FEED, "ignore_null_updates": True, "merge_exclude_columns": ["name"]}
        table = merger(config, SCHEMA)
        feed = [change(1, "a", 1.0, 1), change(1, "not stored", None, 3)]
        table.merge(feed)
        assert table.merge([change(1, "late", 7.0, 2)]).version == 0
        for again in (feed[1:], feed[::-1], [change(1, "late", 7.0, 2), *feed]):
            assert table.merge(again).version == 0
        with pytest.raises(DbtRuntimeError, match=r"AmbiguousChange.*for the keys \(1\)"):
            table.merge([change(1, None, 2.0, 3)])
        assert table.rows() == [{"id": 1, "name": "a", "price": 1.0, "ts": 3}]

    def test_contradictions_below_the_newest_change_are_refused_too(self, merger: Any) -> None:
        tied = [change(1, "a", None, 3), change(1, "b", None, 3)]
        table = merger({**FEED, "ignore_null_updates": True}, SCHEMA)
        with pytest.raises(DbtRuntimeError, match=r"AmbiguousChange.*one change for each sequence.*\(1\)"):
            table.merge([*tied, change(1, None, 2.0, 4)])
        table.merge([*tied, change(1, None, None, 4, "D"), change(1, None, 2.0, 5)])
        assert table.rows() == [{"id": 1, "name": None, "price": 2.0, "ts": 5}]

    @pytest.mark.slow
    def test_a_part_of_the_sequence_that_an_update_leaves_out_is_not_taken_from_the_stored_row(
        self, merger: Any
    ) -> None:
        config = {"sequence_by": ["ts", "coalesce(price, 0)"], "ignore_null_updates": True}
        table = merger({**FEED, **config}, SCHEMA)
        table.merge([change(1, "a", 7.0, 1)])
        table.merge([change(1, "b", None, 2)])  # at (2, 0), though the stored row has (2, 7.0) then
        assert table.merge([change(1, "c", 3.0, 2)]).updated == 1
        assert table.merge([change(1, "late", 1.0, 2)]).version == 0
        assert table.rows() == [{"id": 1, "name": "c", "price": 3.0, "ts": 2}]

    @pytest.mark.parametrize(
        "config",
        [
            {"ignore_null_updates": True},
            pytest.param({"merge_update_columns": ["price", "ts"]}, marks=pytest.mark.slow),
        ],
    )
    def test_an_update_that_leaves_the_partition_alone_finds_its_row(
        self, merger: Any, config: dict[str, Any]
    ) -> None:
        table = merger({**FEED, **config, "partition_by": "name", "partition_moves": False}, SCHEMA)
        table.merge([change(1, "p", 1.0, 1), change(2, "q", 1.0, 1)])
        assert table.merge([change(1, None, 2.0, 2)]).updated == 1
        assert [(row["name"], row["price"]) for row in table.rows()] == [("p", 2.0), ("q", 1.0)]


class TestSync:
    def test_absent_keys_are_deletes(self, merger: Any) -> None:
        table = merger({"unique_key": "id", "sync": "full", "partition_by": "name"}, SCHEMA)
        table.merge([change(1, "p", 1.0, 1), change(2, "q", 1.0, 1), change(3, "p", 1.0, 1)])
        response = table.merge([change(1, "p", 1.0, 1), change(3, "q", 2.0, 1), change(4, "r", 1.0, 1)])
        assert (response.inserted, response.updated, response.deleted, response.ignored) == (1, 1, 1, 1)
        assert [(row["id"], row["name"]) for row in table.rows()] == [(1, "p"), (3, "q"), (4, "r")]
        assert (
            table.merge([change(1, "p", 1.0, 1), change(3, "q", 2.0, 1), change(4, "r", 1.0, 1)]).version == 0
        )

    def test_an_empty_feed_empties_the_table_when_allowed(self, merger: Any) -> None:
        table = merger({"unique_key": "id", "sync": "full", "allow_empty_sync": True}, SCHEMA)
        table.merge([change(1, "p", 1.0, 1)])
        assert table.merge([]).deleted == 1
        assert table.rows() == []


class TestPredicatesAndPartitions:
    def test_a_stored_row_that_fails_the_predicate_is_not_matched(self, merger: Any) -> None:
        config = {"unique_key": "id", "incremental_predicates": ["dbt_internal_dest.price > 10"]}
        table = merger(config, "id bigint, name string, price double, ts bigint")
        table.merge(
            [{"id": 1, "name": "a", "price": 5.0, "ts": 1}, {"id": 2, "name": "b", "price": 50.0, "ts": 1}]
        )
        table.merge(
            [{"id": 1, "name": "c", "price": 6.0, "ts": 1}, {"id": 2, "name": "d", "price": 60.0, "ts": 1}]
        )
        assert sorted(row["name"] for row in table.rows()) == ["a", "c", "d"]

    def test_rows_that_repeat_a_key_are_replaced_by_one(self, merger: Any) -> None:
        table = merger({**FEED, "ignore_null_updates": True, "except_column_list": []}, SCHEMA)
        table.merge([change(1, "a", 1.0, 1)])
        table.sql("insert into {table} values (1, 'b', 2.0, 2, 'U')")
        assert table.merge([change(1, None, 3.0, 3)]).updated == 1
        assert [(row["name"], row["price"]) for row in table.rows()] == [("b", 3.0)]

    def test_a_key_that_never_moves_is_looked_for_in_its_partition_alone(self, merger: Any) -> None:
        table = merger({**FEED, "partition_by": "name", "partition_moves": False}, SCHEMA)
        table.merge([change(n, "pq"[n % 2], 1.0, 1) for n in range(6)])
        table.merge([change(2, "p", 2.0, 2), change(4, None, None, 2, "D"), change(3, "q", None, 2, "D")])
        assert [(row["id"], row["price"]) for row in table.rows()] == [(0, 1.0), (1, 1.0), (2, 2.0), (5, 1.0)]

    def test_an_empty_partition_value_is_known_again(self, merger: Any) -> None:
        table = merger({**FEED, "partition_by": "name"}, SCHEMA)
        table.merge([change(1, "", 1.0, 1)])
        assert table.merge([change(1, "", 1.0, 1)]).version == 0
        table = merger({"unique_key": ["id", "name"], "partition_by": "name"}, SCHEMA)
        with pytest.raises(DbtRuntimeError, match=r"NullKey.*1 rows"):
            table.merge([change(1, "", 1.0, 1)])

    def test_a_feed_without_the_partition_column_leaves_keys_where_they_are(self, merger: Any) -> None:
        table = merger({**FEED, "partition_by": "name", "partition_moves": False}, SCHEMA)
        table.merge([change(1, "p", 1.0, 1)])
        table.feed = "id bigint, price double, ts bigint, op string"
        table.merge([{"id": 1, "price": 2.0, "ts": 2, "op": "U"}])
        assert table.rows() == [{"id": 1, "name": "p", "price": 2.0, "ts": 2}]

    def test_a_composite_key_that_holds_the_partition(self, merger: Any) -> None:
        table = merger({"unique_key": ["id", "name"], "sequence_by": "ts", "partition_by": "name"}, SCHEMA)
        table.merge([change(1, "p", 1.0, 1), change(1, "q", 1.0, 1)])
        response = table.merge([change(1, "p", 2.0, 2), change(1, "r", 1.0, 2)])
        assert (response.inserted, response.updated) == (1, 1)
        assert [(row["name"], row["price"]) for row in table.rows("name")] == [
            ("p", 2.0),
            ("q", 1.0),
            ("r", 1.0),
        ]

    def test_a_row_moves_to_another_partition_and_an_empty_partition_goes(self, merger: Any) -> None:
        table = merger({**FEED, "partition_by": "name"}, SCHEMA)
        table.merge([change(1, "p", 1.0, 1), change(2, "q", 1.0, 1)])
        table.merge([change(1, "q", 1.0, 2)])
        assert [row["name"] for row in table.rows()] == ["q", "q"]
        assert [row[0] for row in table.sql(f"show partitions {table.relation.render()}")] == ["name=q"]

    def test_odd_partition_values_and_column_names(self, merger: Any) -> None:
        values = [
            "a/b",
            "a=b",
            "100%",
            "it's",
            'say "x"',
            "both ' and \"",
            "ünï çode",
            " space ",
            "back\\slash",
            None,
        ]
        config = {"unique_key": "the key", "partition_by": "p-art", "sequence_by": "`order`"}
        table = merger(config, "`the key` int, `p-art` string, `order` int, `select` string")
        rows = [{"k": n, "p": value, "o": 1, "s": "old"} for n, value in enumerate(values)]
        table.merge(rows)
        table.merge([{**row, "o": 2, "s": "new"} for row in rows[::2]])
        found = table.rows("`the key`")
        assert [row["p-art"] for row in found] == values
        assert [row["select"] for row in found] == ["new", "old"] * 5

    @pytest.mark.slow
    @pytest.mark.parametrize("moves", [True, False], ids=["found by a scan", "known"])
    def test_each_odd_partition_rewritten_alone(self, merger: Any, moves: bool) -> None:
        values = ["a/b=100%", "both ' and \"", None]
        config: dict[str, Any] = {"unique_key": "id", "partition_by": ["p-art", "_day"], "sequence_by": "_o"}
        config |= {"partition_moves": moves, "apply_as_deletes": "_s is null"}
        table = merger(config, "id int, `_o` int, `_s` string, `p-art` string, `_day` date")
        day = datetime.date(2024, 2, 29)
        rows = [
            {"id": n, "o": 1, "s": "old", "p": value, "d": day} for n, value in enumerate([*values, *values])
        ]
        table.merge(rows)
        partitions = table.sql(f"show partitions {table.relation.render()}")
        for n, row in enumerate(rows[:3]):
            # one row of the partition is updated, the other one stays
            response = table.merge([{**row, "o": 2 + n, "s": "new"}])
            assert (response.updated, response.rows_affected) == (1, 1)
        assert [row["_s"] for row in table.rows()] == ["new"] * 3 + ["old"] * 3
        assert table.sql(f"show partitions {table.relation.render()}") == partitions
        table.merge([{**row, "o": 9, "s": None} for row in (rows[0], rows[3])])
        assert [(row["id"], row["p-art"], row["_day"]) for row in table.rows()] == [
            (n, rows[n]["p"], day) for n in (1, 2, 4, 5)
        ]


class TestTypes:
    DDL = (
        "id int, s struct<a:int,b:array<string>>, m map<string,struct<x:int>>, d decimal(20,4), b binary, "
        "n timestamp_ntz, t timestamp, day date, f float, a array<map<string,int>>, ts bigint"
    )

    def row(self, ts: int, value: int | None) -> dict[str, Any]:
        moment = datetime.datetime(2024, 5, 6, 7, 8, 9, 123456)
        filled = {
            "s": (value, ["x", None]),
            "m": {"k": (value,)},
            "d": Decimal("12345.6789"),
            "b": bytearray(b"\x00\xff"),
            "n": moment,
            "t": moment,
            "day": moment.date(),
            "f": 1.5,
            "a": [{"q": 1}],
        }
        return {"id": 1, **(filled if value is not None else dict.fromkeys(filled)), "ts": ts}

    @pytest.mark.parametrize("file_format", ["orc", pytest.param("parquet", marks=pytest.mark.slow)])
    def test_nested_and_rare_types_go_round(self, merger: Any, file_format: str) -> None:
        table = merger({"unique_key": "id", "sequence_by": "ts", "file_format": file_format}, self.DDL)
        table.merge([self.row(1, 1)])
        table.merge([self.row(3, 3), self.row(2, None)])
        (row,) = table.rows()
        assert row["s"] == {"a": 3, "b": ["x", None]}
        assert row["m"] == {"k": {"x": 3}}
        assert (row["d"], bytes(row["b"]), row["f"]) == (Decimal("12345.6789"), b"\x00\xff", 1.5)
        assert row["n"] == datetime.datetime(2024, 5, 6, 7, 8, 9, 123456)
        assert row["a"] == [{"q": 1}]
        table.merge([self.row(4, None)])
        assert {name for name, value in table.rows()[0].items() if value is not None} == {"id", "ts"}

    def test_maps_are_compared_whatever_the_order_of_their_entries(self, merger: Any) -> None:
        table = merger({"unique_key": "id"}, "id int, m map<string,int>")
        table.merge([{"id": 1, "m": {"a": 1, "b": 2}}])
        assert table.merge([{"id": 1, "m": {"b": 2, "a": 1}}]).version == 0
        assert table.merge([{"id": 1, "m": {"b": 2, "a": 9}}]).updated == 1


class TestSchemaChange:
    BEFORE = "id int, a string, ts int"
    AFTER = "id int, b double, ts int"

    def changed(self, merger: Any, policy: str) -> Any:
        table = merger({"unique_key": "id", "sequence_by": "ts", "on_schema_change": policy}, self.BEFORE)
        table.merge([{"id": 1, "a": "one", "ts": 1}, {"id": 2, "a": "two", "ts": 1}])
        table.feed = self.AFTER
        table.merge([{"id": 2, "b": 2.5, "ts": 2}, {"id": 3, "b": 3.5, "ts": 2}])
        return table.rows()

    def test_ignore_keeps_the_tables_columns_and_what_they_hold(self, merger: Any) -> None:
        assert [row["a"] for row in self.changed(merger, "ignore")] == ["one", "two", None]

    @pytest.mark.parametrize("end", ["D", "T"])
    def test_a_column_that_the_feed_lacks_does_not_outlive_its_row(self, merger: Any, end: str) -> None:
        config = {"unique_key": "id", "sequence_by": "ts", "except_column_list": ["op"]}
        config |= {"apply_as_deletes": "op = 'D'", "apply_as_truncates": "op = 'T'"}
        table = merger(config, "id int, a string, ts int, op string")
        table.merge([{"id": 1, "a": "one", "ts": 1, "op": "U"}])
        table.feed = "id int, ts int, op string"
        table.merge([{"id": 1, "ts": 2, "op": end}, {"id": 1, "ts": 3, "op": "U"}])
        assert table.rows() == [{"id": 1, "a": None, "ts": 3}]

    def test_append_new_columns(self, merger: Any) -> None:
        rows = self.changed(merger, "append_new_columns")
        assert [(row["a"], row["b"]) for row in rows] == [("one", None), ("two", 2.5), (None, 3.5)]

    def test_sync_all_columns(self, merger: Any) -> None:
        rows = self.changed(merger, "sync_all_columns")
        assert [set(row) for row in rows] == [{"id", "ts", "b"}] * 3
        assert [row["b"] for row in rows] == [None, 2.5, 3.5]

    def test_sync_all_columns_takes_over_a_type(self, merger: Any) -> None:
        table = merger({"unique_key": "id", "on_schema_change": "sync_all_columns"}, "id int, a int")
        table.merge([{"id": 1, "a": 7}, {"id": 2, "a": 8}])
        table.feed = "id int, a string"
        table.merge([{"id": 2, "a": "eight"}])
        assert [row["a"] for row in table.rows()] == ["7", "eight"]

    def test_fail_is_a_compilation_error(self, merger: Any) -> None:
        with pytest.raises(CompilationError, match=r"new: b; gone: a"):
            self.changed(merger, "fail")

    def test_a_lossy_type_is_refused(self, merger: Any) -> None:
        table = merger({"unique_key": "id"}, "id int, a int")
        table.merge([{"id": 1, "a": 7}])
        table.feed = "id int, a string"
        with pytest.raises(DbtRuntimeError, match=r"IncompatibleColumn.*a: string into int"):
            table.merge([{"id": 1, "a": "x"}])

    def test_sync_all_columns_refuses_a_type_that_loses_stored_values(self, merger: Any) -> None:
        table = merger({"unique_key": "id", "on_schema_change": "sync_all_columns"}, "id int, a string")
        table.merge([{"id": 1, "a": "1"}, {"id": 2, "a": "x"}])
        table.feed = "id int, a int"
        with pytest.raises(DbtRuntimeError, match=r"IncompatibleColumn.*found 1 of a \(string\)"):
            table.merge([{"id": 3, "a": 3}])
        assert [row["a"] for row in table.rows()] == ["1", "x"]


class TestLedger:
    def test_a_tombstone_is_forgotten_after_its_retention(self, merger: Any) -> None:
        table = merger({**FEED, "tombstone_retention": "0 seconds"}, SCHEMA)
        table.merge([change(1, None, None, 5, "D"), change(2, "b", 1.0, 1)])
        assert table.merge([change(1, "older", 1.0, 3)]).inserted == 1

    @pytest.mark.slow
    def test_a_long_ledger_is_written_anew_and_still_knows_all(self, merger: Any) -> None:
        table = merger(FEED, SCHEMA)
        for key in range(12):
            table.merge([change(key, "x", 1.0, 5), change(key + 100, None, None, 5, "D")])
        late = [change(key + 100, "late", 1.0, 3) for key in range(12)]
        assert table.merge(late).version == 0
        assert len(table.rows()) == 12

    def test_a_sequence_that_the_table_does_not_hold_is_found_by_no_query_that_fails(
        self, merger: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        table = merger({**FEED, "except_column_list": ["op", "ts"]}, SCHEMA)
        table.merge([change(1, "a", 1.0, 10)])
        table.merge([change(1, "late", 1.0, 9), change(2, "c", 1.0, 1)])
        assert [row["name"] for row in table.rows()] == ["a", "c"]
        # pyspark's, of errors
        assert "SQLQueryContextLogger" not in {record.name for record in caplog.records}
