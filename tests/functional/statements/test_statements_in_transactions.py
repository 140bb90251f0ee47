"""Statements of a transaction: of all tables, or of none."""

from __future__ import annotations

import pytest

import lakemerge
from functional.overtaking import overtake
from functional.statements.conftest import KINDS, Statements
from lakemerge.engine.transactions.transaction import Transaction
from lakemerge.errors import DuplicateKey, InvalidConfig, UnsupportedStatement, UnsupportedTable

ROWS = "select id, 'n' as name, 1 as ts, if(id < 2, 'p', 'q') as d from range(4)"
AFTER = [(0, "n"), (1, "changed"), (3, "n")]


def changed(statements: Statements, table: str) -> list[tuple[object, ...]]:
    return statements.rows(f"select id, name from {table}")


class TestStatementsInTransactions:
    def transaction(self, statements: Statements, *tables: str) -> Transaction:
        names = [f"{statements.schema}.{table}" for table in tables]
        return lakemerge.transaction(*names, spark=statements.spark)

    @pytest.mark.slow
    def test_every_kind_of_table(self, statements: Statements) -> None:
        """All of them at once, and each may be changed by a program afterwards."""
        tables = {f"t{number}": kind for number, kind in enumerate(KINDS)}
        for table, kind in tables.items():
            statements.make(table, kind, ROWS)
        statements.spark.sql("create or replace temp view wanted as select 1L as id, 'changed' as name")
        with self.transaction(statements, *tables) as transaction:
            for table in tables:
                transaction.sql(
                    f"merge into {table} as t using wanted as w on t.id = w.id "
                    "when matched then update set name = w.name "
                    "when not matched by source and t.id = 2 then delete"
                )
                assert changed(statements, table) == [(number, "n") for number in range(4)]
        for table in tables:
            assert changed(statements, table) == AFTER, tables[table]
            newest = statements.table(table).history()[0]
            assert newest["statement"].startswith(f"merge into {table} as t")

    def test_rows_beside_statements(self, statements: Statements) -> None:
        """What a later statement reads of another table is what was there before the transaction."""
        statements.make("keyed", "keyed", ROWS)
        statements.make("copied", "partitioned", ROWS)
        statements.make("events", "append", ROWS)
        transaction = self.transaction(statements, "keyed", "copied", "events")
        with transaction:
            transaction.upsert(f"{statements.schema}.keyed", {"id": 9, "name": "new", "ts": 1, "d": "p"})
            transaction.sql("delete from copied where id not in (select id from keyed where id < 2)")
            transaction.sql("insert into events select id + 10, name, ts, d from copied where d = 'q'")
            for second in ("update copied set name = 'x'", "update keyed set name = 'x'"):
                with pytest.raises(UnsupportedStatement, match="one statement on"):
                    transaction.sql(second)
            with pytest.raises(UnsupportedStatement, match="one statement on"):
                transaction.append(f"{statements.schema}.events", {"id": 1, "name": "x", "ts": 1, "d": "p"})
        assert [row[0] for row in changed(statements, "keyed")] == [0, 1, 2, 3, 9]
        assert changed(statements, "copied") == [(0, "n"), (1, "n")]
        assert [row[0] for row in changed(statements, "events")] == [0, 1, 12, 13, 2, 3]

    def test_nothing_stands_where_one_of_them_fails(self, statements: Statements) -> None:
        statements.make("one", "partitioned", ROWS)
        statements.make("two", "keyed", ROWS)
        before = [len(statements.table(name).history()) for name in ("one", "two")]
        transaction = self.transaction(statements, "one", "two")
        transaction.begin()
        transaction.sql("delete from one")
        transaction.sql("insert into two select 0L, 'twice', 1, 'p'")
        with pytest.raises(DuplicateKey):
            transaction.commit()
        transaction.begin()
        transaction.sql("delete from one")
        transaction.abort()
        assert [len(statements.table(name).history()) for name in ("one", "two")] == before
        assert changed(statements, "one") == [(number, "n") for number in range(4)]

    def test_an_overtaken_statement_is_carried_out_again(
        self, statements: Statements, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        statements.make("raced", "partitioned", ROWS)
        statements.make("beside", "keyed", ROWS)

        def come_first() -> None:
            statements.table("raced").update({"name": "'first'"}, "id = 0")

        transaction = self.transaction(statements, "raced", "beside")
        with transaction:
            transaction.sql("update raced set name = concat(name, '!') where d = 'p'")
            transaction.sql("delete from beside where id = 0")
            overtake(monkeypatch, come_first)
            versions = transaction.commit()
        assert changed(statements, "raced")[:2] == [(0, "first!"), (1, "n!")]
        assert versions == {f"{statements.schema}.raced": 3, f"{statements.schema}.beside": 2}

    def test_what_is_refused(self, statements: Statements) -> None:
        statements.make("refused", "partitioned", ROWS)
        statements.spark.sql("create table nobodys (id bigint) stored as orc")
        with self.transaction(statements, "refused") as transaction:
            for text in ("select 1", "delete from elsewhere", "insert into nobodys values (1)"):
                with pytest.raises((UnsupportedStatement, UnsupportedTable, InvalidConfig)):
                    transaction.sql(text)
            with pytest.raises(UnsupportedTable, match="by which key"):
                transaction.upsert(f"{statements.schema}.refused", {"id": 1})
            transaction.sql("update refused set name = 'none' where id = 77")
        assert len(statements.table("refused").history()) == 1
