"""More of what others' users have reported about UPDATE and MERGE: sources, names, structs, rows that move."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from functional.statements.conftest import Statements

pytestmark = pytest.mark.slow

ROWS = "select * from values (1, 'a', 'p'), (2, null, 'p'), (3, 'c', 'q') as v(id, name, d)"


class TestMoreReports:
    @pytest.fixture
    def run(self, statements: Statements) -> Statements:
        statements.make("reported", "partitioned", ROWS)
        return statements

    def test_a_source_is_computed_once(self, run: Statements) -> None:
        # Delta 527, 1418, 2134: a source that is another one each time doubles rows, or loses them
        source = (
            "(select int(1 + floor(rand() * 1000000)) as id, uuid() as name, 'p' as d "
            "from range(200) union all select 1, (select uuid()), 'p') as s"
        )
        done = run.run(
            f"merge into reported as t using {source} on t.id = s.id "
            "when matched then update set name = s.name when not matched then insert *"
        )
        assert done.inserted + done.updated >= 201
        assert run.rows(
            "select count(*), count(distinct id) >= 200 from reported where name is not null"
        ) == [(done.inserted + done.updated + 1, True)]

    def test_rows_that_move_to_several_partitions_are_there_once(self, run: Statements) -> None:
        # ClickHouse 101665, Hudi 1021 and 10932, FLINK-40640
        assert run.run("update reported set d = if(id = 1, 'x', if(id = 2, 'y', d))").updated == 3
        assert run.rows("select id, d from reported") == [(1, "x"), (2, "y"), (3, "q")]
        assert run.run("update reported set d = 'p' where d in ('x', 'y')").updated == 2
        assert run.rows("select id, d from reported") == [(1, "p"), (2, "p"), (3, "q")]

    def test_a_merge_on_the_partition_column_that_assigns_another(self, run: Statements) -> None:
        # Iceberg 12661
        run.spark.sql("select 'p' as d, 1 as id").createOrReplaceTempView("accounts")
        merge = "merge into reported as t using accounts as s on t.d = s.d and t.id = s.id "
        assert run.run(merge + "when matched then update set t.name = 'ten'").updated == 1
        assert run.run(merge + "when matched then update set t.d = 'z'").updated == 1
        assert run.rows("select name, d from reported where id = 1") == [("ten", "z")]

    def test_inserts_beside_what_the_source_does_not_match(self, run: Statements) -> None:
        # Timescale 9974, and an empty source: generate-sql-merge 31
        source = "(select 3 as id, 'u' as name, 'q' as d union all select 9, 'i', 'z') as s"
        done = run.run(
            f"merge into reported as t using {source} on t.id = s.id when matched then update set * "
            "when not matched by target then insert * when not matched by source and t.id = 1 then delete "
            "when not matched by source then update set name = 'alone'"
        )
        assert (done.inserted, done.updated, done.deleted) == (1, 2, 1)
        assert run.rows("select id, name from reported") == [(2, "alone"), (3, "u"), (9, "i")]
        none = "(select 1 as id where false) as s on t.id = s.id"
        assert (
            run.run(f"merge into reported t using {none} when not matched by source then delete").deleted == 3
        )

    def test_queries_before_a_statement(self, run: Statements) -> None:
        # SPARK-28893, sqlfluff 6897; one of them may have the name of the table
        done = run.run(
            "with s as (select 1 as id, 'cte' as name), reported as (select 7 as other) "
            "merge into reported as t using s on t.id = s.id when matched then update set name = s.name"
        )
        assert done.updated == 1
        assert (
            run.run(
                "with gone as (select 3 as id) delete from reported where id in (select * from gone)"
            ).deleted
            == 1
        )
        assert (
            run.run(
                "with v as (select 'cte' as name) update reported set name = 'x' where name in (select name from v)"
            ).updated
            == 1
        )
        assert run.rows("select id, name from reported") == [(1, "x"), (2, None)]

    def test_a_correlated_scalar_subquery_is_a_value(self, run: Statements) -> None:
        # Delta 561
        run.spark.sql("select * from values (1, 5), (1, 6), (3, 7) as v(k, n)").createOrReplaceTempView(
            "numbers"
        )
        text = "update reported set name = (select string(sum(n)) from numbers where k = reported.id)"
        assert run.run(text).updated == 3
        assert run.rows("select id, name from reported") == [(1, "11"), (2, None), (3, "7")]

    def test_a_comparison_with_a_query_that_finds_nothing(self, run: Statements) -> None:
        # Spark 4.3's own SELECT fails so on ORC, in the reader of files
        nothing = "(select cast(null as decimal(10, 2)) from range(1))"
        run.make("decimals", "partitioned", "select 1 as id, cast(1 as decimal(10, 2)) as amount, 'p' as d")
        for condition in (
            f"amount > {nothing}",
            f"not (amount > {nothing})",
            f"id = 1 and amount = {nothing}",
        ):
            assert run.run(f"delete from decimals where {condition}").deleted == 0
            assert run.run(f"update decimals set id = 2 where {condition}").updated == 0
        assert run.run(f"delete from decimals where {nothing} is null").deleted == 1

    def test_columns_of_an_insert_may_have_any_order(self, run: Statements) -> None:
        # Crate 14159, DuckLake 588
        source = "(select 'z' as d, 9 as id, 'n' as name) as s on false"
        run.run(
            f"merge into reported t using {source} when not matched then insert (name, d, id) values (d, name, id)"
        )
        run.run(f"merge into reported t using {source} when not matched then insert *")
        run.run("insert into reported (d, id) values ('y', 10)")
        assert run.rows("select * from reported where id > 8") == [
            (10, None, "y"),
            (9, "n", "z"),
            (9, "z", "n"),
        ]

    def test_a_text_that_is_no_number_takes_no_other_row_with_it(self, run: Statements) -> None:
        # Paimon 4906
        run.spark.conf.set("spark.sql.ansi.enabled", "true")
        with pytest.raises(PySparkException, match="CAST_INVALID_INPUT"):
            run.run("delete from reported where name = 2")
        run.spark.conf.set("spark.sql.ansi.enabled", "false")
        assert run.run("delete from reported where name = 2").version is None
        run.spark.conf.unset("spark.sql.ansi.enabled")
        assert len(run.rows("select * from reported")) == 3

    def test_names_with_dots_and_words_of_sql(self, statements: Statements) -> None:
        # Delta 208 and 233
        statements.table("dotted").replace(
            "select 1 as id, 'a' as `my.name`, 'b' as `select`, 'p' as `order`"
        )
        source = "(select 1 as id, 'new' as `my.name`, 'x' as `select`, 'q' as `order`) as s"
        done = statements.run(
            f"merge into dotted `where` using {source} on `where`.id = s.id when matched and `where`.`my.name` = 'a' "
            "then update set * when not matched then insert *"
        )
        assert done.updated == 1
        statements.run("update dotted set `my.name` = concat(`my.name`, `order`), dotted.`select` = null")
        assert statements.rows("select * from dotted") == [(1, "newq", None, "q")]

    def test_blanks_at_the_end_of_a_char(self, statements: Statements) -> None:
        # SPARK-34192, SPARK-48498
        statements.spark.sql("create table padded (id int, c char(5)) stored as parquet")
        statements.spark.sql("insert into padded values (1, 'ab'), (2, 'ab '), (3, 'b')")
        assert statements.run("update padded set id = id + 10 where c = 'ab'").updated == 2
        source = "(select 1 as x) as s on t.c = 'ab'"
        assert statements.run(f"merge into padded t using {source} when matched then delete").deleted == 2
        assert statements.rows("select * from padded") == [(3, "b    ")]

    def test_fields_of_a_struct_are_given_by_name(self, statements: Statements) -> None:
        # Delta 109 and 4759
        statements.table("structs").replace("select 1 as id, named_struct('a', 1, 'b', 'x') as s")
        source = "(select id, named_struct('b', b, 'a', a) as s from values (1, 'y', 2), (2, 'z', 3) as v(id, b, a))"
        done = statements.run(
            f"merge into structs as t using {source} as v on t.id = v.id when matched then update set id = 7 "
            "when not matched then insert *"
        )
        assert (done.updated, done.inserted) == (1, 1)
        assert statements.rows("select id, s.a, s.b from structs") == [(2, 3, "z"), (7, 1, "x")]
        statements.run(
            f"merge into structs as t using {source} as v on t.id = v.id + 6 when matched then update set s = v.s"
        )
        assert statements.rows("select id, s.a, s.b from structs where id = 7") == [(7, 2, "y")]
