"""Statements drawn at random, on tables of every kind: rows and counts are those that DuckDB has."""

from __future__ import annotations

import itertools

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from examples import OFTEN
from functional.statements.conftest import KINDS, Statements
from lakemerge.engine.publish.result import CommitResult
from lakemerge.errors import DuplicateKey, NullKey
from rings import of_rings

COLUMNS = ("id", "k", "name", "amount", "ts", "d")
_NUMBERS = itertools.count()
_IDS = st.integers(0, 9)
_TEXTS = st.sampled_from(["a", "b", "A", "it''s", "x y"])
_DAYS = st.sampled_from(["p", "q", "r"])


def _literal(value: int | str | None) -> str:
    return "null" if value is None else str(value) if isinstance(value, int) else f"'{value}'"


@st.composite
def _rows(draw: st.DrawFn) -> list[str]:
    """Rows with different ids, as SQL."""
    ids = draw(st.lists(_IDS, min_size=1, max_size=8, unique=True))
    rows = []
    for one in ids:
        k, name = draw(st.none() | st.integers(-2, 3)), draw(st.none() | _TEXTS)
        amount, day = draw(st.none() | st.integers(-5, 5)), draw(_DAYS)
        rows.append(
            f"({one}, {_literal(k)}, {_literal(name)}, {_literal(amount)}, {draw(st.integers(0, 3))}, '{day}')"
        )
    return rows


def _query(rows: list[str]) -> str:
    """The rows in the columns' types, in SQL that both engines read."""
    types = dict(
        zip(COLUMNS, ("bigint", "int", "varchar(20)", "decimal(10,2)", "int", "varchar(5)"), strict=True)
    )
    columns = ", ".join(f"cast({name} as {kind}) as {name}" for name, kind in types.items())
    return f"select {columns} from (values {', '.join(rows)}) as v({', '.join(COLUMNS)})"


def _of_spark(sql: str) -> str:
    """The same for Spark: before 4.0, it reads two strings, one after the other, in a string with ``''``."""
    return sql.replace("''", r"\'")


# Conditions over one row; `o` is another table with the same columns.
_SIMPLE = st.one_of(
    st.builds("{} = {}".format, st.sampled_from(["id", "k", "t.id"]), st.integers(-2, 9)),
    st.builds("k {} {}".format, st.sampled_from(["<", ">=", "<>"]), st.integers(-2, 3)),
    st.builds("name = '{}'".format, _TEXTS),
    st.builds("d in ('{}', '{}')".format, _DAYS, _DAYS),
    st.builds("d <> '{}'".format, _DAYS),
    st.sampled_from(
        [
            "k is null",
            "name is not null",
            "k in (1, null)",
            "k not in (1, null)",
            "amount between -2 and 2",
            "name like 'a%'",
            "k = amount",
            "case when k > 0 then name = 'a' else null end",
            "coalesce(k, 0) = 0",
            "true",
            "null",
        ]
    ),
)
_SUBQUERIES = st.sampled_from(
    [
        "id in (select id from o)",
        "k in (select k from o)",
        "k not in (select k from o)",
        "k not in (select k from o where k is not null)",
        "exists (select 1 from o where o.id = t.id and o.d = t.d)",
        "not exists (select 1 from o where o.k = t.k)",
        "amount > (select max(amount) from o)",
        "ts = (select max(ts) from o where o.id = t.id)",
    ]
)


def _combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("({} and {})".format, inner, inner),
        st.builds("({} or {})".format, inner, inner),
        st.builds("not ({})".format, inner),
    )


_PLAIN = st.recursive(_SIMPLE, _combined, max_leaves=3)
_CONDITIONS = st.one_of(_PLAIN, _SUBQUERIES, st.builds("{} and {}".format, _PLAIN, _SUBQUERIES))
_ASSIGNMENTS = st.sampled_from(
    [
        "k = k + 1",
        "name = upper(name)",
        "name = null",
        "amount = amount * 2",
        "d = 'p'",
        "d = case when k > 0 then 'q' else d end",
        "id = id + 100",
        "k = ts, ts = ts + 1",
        "amount = (select min(amount) from o)",
        "name = name || d",
    ]
)


