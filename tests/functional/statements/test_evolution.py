"""MERGE WITH SCHEMA EVOLUTION: columns of the source that the table lacks become the table's."""

from __future__ import annotations

import pytest

from functional.statements.conftest import Statements
from lakemerge.errors import IncompatibleColumn
from releases import needs_spark_4
from rings import of_rings

ROWS = "select id, 'n' as name, 1 as ts, named_struct('x', int(id)) as s, if(id < 2, 'p', 'q') as d from range(4)"
SOURCE = (
    "(select 1L as id, 'new' as name, 7 as Extra, named_struct('x', 1, 'y', 'deep') as s, 'p' as d "
    "union all select 9L, 'in', 8, named_struct('x', 9, 'y', 'in'), 'z') as v"
)
MERGE = f"merge with schema evolution into {{}} as t using {SOURCE} on t.id = v.id "


@needs_spark_4("WITH SCHEMA EVOLUTION")
class TestEvolution:
    @pytest.mark.parametrize(
        "kind",
        of_rings(["partitioned", "append", "merge on read, partitioned"], ["merge on read, partitioned"]),
    )
    def test_columns_and_fields_are_added(self, statements: Statements, kind: str) -> None:
        name = f"evolving_{len(kind)}"
        statements.make(name, kind, ROWS)
        done = statements.run(
            MERGE.format(name) + "when matched then update set * when not matched then insert *"
        )
        assert (done.updated, done.inserted) == (1, 1)
        # what the source lacks stays, or is null
        assert statements.rows(f"select id, name, ts, extra, s.x, s.y from {name}") == [
            (0, "n", 1, None, 0, None),
            (1, "new", 1, 7, 1, "deep"),
            (2, "n", 1, None, 2, None),
            (3, "n", 1, None, 3, None),
            (9, "in", None, 8, 9, "in"),
        ]
        assert "Extra" in statements.spark.table(name).columns

    @pytest.mark.slow
    def test_only_what_is_assigned_is_added(self, statements: Statements) -> None:
        table = statements.make("named", "partitioned", ROWS)
        assert (
            statements.run(MERGE.format("named") + "when matched then update set name = v.name").updated == 1
        )
        assert table.to_df().columns == ["id", "name", "ts", "s", "d"]
        statements.run(MERGE.format("named") + "when matched then update set t.extra = v.extra + 1")
        assert statements.rows("select id, extra, s.x from named where extra is not null") == [(1, 8, 1)]
        # without rows, the columns come all the same
        plain = MERGE.format("named").replace("with schema evolution ", "")
        with pytest.raises(IncompatibleColumn):
            statements.run(plain + "when matched then update set more = 1")
