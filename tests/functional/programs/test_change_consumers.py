"""Programs without dbt that follow the changes of a table: what they keep is equal to a rebuild, whatever happens."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

import lakemerge
from functional.transactions.conftest import Program, merger, models, program
from lakemerge.errors import ConsumerExpired, ConsumerFenced, InvalidConfig
from lakemerge.kernel import vacuum
from lakemerge.tables import Table
from rings import of_rings

__all__ = ["merger", "models", "program"]

MERGED = {"unique_key": "id", "apply_as_deletes": "op = 'D'", "except_column_list": ["op"]}
COPIED = {
    "unique_key": "id",
    "apply_as_deletes": "_change_type = 'delete'",
    "except_column_list": ["_change_type", "_commit_version", "_commit_timestamp"],
}
TOTALS = """
    with changed as (
        select region, sum(one) as n, sum(one * price) as total
        from (select *, if(_change_type in ('insert', 'update_postimage'), 1, -1) as one from changes)
        group by region
    )
    select region, changed.n + {n} as n, changed.total + {total} as total from changed {kept}
"""


class TestChangeConsumers:
    @pytest.fixture(autouse=True)
    def _session(self, program: Program, project: Any, request: pytest.FixtureRequest) -> None:
        self.spark = program.spark.newSession()
        self.spark.sql(f"use `{project.test_schema}`")
        self.kernel = program.kernel
        test = abs(hash(request.node.name)) % 10**8
        self.master, self.mart, self.totals = (
            lakemerge.table(f"{project.test_schema}.{name}{test}", spark=self.spark)
            for name in ("master", "mart", "totals")
        )

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return sorted(map(tuple, self.spark.sql(query).collect()))

    def feed(self, *rows: tuple[Any, ...], **options: Any) -> None:
        shown = ", ".join(map(str, rows))
        self.master.merge(f"select * from values {shown} as f (id, region, price, op)", **MERGED, **options)

    def copy(self, rows: Any = "select * from changes", **arguments: Any) -> Any:
        rebuild = arguments.pop("rebuild", False)
        follower = self.mart.consume_changes(self.master, net=True, preimages=False, **arguments)
        return follower.merge(rows, rebuild=rebuild, **COPIED)

    def add_up(self) -> Any:
        has = self.totals.exists
        names = {one: f"coalesce(kept.{one}, 0)" if has else "0" for one in ("n", "total")}
        kept = f"left join {self.totals.name} as kept using (region)" if has else ""
        follower = self.totals.consume_changes(self.mart.name)
        return follower.merge(
            TOTALS.format(**names, kept=kept), unique_key="region", apply_as_deletes="n = 0"
        )

    def check(self) -> None:
        for one in (self.master, self.mart, self.totals):
            self.spark.catalog.refreshTable(one.name)
        assert self.rows(f"select * from {self.mart.name}") == self.rows(f"select * from {self.master.name}")
        assert self.rows(f"select region, n, total from {self.totals.name}") == self.rows(
            f"select region, count(*), sum(price) from {self.master.name} group by region"
        )

    @pytest.mark.parametrize("write_mode", of_rings(("copy_on_write", "merge_on_read"), ("copy_on_write",)))
    def test_a_chain_has_what_a_rebuild_has(self, write_mode: str) -> None:
        self.feed((1, "a", 10, "I"), (2, "a", 20, "I"), (3, "b", 30, "I"), write_mode=write_mode)
        assert self.copy().inserted == 3
        self.add_up()
        self.check()
        self.feed((1, "b", 11, "U"), (2, "a", 0, "D"), (4, "c", 40, "I"))
        self.feed((4, "c", 0, "D"), (5, "a", 50, "I"), (3, "b", 33, "U"))
        assert self.copy(limit=1).left == 1
        self.add_up()
        self.copy()
        self.add_up()
        self.check()
        self.master.compact(deltas="major" if write_mode == "merge_on_read" else None, sort_by=["price"])
        lakemerge.sql(f"update {self.mart.name} set price = price where id = 1", spark=self.spark)
        assert self.copy().version is None
        added = self.add_up()  # records that it has seen the version without changes
        assert (added.inserted, added.updated, added.deleted) == (0, 0, 0)
        self.master.restore(version=1, dry_run=False)
        self.copy()
        self.add_up()
        self.check()

    def test_a_function_makes_the_rows_anew_for_each_attempt(self) -> None:
        self.feed((1, "a", 10, "I"))
        self.copy()
        self.feed((1, "a", 11, "U"))
        self.spark.createDataFrame([(1, 5)], "id int, more int").createOrReplaceTempView("mine")
        seen = []

        def rows(changes: Any) -> Any:
            before = self.mart.to_df().selectExpr("id", "price as old").collect()[0].old
            seen.append(before)
            if len(seen) == 1:  # somebody comes first
                lakemerge.sql(f"update {self.mart.name} set price = 1000", spark=self.spark)
            # the program's own session, with its views
            more = changes.join(self.spark.table("mine"), "id")
            return more.selectExpr("id", "region", f"price + more + {before} as price", "_change_type",
                                   "_commit_version", "_commit_timestamp")  # fmt: skip

        self.copy(rows)
        assert seen == [10, 1000]
        assert self.rows(f"select id, price from {self.mart.name}") == [(1, 1016)]

    @pytest.mark.slow
    def test_a_failure_takes_nothing_and_the_bad_version_is_soon_alone(self) -> None:
        self.feed((1, "a", 10, "I"))
        self.copy()
        for number in (12, 13, 14):
            self.feed((number, "p", number, "I"))
        poison = "select * from changes where assert_true(price <> 13) is null"
        for _ in range(4):
            with pytest.raises(Exception, match="is not true"):
                self.copy(poison)
        assert self.rows(f"select price from {self.mart.name}") == [(10,), (12,)]
        follower = self.mart.consume_changes(self.master, net=True, preimages=False)
        states = [
            (one["state"], one["failures"] > 0) for one in follower.states() if one["state"] != "processed"
        ]
        assert states == [("available", True)] * 2
        assert self.rows_of(follower.changes()) == [(13,)]
        self.copy()
        assert self.rows(f"select price from {self.mart.name}") == [(10,), (12,), (13,), (14,)]
        follower.reset(version=2)
        assert self.rows_of(follower.changes()) == [(13,), (14,)]
        follower.drop()
        assert follower.states() == []

    def rows_of(self, frame: Any) -> list[tuple[Any, ...]]:
        return sorted(map(tuple, frame.select("price").collect()))

    @pytest.mark.slow
    def test_of_two_programs_at_once_one_counts(self) -> None:
        self.feed((1, "a", 10, "I"))
        self.copy()
        self.add_up()
        self.feed((1, "a", 11, "U"), (2, "a", 1, "I"))
        self.copy()
        inner: list[Any] = []

        def rows(changes: Any) -> Any:
            if not inner:
                inner.append(self.copy())  # finds the versions taken
            return changes

        self.feed((3, "c", 3, "I"))
        assert self.copy(rows).inserted == 1
        assert inner[0].version is None

        def reset(changes: Any) -> Any:
            if len(inner) == 1:
                inner.append(self.mart.consume_changes(self.master, net=True, preimages=False).reset())
            return changes

        self.feed((4, "c", 4, "I"))
        with pytest.raises(ConsumerFenced):
            self.copy(reset)
        self.copy()
        self.add_up()
        self.check()

    @pytest.mark.slow
    def test_versions_are_pinned_and_a_lost_one_is_told(self) -> None:
        self.feed((1, "a", 10, "I"))
        self.copy(pin="1 day")
        for number in range(3):
            self.feed((1, "a", number, "U"))
        self.vacuum(self.master)
        assert self.copy().updated == 1
        self.feed((1, "a", 99, "U"))
        self.mart.consume_changes(self.master).drop()
        with pytest.raises(InvalidConfig, match="consume_changes"):
            self.mart.consume_changes(self.master, limit=0.5)  # type: ignore[arg-type]
        assert self.copy().updated == 1  # it begins anew, with all that there is
        self.spark.sql(f"drop table {self.master.name}")
        self.feed((8, "n", 1, "I"))
        with pytest.raises(ConsumerExpired, match="rebuild=True"):
            self.copy()
        self.copy(rebuild=True)
        assert self.rows(f"select id from {self.mart.name}") == [(8,)]
        assert self.copy().version is None

    def vacuum(self, table: Table) -> None:
        nothing = datetime.timedelta(0)
        vacuum(self.kernel, table._name, retention=nothing, dry_run=False, allow_short_retention=True)