@st.composite
def _merges(draw: st.DrawFn) -> str:
    def when(kind: str, action: str, conditions: list[str], *, is_last: bool = True) -> str:
        # nothing comes after a clause that always holds: neither program takes such a text
        condition = draw(st.sampled_from(["", *conditions] if is_last else conditions))
        return f"when {kind}{f' and {condition}' if condition else ''} then {action}"

    both = ["s.k > 0", "t.k = s.k", "s.name is null", "t.d = s.d"]
    update = st.sampled_from(
        ["update set k = s.k, name = s.name", "update set amount = s.amount, d = s.d", "delete"]
    )
    number = draw(st.integers(0, 2))
    clauses = [when("matched", draw(update), both, is_last=n == number) for n in range(1, number + 1)]
    if draw(st.booleans()):
        insert = "insert (id, k, name, amount, ts, d) values (s.id, s.k, s.name, s.amount, s.ts, s.d)"
        clauses.append(when("not matched", insert, ["s.k > 0", "s.d = 'p'"]))
    if draw(st.booleans()) or not clauses:
        alone = draw(st.sampled_from(["update set name = 'left'", "delete"]))
        clauses.append(when("not matched by source", alone, ["t.k > 0", "t.d = 'p'"]))
    on = draw(st.sampled_from(["t.id = s.id", "t.id = s.id and t.d = s.d", "t.id = s.id and s.k > 0"]))
    return f"merge into {{t}} as t using (select * from o) as s on {on} {' '.join(clauses)}"


_STATEMENTS = st.one_of(
    st.builds("delete from {{t}} as t where {}".format, _CONDITIONS),
    st.builds("update {{t}} as t set {} where {}".format, _ASSIGNMENTS, _CONDITIONS),
    _merges(),
    st.builds(
        "insert into {{t}} (id, k, name, amount, ts, d) select id + {}, k, name, amount, ts, d from o where {}".format,
        st.sampled_from([0, 10]),
        st.sampled_from(["true", "k > 0"]),
    ),
)


#: Of the fast ring: those whose ways through a statement differ most.
FEW = ("partitioned", "append, partitioned", "keyed", "merge on read, partitioned")


class TestStatements:
    def check(
        self, statements: Statements, kind: str, rows: list[str], others: list[str], drawn: list[str]
    ) -> None:
        name, oracle = f"drawn_{next(_NUMBERS)}", duckdb.connect()
        statements.make(name, kind, _of_spark(_query(rows)))
        statements.spark.sql(_of_spark(_query(others))).createOrReplaceTempView("o")
        oracle.execute(f"create table {name} as {_query(rows)}")
        oracle.execute(f"create table o as {_query(others)}")
        columns = ", ".join(COLUMNS)
        for statement in drawn:
            text = statement.format(t=name)
            before = oracle.execute(f"select {columns} from {name}").fetchall()
            counted = oracle.execute(text).fetchone()
            after = oracle.execute(f"select {columns} from {name}").fetchall()
            keys = [row[0] for row in after]
            doubles = "key" in kind or "read" in kind
            if doubles and (len(set(keys)) < len(keys) or None in keys):
                with pytest.raises((DuplicateKey, NullKey)):
                    statements.run(_of_spark(text))
                oracle.execute(f"delete from {name}")
                oracle.executemany(f"insert into {name} values (?, ?, ?, ?, ?, ?)", before)
                after = before
            else:
                assert counted is not None
                assert _affected(statements.run(_of_spark(text))) == counted[0], text
            found = statements.rows(f"select {columns} from {name}")
            assert found == sorted(map(tuple, after), key=repr), text

    @pytest.mark.parametrize("kind", of_rings(KINDS, FEW))
    def test_rows_and_counts_are_those_of_duckdb(self, statements: Statements, kind: str) -> None:
        @settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
        @given(_rows(), _rows(), st.lists(_STATEMENTS, min_size=3, max_size=3))
        def check(rows: list[str], others: list[str], drawn: list[str]) -> None:
            self.check(statements, kind, rows, others, drawn)

        check()

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", list(KINDS))
    def test_many(self, statements: Statements, kind: str) -> None:
        @settings(max_examples=OFTEN, deadline=None, suppress_health_check=list(HealthCheck))
        @given(_rows(), _rows(), st.lists(_STATEMENTS, min_size=1, max_size=5))
        def check(rows: list[str], others: list[str], drawn: list[str]) -> None:
            self.check(statements, kind, rows, others, drawn)

        check()


def _affected(done: CommitResult) -> int:
    return done.inserted + done.updated + done.deleted
