"""Transactions of a program over tables that dbt models made."""

from __future__ import annotations

import datetime
import decimal
import threading
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import lakemerge
from functional.overtaking import lose_rows
from lakemerge.engine.transactions import changes as changes_module
from lakemerge.engine.transactions.transaction import Transaction
from lakemerge.errors import (
    CommitConflict,
    CommitsExhausted,
    ConstraintViolated,
    IncompatibleColumn,
    InvalidConfig,
    InvalidRecord,
    InvalidTransactionState,
    LakemergeError,
    LeaseLost,
    SchemaChanged,
    UnsupportedTable,
)
from lakemerge.kernel import Kernel, as_of_group, history

ORDERS = {
    "unique_key": "id",
    "sequence_by": "ts",
    "apply_as_deletes": "op = 'D'",
    "except_column_list": ["op"],
    "partition_by": "region",
}
ORDERS_FEED = "id bigint, region string, name string, ts bigint, op string"
STOCK = {"unique_key": ["product", "place"], "partition_by": "place"}
STOCK_FEED = "product string, quantity int, place string"
LOG = {"append_layout": "commit_partitioned"}


def order(number: int, ts: int, name: str = "x", region: str = "north") -> dict[str, Any]:
    return {"id": number, "region": region, "name": name, "ts": ts}


@pytest.fixture(scope="class")
def shop(merger: Any, appended: Any) -> Any:
    """A table with a sequence, one with a key alone, and one without a key, of one row each."""
    orders, stock = merger(ORDERS, ORDERS_FEED), merger(STOCK, STOCK_FEED)
    log = appended(LOG, "id bigint, what string")
    orders.merge([{**order(1, 1), "op": "U"}])
    stock.merge([{"product": "lamp", "quantity": 5, "place": "A"}])
    log.append([{"id": 0, "what": "begin"}])
    return orders, stock, log


