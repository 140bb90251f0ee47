"""Statements beside merges, compactions and vacuums in the middle: nothing is lost, and nothing comes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import lakemerge
from functional.overtaking import before, overtake
from functional.statements.conftest import KINDS, Statements
from rings import of_rings

ROWS = "select id, 'n' as name, 1 as ts, if(id < 2, 'p', 'q') as d from range(4)"
NEWER = "select * from values (1L, 'newer', 5, 'p'), (7L, 'seven', 5, 'q') as v(id, name, ts, d)"
HISTORY: dict[str, Any] = {
    "unique_key": "id",
    "sequence_by": "ts",
    "except_column_list": ["ts"],
    "stored_as_scd_type": 2,
}
FEED = "select * from values (1L, 'a', 1), (1L, 'b', 2), (2L, 'c', 1) as v(id, name, ts)"


class TestRaces:
    def merge(self, statements: Statements, name: str, kind: str) -> Callable[[], Any]:
        table = statements.table(name)
        if "unique_key" in KINDS[kind]:
            return lambda: table.merge(NEWER)
        return lambda: table.append(NEWER)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "kind", of_rings(["keyed, partitioned", "merge on read", "append"], ["merge on read"])
    )
    def test_a_statement_that_is_overtaken(
        self, statements: Statements, monkeypatch: pytest.MonkeyPatch, kind: str
    ) -> None:
        name = f"overtaken_{len(kind)}"
        statements.make(name, kind, ROWS)
        full = f"{statements.schema}.{name}"
        overtake(monkeypatch, self.merge(statements, name, kind))
        changed = statements.run(f"update {name} set name = upper(name) where id in (1, 7)")
        # rows that are appended in new partitions are no conflict: the statement comes before them
        keyed = "unique_key" in KINDS[kind]
        assert changed.updated == (2 if keyed else 1)
        later = [(1, "NEWER"), (7, "SEVEN")] if keyed else [(1, "N"), (1, "newer"), (7, "seven")]
        wanted = [(0, "n"), (2, "n"), (3, "n"), *later]
        assert statements.rows(f"select id, name from {name}") == sorted(wanted, key=repr)
        for number, other in enumerate(
            (
                lambda: lakemerge.compact(full, spark=statements.spark),
                lambda: lakemerge.vacuum(
                    full,
                    spark=statements.spark,
                    retention_hours=0.0001,
                    allow_short_retention=True,
                    dry_run=False,
                ),
            )
        ):
            # what it has read, and staged, is still there
            before(monkeypatch, "stage" if number == 0 and kind != "merge on read" else "commit", other)
            assert statements.run(f"update {name} set name = 'u{number}' where id = 3").updated == 1
            assert statements.rows(f"select name from {name} where id = 3") == [(f"u{number}",)]
        assert len(statements.rows(f"select * from {name}")) == len(wanted)

    @pytest.mark.parametrize(
        "kind", of_rings(["keyed, partitioned", "merge on read"], ["keyed, partitioned"])
    )
    def test_a_merge_that_a_statement_overtakes(
        self, statements: Statements, monkeypatch: pytest.MonkeyPatch, kind: str
    ) -> None:
        name = f"merged_{len(kind)}"
        table = statements.make(name, kind, ROWS)
        overtake(monkeypatch, lambda: statements.run(f"delete from {name} where id in (0, 1)"))
        # 1 has a newer change; that of 0 was delivered before
        table.merge(f"{NEWER} union all select 0, 'n', 1, 'p' union all select 2, 'two', 3, 'q'")
        assert statements.rows(f"select id, name from {name}") == [
            (1, "newer"),
            (2, "two"),
            (3, "n"),
            (7, "seven"),
        ]

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "statement",
        [
            "insert into read_twice select max(id) + 1, 'next', 1, 'p' from read_twice",
            "update read_twice set ts = (select max(id) + 1 from read_twice) where d = 'p' and id = 0",
            "merge into read_twice t using (select max(id) + 1 as id from read_twice) s on t.d = 'p' and t.id = 0 "
            "when matched then update set ts = s.id",
        ],
    )
    def test_rows_of_the_table_itself_that_change_meanwhile_in_other_partitions(
        self, statements: Statements, monkeypatch: pytest.MonkeyPatch, statement: str
    ) -> None:
        statements.make("read_twice", "partitioned", ROWS)
        overtake(monkeypatch, lambda: statements.run("insert into read_twice values (10, 'ten', 1, 'q')"))
        statements.run(statement)
        assert statements.rows("select max(greatest(id, ts)) from read_twice where d = 'p'") == [(11,)]

    @pytest.mark.parametrize("condition", of_rings(["id = 1", "id = 1 and d in ('p', 'copy')"], ["id = 1"]))
    def test_rows_that_are_copied_to_a_new_partition_meanwhile(
        self, statements: Statements, monkeypatch: pytest.MonkeyPatch, condition: str
    ) -> None:
        name = f"copied_{len(condition)}"
        statements.make(name, "partitioned", ROWS)
        copy = f"insert into {name} select id, name, ts, 'copy' from {name} where d = 'p'"
        overtake(monkeypatch, lambda: statements.run(copy))
        assert statements.run(f"delete from {name} where {condition}").deleted == 2
        assert statements.rows(f"select d from {name} where id < 2") == [("copy",), ("p",)]

    @pytest.mark.parametrize(
        "condition", of_rings(["id = 11", "d = 'plain'", "id = 11 and d > 'o'"], ["id = 11"])
    )
    def test_partitions_that_spark_has_added(self, statements: Statements, condition: str) -> None:
        name = f"plain_{len(condition)}"
        statements.make(name, "partitioned", ROWS)
        statements.spark.sql(f"insert into {name} values (11, 'eleven', 1, 'plain')")
        assert statements.run(f"update {name} set name = 'one' where {condition}").updated == 1
        assert statements.rows(f"select name from {name} where id = 11") == [("one",)]
        statements.spark.sql(f"insert into {name} values (11, 'again', 1, 'plainer')")
        statements.run(f"delete from {name} where {condition.replace('plain', 'plainer')}")
        assert statements.rows(f"select name from {name} where d = 'plainer'") == []

    @pytest.mark.slow
    def test_a_history_that_a_statement_overtakes(
        self, statements: Statements, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        table = statements.table("versions")
        table.merge(FEED, **HISTORY)
        overtake(monkeypatch, lambda: statements.run("delete from versions where id = 1"))
        done = table.merge(FEED.replace("as v", ", (1L, 'late', 0), (2L, 'd', 7) as v"))
        assert done.counts["ignored"] == 4
        assert statements.rows("select id, name, __end_at from versions") == [(2, "c", 7), (2, "d", None)]
        # and the other way about
        overtake(monkeypatch, lambda: table.merge("select 2L as id, 'e' as name, 9 as ts"))
        assert statements.run("update versions set name = concat(name, '!') where id = 2").updated == 3
        assert statements.rows("select name, __end_at from versions") == [("c!", 7), ("d!", 9), ("e!", None)]
        assert table.merge(f"{FEED} union all select 2, 'e', 9").version is None
