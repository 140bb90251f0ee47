"""What statements do to plain tables, case by case."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, ParseException

import lakemerge
from functional.overtaking import overtake
from functional.statements.conftest import KINDS, Statements
from lakemerge.errors import (
    CardinalityViolation,
    ConstraintViolated,
    DuplicateKey,
    IncompatibleColumn,
    NullKey,
    UnsupportedStatement,
    UnsupportedTable,
)
from rings import of_rings

ROWS = "select id, 'n' as name, 1 as ts, if(id < 2, 'p', 'q') as d from range(4)"
RULES = {
    "unique_key": "id",
    "sequence_by": "ts",
    "apply_as_deletes": "op = 'D'",
    "except_column_list": ["op"],
}
FEED = "select id, 'a' as name, 1 as ts, 'I' as op from range(4)"


def corrupt(statements: Statements, table: str, where: str) -> None:
    """Let the files of some rows be ones that nobody can read."""
    files = statements.spark.sql(f"select input_file_name() from {table} where {where}").collect()
    for (path,) in set(map(tuple, files)):
        Path(path.removeprefix("file://").removeprefix("file:")).write_bytes(b"no rows")


class TestStatements:
    def test_values_are_stored_as_their_columns_store_them(self, statements: Statements) -> None:
        spark = statements.spark
        spark.sql(
            "create table typed (id int, c char(3), v varchar(3), s struct<a: int, b: struct<x: string>>, "
            "n decimal(5,2), t date, `odd name` string) partitioned by (d string) stored as orc"
        )
        spark.sql(
            "insert into typed values (1, 'x', 'x', named_struct('a', 1, 'b', null), 1, null, 'o', 'p')"
        )
        run = statements.run
        run(
            "update typed set c = 'yz', v = 'ab ', s.b.x = 'deep', n = 12.345, t = timestamp'2026-01-02 03:04:05'"
        )
        run("UPDATE typed AS `T x` SET `T x`.`ODD NAME` = concat(`t x`.v, '!'), s.a = default -- a comment")
        found = spark.table("typed").collect()[0]
        assert (found["c"], found["v"], str(found["n"])) == ("yz ", "ab ", "12.35")
        assert found["t"] == date(2026, 1, 2)
        assert found["odd name"] == "ab !"
        assert (found["s"]["a"], found["s"]["b"]["x"]) == (None, "deep")
        for wrong, error in {
            "update typed set id = 'x'": IncompatibleColumn,
            "update typed set id = 3000000000": IncompatibleColumn,
            "update typed set v = 'long'": IncompatibleColumn,
            "update typed set s = named_struct('a', 1)": IncompatibleColumn,
            "update typed set s = named_struct('b', null, 'a', 1, 'c', 2)": IncompatibleColumn,
            "update typed set nothing = 1": IncompatibleColumn,
            "update typed set s.z = 1": IncompatibleColumn,
            "update typed set id = 1, id = 2": IncompatibleColumn,
            "update typed set s = null, s.a = 1": IncompatibleColumn,
            "update typed set id = missing": AnalysisException,
            "delete from typed where rand() < 2": UnsupportedStatement,
            "insert into typed (id) select 'x'": AnalysisException,
        }.items():
            with pytest.raises(error):
                run(wrong)
        assert spark.table("typed").collect()[0] == found
        # fields are matched by name
        run("update typed set s = named_struct('b', named_struct('x', 'y'), 'a', 7) where id = 1")
        assert spark.sql("select s.a, s.b.x from typed").collect()[0] == (7, "y")

    @pytest.mark.parametrize("kind", of_rings(KINDS, ["unpartitioned", "merge on read, partitioned"]))
    def test_a_statement_without_rows_makes_no_version(self, statements: Statements, kind: str) -> None:
        table = statements.make(f"none_{list(KINDS).index(kind)}", kind, ROWS)
        versions = len(table.history())
        assert table.delete("id = 99").version is None
        assert table.update({"name": "'x'"}, "id is null").counts == {
            "inserted": 0,
            "updated": 0,
            "deleted": 0,
        }
        assert statements.run(f"insert into {table.name} (id) select id from range(0)").version is None
        source = "(select 77L as id) as s on target.id = s.id when matched then delete"
        assert statements.run(f"merge into {table.name} as target using {source}").version is None
        assert len(table.history()) == versions

    def test_partitions_that_a_condition_excludes_are_not_read(self, statements: Statements) -> None:
        table = statements.make("pruned", "partitioned", ROWS)
        corrupt(statements, "pruned", "d = 'q'")
        run = statements.run
        assert run("delete from pruned where d = 'p' and id = 0").deleted == 1
        assert run("update pruned set name = 'u' where id = 1 and d in (select string('p'))").updated == 1
        source = "(select 1L as id, 'p' as d, 'm' as name) as s on t.id = s.id and t.d = s.d"
        assert (
            run(f"merge into pruned as t using {source} when matched then update set name = s.name").updated
            == 1
        )
        # and of whole partitions, no file is read
        assert run("delete from pruned where d = 'q'").counts == {"partitions": 1}
        assert statements.rows("select id, name, d from pruned") == [(1, "m", "p")]
        assert run("delete from pruned").counts == {"partitions": 1}
        assert table.to_df().count() == 0

    def test_lists_of_numbers_with_an_unknown_one(self, statements: Statements) -> None:
        """Spark's reader of ORC ends in a NullPointerException where such a condition reaches it."""
        statements.make("listed", "partitioned", ROWS)
        assert statements.run("update listed set name = 'u' where id in (1, null) and ts > 0").updated == 1
        assert statements.run("delete from listed where not (id not in (2, nullif(1, 1)))").deleted == 1
        assert statements.run("delete from listed where id not in (1, null)").deleted == 0
        assert statements.rows("select id, name from listed") == [(0, "n"), (1, "u"), (3, "n")]

    @pytest.mark.slow
    def test_rows_in_partitions_that_only_deltas_have_are_found(self, statements: Statements) -> None:
        table = statements.make("beside", "merge on read, partitioned", ROWS)
        table.merge("select id, 'n' as name, 2 as ts, 'new' as d from range(10, 13)")
        run = statements.run
        source = "(select 10L as id, 'm' as name) as s on t.id = s.id"
        clauses = "when matched then update set name = s.name when not matched then insert (id) values (s.id)"
        assert run(f"merge into beside as t using {source} {clauses}").counts["updated"] == 1
        assert run("update beside set name = 'u' where id = 11").updated == 1
        assert run("delete from beside where d = 'new' and id = 12").deleted == 1
        assert statements.rows("select id, name from beside where d = 'new'") == [(10, "m"), (11, "u")]

    @pytest.mark.parametrize(
        "kind",
        of_rings(
            ["partitioned", "append, partitioned", "keyed, partitioned", "merge on read, partitioned"],
            ["merge on read, partitioned"],
        ),
    )
    def test_rows_move_into_partitions_that_the_condition_excludes(
        self, statements: Statements, kind: str
    ) -> None:
        table = statements.make(f"moved_{len(kind)}", kind, ROWS)
        assert table.update({"d": "'q'"}, "d = 'p' and id = 1").updated == 1
        source = "(select 0L as id, 'p' as d) as s on t.id = s.id and t.d = s.d when matched then update set d = 'q'"
        assert statements.run(f"merge into {table.name} as t using {source}").updated == 1
        assert statements.rows(f"select id, d from {table.name}") == [(n, "q") for n in range(4)]
        statements.run(f"insert into {table.name} replace where d = 'p' select 9, 'n', 1, 'p'")
        assert statements.rows(f"select id, d from {table.name}") == [*((n, "q") for n in range(4)), (9, "p")]

    @pytest.mark.parametrize(
        ("mode", "stores"),
        [
            ("merge_on_read", True),
            pytest.param("copy_on_write", False, marks=pytest.mark.slow),
            pytest.param("copy_on_write", True, marks=pytest.mark.slow),
            pytest.param("merge_on_read", False, marks=pytest.mark.slow),
        ],
    )
    def test_a_feed_meets_corrections(self, statements: Statements, mode: str, stores: bool) -> None:
        hidden = ["op"] if stores else ["op", "ts"]
        rules = {**RULES, "except_column_list": hidden, "write_mode": mode}
        table = statements.table(f"fed_{mode}_{stores}".lower())
        table.merge(FEED, **rules)
        assert table.delete("id = 0").deleted == 1
        assert table.update({"name": "'by hand'"}, "id in (1, 2)").updated == 2
        table.update({"id": "30"}, "id = 3")
        # the same batch again, and an older one
        table.merge(FEED, **rules)
        table.merge("select id, 'old' as name, 0 as ts, 'I' as op from range(4)", **rules)
        assert statements.rows(f"select id, name from {table.name}") == [
            (1, "by hand"),
            (2, "by hand"),
            (30, "a"),
        ]
        table.merge("select id, 'new' as name, 2 as ts, 'I' as op from range(2)", **rules)
        assert statements.rows(f"select id, name from {table.name}") == [
            (0, "new"), (1, "new"), (2, "by hand"), (30, "a"),
        ]  # fmt: skip

    def test_a_key_stays_unique(self, statements: Statements) -> None:
        table = statements.make("unique", "keyed, partitioned", ROWS)
        for text in (
            "update unique set id = 1 where id = 2",
            "update unique set id = 7",
            "insert into unique (id, name, ts, d) values (3, 'x', 1, 'elsewhere')",
            "insert into unique (id) values (8), (8)",
            "merge into unique t using (select 5L as id union all select 5L) s on t.id = s.id "
            "when not matched then insert (id) values (s.id)",
        ):
            with pytest.raises(DuplicateKey):
                statements.run(text)
        with pytest.raises(NullKey):
            statements.run("insert into unique (name) values ('x')")
        assert len(table.history()) == 1
        assert table.update({"id": "id + 1"}).updated == 4
        assert statements.rows("select id from unique") == [(1,), (2,), (3,), (4,)]

    def test_other_writers_come_first(self, statements: Statements, monkeypatch: pytest.MonkeyPatch) -> None:
        table = statements.make("raced", "partitioned", ROWS)

        def other() -> None:
            lakemerge.table(table.name, spark=statements.spark).update({"name": "'other'"}, "d = 'p'")

        overtake(monkeypatch, other)
        done = table.update({"name": "concat(name, '!')"}, "d = 'p'")
        assert done.updated == 2
        assert statements.rows("select id, name from raced where d = 'p'") == [(0, "other!"), (1, "other!")]

    def test_merges(self, statements: Statements) -> None:
        statements.make("merged", "partitioned", ROWS)
        run = statements.run
        source = (
            "(select id, case when id = 1 then true when id = 2 then false end as c from range(1, 6)) as s"
        )
        done = run(
            f"with w as (select 1 as x) merge into merged as t using {source} on t.id = s.id "
            "when matched and s.c then update set t.name = concat(t.name, s.id), d = 'moved' "
            "when matched and not s.c then delete "
            "when not matched and s.id = 4 then insert (id, d) values (s.id, 'new') "
            "when not matched by source then update set name = 'alone'"
        )
        assert (done.inserted, done.updated, done.deleted) == (1, 2, 1)
        assert statements.rows("select id, name, d from merged") == [
            (0, "alone", "p"), (1, "n1", "moved"), (3, "n", "q"), (4, None, "new"),
        ]  # fmt: skip
        twice = "(select 1L as id union all select 1L) as s on t.id = s.id"
        with pytest.raises(CardinalityViolation):
            run(f"merge into merged t using {twice} when matched then update set name = 'x'")
        assert run(f"merge into merged t using {twice} when matched then delete").deleted == 1
        # a source that is another one each time is computed once
        random = "(select id, uuid() as u from range(100, 110)) as s on t.name = s.u"
        done = run(
            f"merge into merged t using {random} when not matched then insert (id, name, d) values (s.id, s.u, s.u)"
        )
        assert done.inserted == 10
        assert statements.rows("select count(*), count_if(name = d) from merged where id >= 100") == [
            (10, 10)
        ]
        for wrong, error in {
            "exists (select 1)": UnsupportedStatement,
            "rand() > 0": AnalysisException,
        }.items():
            with pytest.raises(error):
                run(
                    f"merge into merged t using (select 1L as id) s on t.id = s.id when matched and {wrong} then delete"
                )

    def test_the_builder(self, statements: Statements) -> None:
        table = statements.make("built", "unpartitioned", ROWS)
        source = statements.spark.sql("select id, 'b' as name, 9 as ts, 'z' as d from range(3, 5)")
        done = (
            table.merge_into(source, on="target.id = source.id")
            .when_matched_update(set={"name": "source.name"}, condition="source.ts = 9")
            .when_not_matched_insert_all()
            .when_not_matched_by_source_delete(condition="target.id = 0")
            .execute()
        )
        assert (done.inserted, done.updated, done.deleted) == (1, 1, 1)
        assert table.truncate().version == 3
        assert statements.rows("select * from built") == []

    @pytest.mark.slow
    @pytest.mark.parametrize("write_mode", of_rings(["copy_on_write", "merge_on_read"], ["merge_on_read"]))
    def test_a_contract_holds(
        self, statements: Statements, merger: Any, program: Any, write_mode: str
    ) -> None:
        """Each statement that may break a constraint of the model is refused, and a delete cannot."""
        model = merger(
            {
                "unique_key": "id",
                "sequence_by": "ts",
                "write_mode": write_mode,
                "contract": {"enforced": True},
            },
            "id bigint, ts bigint, name string",
        )
        model.model["constraints"] = [{"type": "check", "expression": "name <> 'bad'"}]
        model.model["columns"] = {"name": {"name": "name", "constraints": [{"type": "not_null"}]}}
        rows = [{"id": 1, "ts": 1, "name": "a"}, {"id": 2, "ts": 1, "name": "b"}]
        model.merge(rows)
        name = program.name(model)
        values = "(select 2L as id, 2L as ts, 'bad' as name) as s on t.id = s.id"
        for broken in (
            f"update {name} set name = 'bad' where id = 1",
            f"update {name} set name = null where id = 1",
            f"insert into {name} values (3, 1, 'bad')",
            f"insert overwrite {name} values (3, 1, null)",
            f"insert into {name} replace where id = 2 select 2, 1, 'bad'",
            f"merge into {name} t using {values} when matched then update set *",
            f"merge into {name} t using {values} and false when not matched then insert (id, ts) values (9, 1)",
        ):
            with pytest.raises(ConstraintViolated, match="1 rows"):
                statements.run(broken)
        assert model.rows() == rows
        assert statements.run(f"delete from {name} where id = 1").deleted == 1
        assert statements.run(f"update {name} set name = 'c'").updated == 1
        model.drop()

    def test_inserts(self, statements: Statements) -> None:
        statements.make("inserted", "partitioned", ROWS)
        run, spark = statements.run, statements.spark
        run("insert into inserted by name select 'z' as d, 10L as id")
        run("insert into inserted partition (d = 'z') values (11, 'x', 2)")
        run("insert overwrite inserted partition (d = 'p') select 20, 'o', 2")
        assert statements.rows("select id, d from inserted") == [
            (10, "z"),
            (11, "z"),
            (2, "q"),
            (20, "p"),
            (3, "q"),
        ]
        assert (
            run("insert overwrite inserted partition (d = 'p') if not exists select 21, 'o', 2").version
            is None
        )
        assert (
            run("insert into inserted replace where d = 'z' and id > 10 select 12, 'r', 1, 'z'").deleted == 1
        )
        with pytest.raises(ConstraintViolated):
            run("insert into inserted replace where d = 'z' select 12, 'r', 1, 'p'")
        spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
        run("insert overwrite inserted select 30, 'd', 1, 'q'")
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
        assert statements.rows("select id, d from inserted") == [(10, "z"), (12, "z"), (20, "p"), (30, "q")]
        assert run("truncate table inserted partition (d = 'z')").counts == {"partitions": 1}
        run("insert overwrite inserted select 40, 's', 1, 'q'")
        assert statements.rows("select id, d from inserted") == [(40, "q")]

    def test_an_append_table_keeps_the_commits_of_its_rows(self, statements: Statements) -> None:
        table = statements.make("appended", "append", ROWS)
        table.append(ROWS.replace("range(4)", "range(4, 6)"))
        assert table.update({"name": "'u'"}, "id in (0, 5)").updated == 2
        assert table.delete("id = 1").deleted == 1
        assert statements.run("insert into appended values (9, 'i', 1, 'x')").version == 5
        assert statements.rows("select id, _commit from appended where id in (0, 5, 9)") == [
            (0, 1),
            (5, 2),
            (9, 5),
        ]
        with pytest.raises(UnsupportedStatement, match="_commit"):
            table.update({"_commit": "1"})

    def test_the_session_is_the_statements(self, statements: Statements) -> None:
        table = statements.make("own", "unpartitioned", ROWS)
        statements.spark.sql("select 2L as id").createOrReplaceTempView("mine")
        assert table.delete("id in (select id from mine)").deleted == 1
        # one moment, whenever it is looked at
        table.update({"name": "string(current_timestamp())"})
        assert statements.rows("select count(distinct name) from own") == [(1,)]
        told = table.history()[0]
        assert told["operation"] == "update"
        assert "current_timestamp" in told["statement"]
        statements.spark.conf.set("spark.lakemerge.recordStatements", "false")
        table.delete("name = 'secret'")
        table.delete("id = 1")
        statements.spark.conf.unset("spark.lakemerge.recordStatements")
        assert table.history()[0]["statement"] == ""

    def test_tables_that_are_not_ours(self, statements: Statements) -> None:
        spark = statements.spark
        spark.sql("create table text (id int) stored as textfile")
        spark.sql("create table plain (id int) stored as orc")
        with pytest.raises(UnsupportedTable):
            statements.run("delete from text")
        for text in (
            "insert into plain values (1)",
            "select 1",
            "delete from missing",
            "drop table plain",
        ):
            with pytest.raises(UnsupportedStatement):
                statements.run(text)
        with pytest.raises(ParseException):
            statements.run("delete from plain where id in (select 'x')")
        spark.sql("insert into plain values (1), (2)")
        assert statements.run("delete from plain where id = 1").deleted == 1
