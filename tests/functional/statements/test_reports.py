"""What others' users have reported about DELETE, UPDATE and MERGE, tried here."""

from __future__ import annotations

import pytest

from functional.statements.conftest import Statements
from lakemerge.errors import IncompatibleColumn

pytestmark = pytest.mark.slow

ROWS = "select * from values (1, 'a', 'p'), (2, null, 'p'), (3, 'c', 'q'), (null, 'n', 'q') as v(id, name, d)"


class TestReports:
    @pytest.fixture
    def run(self, statements: Statements, request: pytest.FixtureRequest) -> Statements:
        statements.make("reported", "partitioned", ROWS)
        return statements

    def test_nulls_are_not_deleted_by_conditions_that_do_not_hold(self, run: Statements) -> None:
        # Iceberg 1937, Paimon 7482
        assert run.run("delete from reported where id not in (1, 10)").deleted == 2
        assert run.rows("select id from reported") == [(1,), (None,)]
        assert run.run("delete from reported where name <> 'a' and id is null").deleted == 1

    def test_nulls_match_nothing(self, run: Statements) -> None:
        # Delta 780, 818: a null key is not matched, and inserted again; with <=> it is matched
        source = "(select cast(null as int) as id, 'x' as name, 'q' as d) as s"
        insert = "when not matched then insert *"
        assert run.run(f"merge into reported as t using {source} on t.id = s.id {insert}").inserted == 1
        update = "when matched then update set name = 'safe'"
        assert run.run(f"merge into reported as t using {source} on t.id <=> s.id {update}").updated == 2

    def test_a_table_is_merged_into_itself(self, run: Statements) -> None:
        # Delta 482
        done = run.run(
            "merge into reported as t using (select id, max(name) as name from reported group by id) as s "
            "on t.id = s.id when matched and t.id = 3 then delete "
            "when matched then update set name = coalesce(s.name, 'x')"
        )
        assert (done.updated, done.deleted) == (2, 1)
        assert run.rows("select id, name from reported") == [(1, "a"), (2, "x"), (None, "n")]

    def test_only_rows_of_the_source_that_act_count_as_several(self, run: Statements) -> None:
        # Delta 3413, delta-rs 4359
        source = "(select * from values (1, 10), (1, 11) as v(id, value)) as s"
        update = "when matched and s.value = 10 then update set name = 'ten'"
        assert run.run(f"merge into reported as t using {source} on t.id = s.id {update}").updated == 1

    def test_a_column_that_only_the_table_has_is_the_tables(self, run: Statements) -> None:
        # MonetDB 3315: legal SQL, and true for each row with a value, if the other table has rows
        run.spark.sql("select 7 as other").createOrReplaceTempView("others")
        assert run.run("delete from reported where id in (select id from others)").deleted == 3

    def test_literals_of_other_types_are_compared_as_in_a_query(self, run: Statements) -> None:
        # Iceberg 4639
        assert run.run("update reported set name = 'one' where id = '1'").updated == 1

    def test_the_case_of_names_does_not_matter(self, run: Statements) -> None:
        # Hudi 10558, 2471, Trino 16622, Delta 6234
        source = "(select 1 as ID, 'new' as Name, 'p' as D) as S"
        done = run.run(
            f"MERGE INTO Reported AS T USING {source} ON t.Id = s.id AND T.D = s.d "
            "WHEN MATCHED THEN UPDATE SET NAME = s.NAME WHEN NOT MATCHED THEN INSERT *"
        )
        assert done.updated == 1
        insert = "when not matched then insert (id, ID) values (1, 2)"
        with pytest.raises(IncompatibleColumn, match="more than once"):
            run.run(f"merge into reported t using {source} on t.id = s.id {insert}")

    def test_a_correlated_not_in(self, run: Statements) -> None:
        # SPARK-18966
        run.spark.sql(
            "select * from values (1, 'q'), (null, 'q'), (3, 'z') as v(k, e)"
        ).createOrReplaceTempView("pairs")
        text = "from reported where id not in (select k from pairs where e = d)"
        expected = run.rows(f"select id {text}")
        assert run.run(f"delete {text}").deleted == len(expected) == 2
        assert run.rows("select id from reported") == [(3,), (None,)]
