"""What is erased is in no file: every byte below the tables' roots is searched for a value that only it has."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lakemerge
from functional.statements.conftest import KINDS, Statements
from lakemerge.engine.spark.session import application_of
from lakemerge.errors import InvalidConfig, NotErased, UnsupportedStatement
from lakemerge.kernel import Kernel, Pin, Settings, TableName, remove_pin, set_pin

pytestmark = pytest.mark.slow

MARK = "zerastusmarkervalue"
#: Files are not compressed and have no dictionary, so that a value stands in them as it is.
PLAIN = {
    "orc": {"orc.compress": "NONE"},
    "parquet": {"parquet.compression": "UNCOMPRESSED"},
}
ROWS = f"select id, if(id = 2, '{MARK}', concat('n', id)) as name, 1 as ts, if(id < 2, 'p', 'q') as d from range(4)"
HISTORY: dict[str, Any] = {
    "unique_key": "id",
    "sequence_by": "ts",
    "apply_as_deletes": "op = 'D'",
    "except_column_list": ["op"],
    "stored_as_scd_type": 2,
    "track_history_column_list": ["d"],
}


def root_of(statements: Statements, name: str) -> Path:
    kernel = Kernel(application_of(statements.spark).ports, Settings())
    return Path(kernel.open(TableName(statements.schema, name)).layout.root.removeprefix("file:"))


def holding(root: Path, text: str = MARK) -> list[str]:
    """The files whose path or bytes have a text."""

    def found() -> Iterator[str]:
        for path in root.rglob("*"):
            content = path.read_bytes() if path.is_file() else b""
            content = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
            if text in str(path.relative_to(root)) or text.encode() in content:
                yield str(path)

    return sorted(found())


@pytest.fixture(autouse=True)
def _plain_files(statements: Statements) -> None:
    """Spark's own defaults for new files."""
    statements.spark.conf.set("spark.sql.orc.compression.codec", "none")


def make(statements: Statements, name: str, kind: str) -> lakemerge.tables.Table:
    made = statements.table(name)
    options = {**KINDS[kind], "tblproperties": PLAIN[KINDS[kind].get("file_format", "orc")]}
    if "unique_key" in options:
        made.merge(ROWS, **options)
        made.merge(ROWS.replace("1 as ts", "2 as ts"), **options)
    elif kind.startswith("append"):
        made.append(ROWS, **options)
        made.append(ROWS, **options)
    else:
        made.replace(ROWS, **options)
        statements.run(f"update {name} set ts = 2")
    return made


