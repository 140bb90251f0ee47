"""What statements meet: texts as people write them, keys that rows share, feeds after a TRUNCATE."""

from __future__ import annotations

import pytest

from functional.statements.conftest import Statements

pytestmark = pytest.mark.slow

ROWS = "select id, 'n' as name, 1 as ts, if(id < 2, 'p', 'q') as d from range(4)"


class TestMoreMeetings:
    def test_a_text_of_hundreds_of_lines(self, statements: Statements) -> None:
        statements.make("long", "keyed", ROWS)
        rows = "\n".join(
            f"        union all select {one} as id, 'it''s; {one}' as name -- {one}; delete from long"
            for one in range(4, 300)
        )
        done = statements.run(
            f"""
            /* merge into other; -- not this */ WITH `s p` as (
                select 0 as id, 'a "b" `c`' as name /* ; */
            {rows}
            )
            mErGe InTo `{statements.schema}`.`LONG` As `t t` -- the target
            using (select * from (select /* nested ( */ `id`, name from `s p`) where name not like '%)%') as v
            on `t t`.ID = v.`Id`
            when matched /* ' */ and `t t`.name is not null then update set `NAME` = v.name
            when not matched then insert (id, `name`) values (v.id, v.name)
            ;
            """
        )
        assert (done.inserted, done.updated) == (296, 1)
        assert statements.rows("select name from long where id in (0, 299)") == [
            ("it's; 299",),
            ('a "b" `c`',),
        ]

    @pytest.mark.parametrize("kind", ["merge on read", "merge on read, partitioned"])
    def test_rows_that_share_a_key_on_read(self, statements: Statements, kind: str) -> None:
        name = f"shared_{len(kind)}"
        table = statements.make(name, kind, ROWS)
        # another program does not know that there is a key, and no delta can delete one of the two
        statements.spark.sql(f"insert into {name}__base (id, name, ts, d) values (1, 'again', 1, 'p')")
        assert statements.run(f"delete from {name} where name = 'again'").deleted == 1
        assert statements.rows(f"select id, name from {name}") == [(one, "n") for one in range(4)]
        table.merge("select 1L as id, 'newer' as name, 2 as ts, 'p' as d")
        assert statements.rows(f"select name from {name} where id = 1") == [("newer",)]

    @pytest.mark.parametrize("kind", ["keyed, partitioned", "merge on read"])
    @pytest.mark.parametrize(
        ("statement", "remembers"),
        [
            ("truncate table {}", False),
            ("delete from {}", True),
            ("truncate table {} partition (d = 'p')", True),
        ],
    )
    def test_a_feed_after_all_rows_have_gone(
        self, statements: Statements, kind: str, statement: str, remembers: bool
    ) -> None:
        if "partition (" in statement and "partitioned" not in kind:
            pytest.skip("it has no partitions")
        name = f"emptied_{len(kind)}_{len(statement)}"
        table = statements.make(name, kind, ROWS)
        statements.run(statement.format(name))
        table.merge(ROWS)
        left = statements.rows(f"select id from {name}")
        gone = {0, 1} if "partition (" in statement else {0, 1, 2, 3}
        assert left == [(one,) for one in range(4) if not remembers or one not in gone]
        table.merge("select 0L as id, 'newer' as name, 2 as ts, 'p' as d")
        assert statements.rows(f"select name from {name} where id = 0") == [("newer",)]
