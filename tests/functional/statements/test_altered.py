"""Tables whose columns another program has changed: statements take the table as it is."""

from __future__ import annotations

import pytest

from functional.statements.conftest import KINDS, Statements

pytestmark = pytest.mark.slow

ROWS = "select id, 'n' as name, 1 as ts, if(id < 2, 'p', 'q') as d from range(4)"
#: Of tables that are merged on read, the name is a view.
TABLES = [kind for kind in KINDS if not kind.startswith("merge on read")]


class TestAltered:
    @pytest.mark.parametrize("kind", TABLES)
    def test_a_column_that_spark_has_added(self, statements: Statements, kind: str) -> None:
        table = f"altered_{TABLES.index(kind)}"
        statements.make(table, kind, ROWS)
        partition = ", partitioned" in kind or kind in ("partitioned", "parquet")

        def add(column: str) -> None:
            statements.spark.sql(f"alter table {table} add columns ({column} int)")

        add("one")
        columns = "id, name, ts, one, d" if partition else "id, name, ts, d, one"
        assert statements.run(f"update {table} set one = 7 where id = 1").updated == 1
        assert statements.rows(f"select id, one from {table}") == [(0, None), (1, 7), (2, None), (3, None)]
        add("two")
        assert statements.run(f"delete from {table} where two is null and id = 2").deleted == 1
        add("three")
        values = "values (9, 'x', 1, 1, 2, 3, 'p')" if partition else "values (9, 'x', 1, 'p', 1, 2, 3)"
        assert statements.run(f"insert into {table} {values}").inserted == 1
        add("four")
        source = f"(select {columns}, two, three, 4 as four from {table}) as s on t.id = s.id"
        assert (
            statements.run(f"merge into {table} t using {source} when matched then update set *").updated == 4
        )
        assert statements.rows(f"select id, one, two, three, four from {table}") == [
            (0, None, None, None, 4),
            (1, 7, None, None, 4),
            (3, None, None, None, 4),
            (9, 1, 2, 3, 4),
        ]
        add("five")
        if not kind.startswith("append"):
            statements.run(f"insert overwrite {table} select * from {table} where id = 9")
            assert statements.rows(f"select id, four, five from {table}") == [(9, 4, None)]