class TestErasure:
    def test_every_kind_of_table_at_once(self, statements: Statements) -> None:
        tables = {f"erased_{number}": kind for number, kind in enumerate(KINDS)}
        for name, kind in tables.items():
            make(statements, name, kind)
        statements.table("of_versions").merge(
            "select *, 'U' as op from (" + ROWS + ")", **HISTORY, tblproperties=PLAIN["orc"]
        )
        statements.table("of_versions").merge(
            f"select 2L as id, '{MARK}2' as name, 2 as ts, 'q' as d, 'U' as op union all "
            f"select 9L, '{MARK}3', 5, 'q', 'D'",
            **HISTORY,
        )
        statements.spark.sql(
            f"create table of_hive stored as orc tblproperties ('orc.compress'='NONE') as {ROWS}"
        )
        names = [*tables, "of_versions", "of_hive"]
        conditions = {f"{statements.schema}.{name}": f"name like '{MARK}%'" for name in names}
        before = {name: holding(root_of(statements, name)) for name in names}
        assert all(before.values()), [name for name, files in before.items() if not files]
        told = lakemerge.erase(conditions, spark=statements.spark)
        assert {row["state"] for row in told} == {"needed"}
        assert {name: holding(root_of(statements, name)) for name in names} == before, (
            "a dry run changes nothing"
        )
        for row in told:
            if row["table_name"].endswith("of_hive"):
                continue  # of a table without versions, the files are those of its rows
            held = before[row["table_name"].partition(".")[2]]
            assert {path.removeprefix("file:").replace("//", "/") for path in row["files"]} <= set(held)
            assert row["versions"]
        done = lakemerge.erase(conditions, spark=statements.spark, dry_run=False)
        assert {row["state"] for row in done} == {"erased"}
        assert {name: holding(root_of(statements, name)) for name in names} == {name: [] for name in names}
        for name, kind in tables.items():
            left = statements.rows(f"select distinct id from {name}")
            assert left == [(0,), (1,), (3,)], kind
            newest = statements.table(name).history()[0]
            assert MARK not in str(newest)
        views = {row[1] for row in statements.rows("show views") if row[1] in tables}
        assert views == {name for name, kind in tables.items() if kind.startswith("merge on read")}
        # merged again, the person stays away
        for name, kind in tables.items():
            if "sequence_by" in KINDS[kind]:
                statements.table(name).merge(ROWS.replace("1 as ts", "2 as ts"))
                assert statements.rows(f"select id from {name}") == [(0,), (1,), (3,)], kind
        statements.table("of_versions").merge("select *, 'U' as op from (" + ROWS + ")", **HISTORY)
        assert statements.rows("select id from of_versions") == [(0,), (1,), (3,)]
        again = lakemerge.erase(conditions, spark=statements.spark, dry_run=False)
        assert {row["state"] for row in again} == {"clean"}

    def test_a_value_that_partitions_are_named_by(self, statements: Statements) -> None:
        table = statements.table("by_name")
        table.replace(ROWS, partition_by=["name"])
        statements.run("update by_name set ts = 3 where id = 2")
        assert holding(root_of(statements, "by_name"))
        row = lakemerge.erase({"by_name": f"name = '{MARK}'"}, spark=statements.spark, dry_run=False)[0]
        assert (row["rows"], row["versions"], row["named_in"]) == (1, [1, 2], [])
        assert holding(root_of(statements, "by_name")) == []

    def test_rows_that_only_earlier_versions_have(self, statements: Statements) -> None:
        make(statements, "long_gone", "partitioned")
        statements.run("delete from long_gone where id = 2")
        told = lakemerge.erase({"long_gone": "id = 2"}, spark=statements.spark)[0]
        assert (told["state"], told["rows"]) == ("needed", 0)
        lakemerge.erase({"long_gone": "id = 2"}, spark=statements.spark, dry_run=False)
        assert holding(root_of(statements, "long_gone")) == []

    def test_what_still_holds_rows_is_named(self, statements: Statements) -> None:
        table = make(statements, "pinned", "partitioned")
        kernel = Kernel(application_of(statements.spark).ports, Settings())
        layout = kernel.open(TableName(statements.schema, "pinned")).layout
        set_pin(kernel.files, layout, Pin("reports", 1, "2999-01-01T00:00:00+00:00"))
        conditions = {"pinned": f"name = '{MARK}'"}
        assert "reports" in lakemerge.erase(conditions, spark=statements.spark)[0]["kept_by"][0]
        with pytest.raises(NotErased, match="reports") as raised:
            lakemerge.erase(conditions, spark=statements.spark, dry_run=False)
        assert "/data/" in str(raised.value)
        assert table.to_df().where("id = 2").count() == 0
        remove_pin(kernel.files, layout, "reports")
        foreign = root_of(statements, "pinned") / "copied_by_hand.orc"
        foreign.write_bytes(Path(holding(root_of(statements, "pinned"))[0]).read_bytes())
        with pytest.raises(NotErased, match=r"copied_by_hand\.orc"):
            lakemerge.erase(conditions, spark=statements.spark, dry_run=False)
        assert holding(root_of(statements, "pinned")) == [str(foreign)]

    def test_a_version_that_has_a_name_is_named_until_the_name_goes(self, statements: Statements) -> None:
        table = make(statements, "tagged", "partitioned")
        table.tag("month_end", version=1, as_table=True)
        conditions = {"tagged": f"name = '{MARK}'"}
        with pytest.raises(NotErased, match="the tag month_end"):
            lakemerge.erase(conditions, spark=statements.spark, dry_run=False)
        assert statements.rows("select name from tagged__month_end where id = 2") == [(MARK,)]
        table.untag("month_end")
        assert lakemerge.erase(conditions, spark=statements.spark, dry_run=False)[0]["state"] == "erased"
        assert holding(root_of(statements, "tagged")) == []

    def test_keys_that_a_ledger_remembers_are_told(self, statements: Statements) -> None:
        make(statements, "keyed", "keyed, partitioned")
        row = lakemerge.erase({"keyed": "id = 2"}, spark=statements.spark, dry_run=False)[0]
        assert (row["state"], len(row["keys_in"])) == ("erased", 1)

    def test_a_history_forgets_what_only_its_ledger_has(self, statements: Statements) -> None:
        table, feed = statements.table("unseen"), "select *, 'U' as op from (" + ROWS + ")"
        deleted = f"select 9L as id, '{MARK}' as name, 5 as ts, 'q' as d, 'D' as op"
        table.merge(feed, **HISTORY, tblproperties=PLAIN["orc"])
        table.merge(deleted, **HISTORY)
        where = {"unseen": f"name = '{MARK}' and id = 9"}
        assert lakemerge.erase(where, spark=statements.spark, dry_run=False)[0]["state"] == "erased"
        assert statements.rows("select id from unseen") == [(0,), (1,), (2,), (3,)]
        assert not [path for path in holding(root_of(statements, "unseen")) if "ledger" in path]
        assert table.merge(deleted, **HISTORY).version is None

    def test_what_is_refused(self, statements: Statements) -> None:
        make(statements, "asked", "partitioned")
        make(statements, "asking", "partitioned")
        spark = statements.spark
        wrong: list[Any] = [{}, {"asked": ""}, {"asked": None}, []]
        for one in wrong:
            with pytest.raises(InvalidConfig):
                lakemerge.erase(one, spark=spark)
        with pytest.raises(InvalidConfig):
            lakemerge.erase({"asked": "id = 1"}, spark=spark, dry_run="no")  # type: ignore[arg-type]
        for condition in (
            "id in (select id from asking)",
            "id = (select max(id) from asked)",
            "exists (select 1 from asking where asking.id = asked.id)",
        ):
            with pytest.raises(UnsupportedStatement, match="reads"):
                lakemerge.erase({"asked": condition, "asking": "id = 1"}, spark=spark, dry_run=False)
        with pytest.raises(UnsupportedStatement):
            lakemerge.erase({"asked": "rand() < 2"}, spark=spark, dry_run=False)
        assert len(statements.table("asked").history()) == 2
        spark.sql("create or replace temp view requests as select 2L as wanted")
        conditions = {"asked": "id in (select wanted from requests)"}
        assert lakemerge.erase(conditions, spark=spark, dry_run=False)[0]["rows"] == 1
        assert holding(root_of(statements, "asked")) == []
