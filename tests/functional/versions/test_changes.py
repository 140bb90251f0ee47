"""What changed between versions: columns, keys, copies, and commits without changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import lakemerge
from functional.transactions.conftest import Program
from functional.versions.conftest import Recorded, free
from lakemerge.errors import InvalidConfig, VersionVacuumed

Make = Callable[..., Recorded]


class TestChanges:
    @pytest.fixture(autouse=True)
    def _session(self, program: Program, project: Any, request: pytest.FixtureRequest) -> None:
        self.spark = program.spark
        name = f"{project.test_schema}.c{abs(hash(request.node.name)) % 10**8}"
        self.table = lakemerge.table(name, spark=program.spark)

    def sql(self, statement: str) -> None:
        lakemerge.sql(statement.format(table=self.table.name), spark=self.spark)

    def found(self, *columns: str, **arguments: Any) -> Counter[tuple[Any, ...]]:
        frame = self.table.changes(**arguments)
        return Counter(map(tuple, frame.selectExpr("_change_type", "_commit_version", *columns).collect()))

    @pytest.mark.slow
    def test_copies_nulls_and_odd_columns(self) -> None:
        rows = """select cast(id as bigint) as `order`, map('a', id, 'b', null) as `m.x y`, array(id, null) as list,
            named_struct('Inner', cast(null as string)) as s, cast('NaN' as double) as d
            from values (1), (1), (2), (cast(null as int)) as t(id)"""
        self.table.append(rows)
        assert self.found("`order`") == {("insert", 1, 1): 2, ("insert", 1, 2): 1, ("insert", 1, None): 1}
        # other order of a map's entries is no change
        self.sql("update {table} set `m.x y` = map('b', cast(null as int), 'a', `order`) where `order` = 2")
        self.sql("delete from {table} where `order` is null")
        assert self.found("`order`", from_version=1) == {("delete", 3, None): 1}
        self.sql("update {table} set list = array(7) where `order` = 1")
        assert self.found("`order`", "`m.x y`['a']", "list[0]", from_version=3) == {
            ("delete", 4, 1, 1, 1): 2,
            ("insert", 4, 1, 1, 7): 2,
        }
        # doubled keys pair copy by copy
        assert self.found("list[0]", from_version=3, key="order") == {
            ("update_preimage", 4, 1): 2,
            ("update_postimage", 4, 7): 2,
        }
        assert self.found("list[0]", from_version=3, key=["order"], preimages=False) == {
            ("update_postimage", 4, 7): 2
        }
        diff = self.table.diff(from_version=3, key=["order"], samples=1)
        assert (diff.updated, diff.updated_columns, len(diff.samples)) == (2, {"list": 2}, 1)
        with pytest.raises(InvalidConfig, match="a key of columns"):
            self.table.diff(from_version=3, key="nothing")

    def test_columns_that_come_and_change_their_types(self) -> None:
        options = {"unique_key": "id", "on_schema_change": "sync_all_columns"}
        self.table.merge("select 1 as id, 'a' as name, 1 as n", **options)
        self.table.merge("select 2 as id, 'b' as name, 2 as n, true as late", **options)
        self.table.merge("select 3 as id, cast(5000000000 as bigint) as n, false as late", **options)
        assert self.table.to_df().columns == ["id", "n", "late"]
        assert self.found("id", "n", "late") == {
            ("insert", 1, 1, 1, None): 1,
            ("insert", 2, 2, 2, True): 1,
            ("insert", 3, 3, 5000000000, False): 1,
        }
        diff = self.table.diff(from_version=1)
        assert (diff.added_columns, diff.removed_columns, diff.inserted) == (["late"], ["name"], 2)

    def test_rows_that_only_move_have_not_changed(self, recorded: Make) -> None:
        for kind in ("partitioned", "on read", "commits"):
            one = recorded(kind)
            one.bring()
            one.bring()
            last = int(one.table.history(1)[0]["version"])
            one.table.compact(deltas="major" if kind == "on read" else None)
            one.table.tag("here")
            assert one.table.changes(from_version=last).count() == 0
            diff = one.table.diff(from_version=last)
            assert (diff.inserted, diff.updated, diff.deleted) == (0, 0, 0)

    @pytest.mark.slow
    def test_versions_in_between_that_are_gone(self, recorded: Make, program: Program) -> None:
        one = recorded("partitioned")
        first = one.bring()
        one.table.tag("read", version=first)
        later = one.bring()
        one.table.tag("later", version=later)
        last = one.bring()
        # from a time on, without an end (as Iceberg's changelog once gave nothing)
        moment = one.table.history()[-1]["committed_at"]
        known = one.table.at(timestamp=moment).version
        by_time, by_number = (
            one.table.changes(**start).count()
            for start in ({"from_timestamp": moment}, {"from_version": known})
        )
        assert by_time == by_number
        free(program, one)
        # between two names, of which neither is among the versions that are kept in a row (Paimon once lost such rows)
        kinds = Counter(
            row[0]
            for row in one.table.changes(from_tag="read", to_tag="later", net=True)
            .select("_change_type")
            .collect()
        )
        assert kinds["insert"] - kinds["delete"] == len(one.rows[later]) - len(one.rows[first])
        assert one.table.diff(from_tag="read", to_tag="later").inserted == kinds["insert"]
        with pytest.raises(VersionVacuumed, match="to see what each did"):
            one.table.changes(from_tag="read")
        with pytest.raises(VersionVacuumed, match="the first version"):
            one.table.changes()
        kinds = Counter(
            row[0] for row in one.table.changes(from_tag="read", net=True).select("_change_type").collect()
        )
        diff = one.table.diff(from_tag="read")
        assert kinds["insert"] - kinds["delete"] == len(one.rows[last]) - len(one.rows[first])
        assert diff.updated == kinds["update_postimage"] == kinds["update_preimage"]

    def test_what_cannot_be_given_is_refused(self, recorded: Make) -> None:
        one = recorded("whole parquet")
        one.bring()
        one.bring()
        with pytest.raises(InvalidConfig, match="not after the last one"):
            one.table.changes(from_version=2, to_version=1)
        with pytest.raises(InvalidConfig, match="from_version, from_timestamp, from_tag"):
            one.table.changes(from_version=1, from_tag="x")
        assert one.table.changes(from_version=2).count() == 0
        self.table.append("select 1 as id, 'x' as _change_type")
        with pytest.raises(InvalidConfig, match="_change_type"):
            self.table.changes()
        assert self.table.diff().inserted == 1

    def test_an_adopted_table_begins_with_its_rows(self, program: Program) -> None:
        self.spark.sql(f"create table {self.table.name} (id int) stored as orc")
        self.spark.sql(f"insert into {self.table.name} values (1), (2)")
        self.sql("delete from {table} where id = 1")
        assert self.found("id") == {("insert", 0, 1): 1, ("insert", 0, 2): 1, ("delete", 1, 1): 1}
        assert self.found("id", from_version=0) == {("delete", 1, 1): 1}