class TestTransactions:
    def test_all_tables_change_by_one_commit(self, shop: Any, program: Any) -> None:
        orders, stock, log = shop
        names = [program.name(table) for table in shop]
        kernel_names = [program.table_name(table) for table in shop]
        with lakemerge.transaction(*names, spark=program.spark) as t:
            t.upsert(names[0], [order(2, 2, "b", "south"), order(2, 2, "later", "south")])
            t.delete(names[0], {"id": 1, "ts": 3})
            t.upsert(names[1], {"product": "lamp", "quantity": 4, "place": "A"})
            t.upsert(names[1], {"product": "lamp", "quantity": 1, "place": "B"})
            t.delete(names[1], {"product": "lamp", "place": "A"})
            t.append(names[2], {"id": 1, "what": "sold"})
        assert t.state == "committed"
        assert orders.rows() == [order(2, 2, "later", "south")]
        assert stock.rows("place") == [{"product": "lamp", "quantity": 1, "place": "B"}]
        assert [row["what"] for row in log.sql("select * from {table} order by id")] == ["begin", "sold"]
        versions = as_of_group(program.kernel, kernel_names)
        assert len({manifest.group for manifest in versions.values()}) == 1
        assert all(manifest.group for manifest in versions.values())
        assert [program.left(table) for table in shop] == 3 * [([], [])]
        # the delete is remembered: a change that is older than it comes too late
        assert orders.merge([{**order(1, 2), "op": "U"}]).ignored == 1

    def test_rows_may_be_of_any_kind_and_later_ones_win(
        self, shop: Any, program: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stock = shop[1]
        monkeypatch.setattr(changes_module, "_BUFFERED_RECORDS", 2)
        with lakemerge.transaction(program.name(stock), spark=program.spark) as t:

            def upsert(rows: Any) -> None:
                t.upsert(program.name(stock), rows)

            upsert({"product": p, "quantity": n, "place": "K"} for n, p in enumerate("aabbc"))
            upsert(pa.table({"product": ["b", "d", "d"], "quantity": [20, 30, 31], "place": ["K"] * 3}))
            upsert(pd.DataFrame({"Product": ["c", "e"], "quantity": [40, None], "place": ["K", "K"]}))
            upsert(program.spark.sql("select 'e' as product, cast(50 as smallint) as quantity, 'K' as place"))
        rows = stock.sql("select product, quantity from {table} where place = 'K' order by product")
        assert [tuple(row) for row in rows] == [("a", 1), ("b", 20), ("c", 40), ("d", 31), ("e", 50)]

    def test_a_table_that_is_merged_on_read_keeps_its_contract(self, merger: Any, program: Any) -> None:
        orders = merger(
            {**ORDERS, "write_mode": "merge_on_read", "contract": {"enforced": True}}, ORDERS_FEED
        )
        orders.model["constraints"] = [{"type": "check", "expression": "name <> 'bad'"}]
        orders.merge([{**order(1, 1), "op": "U"}])
        with (
            pytest.raises(ConstraintViolated, match="1 rows"),
            lakemerge.transaction(program.name(orders), spark=program.spark) as t,
        ):
            t.upsert(program.name(orders), order(2, 2, "bad"))
        assert orders.rows() == [order(1, 1)]
        orders.drop()

    def test_what_does_not_fit_is_refused_and_says_whether_to_retry(self, shop: Any, program: Any) -> None:
        names = [program.name(table) for table in shop]
        t = lakemerge.transaction(*names, spark=program.spark)
        with pytest.raises(InvalidTransactionState):
            t.upsert(names[0], order(1, 1))
        t.begin()

        def refused(kind: type[LakemergeError], match: str, call: str, table: str, rows: Any) -> None:
            with pytest.raises(kind, match=match) as info:
                getattr(t, call)(table, rows)
            assert not info.value.retriable

        refused(InvalidRecord, "no value of ts", "upsert", names[0], {"id": 1, "region": "a", "name": "b"})
        refused(InvalidRecord, "no value of ts", "delete", names[0], {"id": 1})
        refused(
            InvalidRecord, r"does not have \(colour\)", "delete", names[0], {"id": 1, "ts": 2, "colour": 1}
        )
        refused(InvalidRecord, "values of id that are bigint", "upsert", names[0], order("1", 1))  # type: ignore[arg-type]
        refused(InvalidRecord, "mappings", "upsert", names[0], [(1, 2)])
        refused(UnsupportedTable, "with a unique_key, for upsert", "upsert", names[2], {"id": 1, "what": "x"})
        refused(UnsupportedTable, "without a unique_key, for append", "append", names[0], order(1, 1))
        refused(InvalidConfig, "began with", "append", "shop.nothing", {"id": 1})
        text = pa.table({"product": ["a"], "quantity": ["1"], "place": ["B"]})
        refused(IncompatibleColumn, "quantity: string into int", "upsert", names[1], text)
        large = pa.table({"product": ["a"], "quantity": [2**40], "place": ["B"]})
        refused(InvalidRecord, "quantity", "upsert", names[1], large)
        t.abort()
        with pytest.raises(InvalidTransactionState, match="aborted"):
            t.commit()

    def test_an_error_in_the_block_leaves_nothing(self, shop: Any, program: Any) -> None:
        names, before = [program.name(table) for table in shop], [len(table.history()) for table in shop]

        def fails() -> None:
            with lakemerge.transaction(*names, spark=program.spark) as t:
                t.upsert(names[1], pa.table({"product": ["z"], "quantity": [1], "place": ["Z"]}))
                t.append(names[2], {"id": 9, "what": "never"})
                raise RuntimeError("the program's own")

        with pytest.raises(RuntimeError):
            fails()
        assert [len(table.history()) for table in shop] == before
        assert [program.left(table) for table in shop] == 3 * [([], [])]

    def test_what_another_commit_overtakes_is_merged_again(
        self, shop: Any, program: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        orders, stock, _ = shop
        names, together = [program.name(orders), program.name(stock)], Kernel.commit_together
        tried: list[int] = []

        def overtaken(kernel: Kernel, transactions: Any) -> Any:
            tried.append(len(transactions))
            if len(tried) == 1:  # a dbt run is faster
                orders.merge([{**order(5, 50, "of dbt"), "op": "U"}])
            return together(kernel, transactions)

        monkeypatch.setattr(Kernel, "commit_together", overtaken)
        with lakemerge.transaction(*names, spark=program.spark) as t:
            t.upsert(names[0], [order(5, 49, "too late"), order(6, 60, "new")])
            t.upsert(names[1], {"product": "chair", "quantity": 7, "place": "C"})
        assert tried == [2, 2]
        named = {row["id"]: row["name"] for row in orders.rows()}
        assert (named[5], named[6]) == ("of dbt", "new")
        assert len(stock.sql("select * from {table} where place = 'C'")) == 1

    def test_rows_that_are_gone_with_an_executor_are_merged_again(
        self, shop: Any, program: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stock = shop[1]
        lost = lose_rows(monkeypatch)
        with lakemerge.transaction(program.name(stock), spark=program.spark) as t:
            t.upsert(program.name(stock), {"product": "bench", "quantity": 7, "place": "E"})
        assert lost
        assert [row["quantity"] for row in stock.rows("product") if row["product"] == "bench"] == [7]
        assert program.left(stock) == ([], [])

    @pytest.mark.slow
    def test_who_is_overtaken_each_time_is_told(
        self, shop: Any, program: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def overtaken(kernel: Kernel, transactions: Any) -> Any:
            raise CommitConflict(expected="a", found="that another came first", action="b")

        monkeypatch.setattr(Kernel, "commit_together", overtaken)
        name = program.name(shop[1])
        t = lakemerge.transaction(name, spark=program.spark, max_attempts=1)
        t.begin()
        t.upsert(name, {"product": "chair", "quantity": 8, "place": "C"})
        with pytest.raises(CommitsExhausted, match="within 1 attempts") as info:
            t.commit()
        assert info.value.retriable
        assert t.state == "aborted"
        assert program.left(shop[1]) == ([], [])

    def test_a_listener_is_told_of_a_lost_lease_and_nothing_is_committed(
        self, shop: Any, program: Any
    ) -> None:
        name, told, heard = program.name(shop[1]), [], threading.Event()

        def listen(error: LeaseLost) -> None:
            told.append(error)
            heard.set()

        t = Transaction([name], program.spark, on_lease_lost=listen, max_attempts=1, lease_seconds=6)
        t.begin()
        t.upsert(name, {"product": "chair", "quantity": 9, "place": "C"})
        layout = program.kernel.settled(program.table_name(shop[1]))[0].layout
        before = len(history(program.kernel, program.table_name(shop[1]), None))
        for entry in program.kernel.files.list(layout.open):  # as another process does with who seems dead
            program.kernel.files.delete(entry.path)
        assert heard.wait(120)
        assert "taken the transaction for dead" in told[0].found
        with pytest.raises(LeaseLost) as info:
            t.upsert(name, {"product": "chair", "quantity": 9, "place": "C"})
        assert info.value is told[0]
        assert info.value.retriable
        with pytest.raises(LeaseLost):
            t.commit()
        assert len(told) == 1
        assert len(history(program.kernel, program.table_name(shop[1]), None)) == before

    def test_a_run_without_rows_records_the_models_rules(
        self, merger: Any, appended: Any, program: Any
    ) -> None:
        table, log = merger(ORDERS, ORDERS_FEED), appended(LOG, "id bigint, what string")
        table.merge([{**order(1, 1), "op": "U"}])
        log.append([])
        table.model["config"] |= {"on_sequence_tie": "any"}
        log.model["config"] |= {"target_file_size": "1mb"}
        assert (table.merge([]).version, log.append([]).version) == (2, 2)
        assert (table.merge([]).version, log.append([]).version) == (0, 0), "there is nothing new to record"
        # by the rules before, a change that contradicts the stored row is an error
        with lakemerge.transaction(program.name(table), program.name(log), spark=program.spark) as t:
            t.upsert(program.name(table), order(1, 1, "other"))
            t.append(program.name(log), {"id": 1, "what": "seen"})
        assert table.rows() == [order(1, 1)]
        assert len(log.sql("select * from {table}")) == 1

    def test_rules_that_the_model_has_changed_meanwhile_are_not_those_of_the_transaction(
        self, merger: Any, program: Any
    ) -> None:
        table = merger({"unique_key": ["product", "place"]}, STOCK_FEED)
        lamp = {"product": "lamp", "quantity": 5, "place": "A"}
        table.merge([lamp])
        name = program.name(table)
        t = lakemerge.transaction(name, spark=program.spark)
        t.begin()
        t.upsert(name, {**lamp, "place": "B"})
        table.model["config"] |= {"unique_key": "product"}
        table.merge([{**lamp, "quantity": 6}])
        with pytest.raises(SchemaChanged, match=r"other rules of its model \(unique_key\)"):
            t.commit()
        assert t.state == "aborted"
        assert table.rows("product") == [{**lamp, "quantity": 6}]
        with lakemerge.transaction(name, spark=program.spark) as t:
            t.upsert(name, {**lamp, "place": "B"})
        assert table.rows("product") == [{**lamp, "place": "B"}]

    def test_types_of_python_are_those_of_the_table(self, merger: Any, program: Any) -> None:
        table = merger(
            {"unique_key": "id"}, "id int, amount decimal(6,2), share double, day date, tags array<string>"
        )
        first = {"id": 1, "amount": None, "share": None, "day": None, "tags": None}
        table.merge([first])
        row = {
            "id": 2,
            "amount": decimal.Decimal("12.5"),
            "share": 3,
            "day": datetime.date(2026, 1, 2),
            "tags": ["a", None],
        }
        with lakemerge.transaction(program.name(table), spark=program.spark) as t:
            t.upsert(program.name(table), row)
            with pytest.raises(InvalidRecord, match="values of amount"):
                t.upsert(program.name(table), {**row, "amount": decimal.Decimal("1.234")})
        assert table.rows() == [first, {**row, "amount": decimal.Decimal("12.50"), "share": 3.0}]
