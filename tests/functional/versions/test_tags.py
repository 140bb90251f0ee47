"""Names of versions, and tables by which other programs read them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

import lakemerge
from functional.transactions.conftest import Program
from functional.versions.conftest import EACH_KIND, Recorded, free, texts
from lakemerge.errors import (
    InvalidConfig,
    UnknownReference,
    UnsupportedStatement,
    UnsupportedTable,
    VersionChanged,
    VersionVacuumed,
)
from lakemerge.kernel import TableName, drop

Make = Callable[..., Recorded]


def free_all(program: Program, one: Recorded) -> None:
    """Delete all that no kept version needs; twice, because manifests follow what they name."""
    for _ in range(2):
        free(program, one)


class TestTags:
    @pytest.mark.parametrize("kind", EACH_KIND)
    def test_a_named_version_outlives_vacuum_and_has_a_table(
        self, recorded: Make, program: Program, kind: str
    ) -> None:
        one = recorded(kind)
        one.bring()
        second = one.bring()
        made = one.table.tag("month-end.1", version=second, as_table=True)
        assert (made.version, made.expires_at) == (second, "")
        name = one.table._name
        assert made.table == f"{name.schema}.{name.name}__month_end_1"
        one.bring(extra="ts as later")
        one.bring()
        free_all(program, one)
        assert texts(one.table.at(tag="month-end.1").frame()) == one.rows[second]
        assert texts(one.table.at(version=second).frame()) == one.rows[second]
        with pytest.raises(VersionVacuumed, match=rf"{second} \(month-end.1\)"):
            one.table.at(version=second + 1)
        assert texts(one.spark.table(made.table)) == one.rows[second]
        for statement in (
            f"delete from {made.table}",
            f"insert into {made.table} select * from {made.table}",
        ):
            with pytest.raises((UnsupportedTable, UnsupportedStatement)):
                lakemerge.sql(statement, spark=one.spark)
        # again: nothing to do
        versions = len(one.table.history())
        assert one.table.tag("month-end.1", version=second, as_table=True) == made
        assert len(one.table.history()) == versions
        # what a user does to it touches no file
        one.spark.sql(f"drop {'view' if kind == 'on read' else 'table'} {made.table}")
        assert texts(one.table.at(tag="month-end.1").frame()) == one.rows[second]
        one.table.tag("month-end.1", version=second, as_table=True)
        assert texts(one.spark.table(made.table)) == one.rows[second]
        one.table.untag("month-end.1")
        left = program.kernel.metastore.table_summaries(name.schema)
        assert not [row.name for row in left if "month_end" in row.name]
        free_all(program, one)
        with pytest.raises(UnknownReference):
            one.table.at(tag="month-end.1")
        with pytest.raises(VersionVacuumed):
            one.table.at(version=second)
        assert texts(one.table.to_df()) == one.rows[max(one.rows)]

    def test_a_name_may_expire(self, recorded: Make, program: Program) -> None:
        one = recorded("whole parquet")
        first = one.bring()
        one.table.tag("long", version=first, retain="30 days")
        # after it, because a tag forgets what has expired
        made = one.table.tag("short", version=first, retain="1 second")
        assert made.expires_at > made.expires_at[:4]
        one.bring()
        time.sleep(1)
        free_all(program, one)
        assert texts(one.table.at(tag="short").frame()) == one.rows[first]
        one.table.untag("long")
        one.table.tag("newest")  # forgets what has expired
        assert {tag for commit in one.table.history() for tag in commit["tags"]} == {"newest"}
        free_all(program, one)
        with pytest.raises(VersionVacuumed):
            one.table.at(version=first)

    def test_wrong_arguments_change_nothing(self, recorded: Make) -> None:
        one = recorded("partitioned")
        first, second = one.bring(), one.bring()
        one.table.tag("kept", version=first)
        for name, options in {
            "kept": {"version": second},
            "a b": {},
            "": {},
            "x": {"retain": "soon"},
            "y": {"as_table": "other.schema"},
            "z": {"as_table": True, "retain": "3 days"},
            "w": {"version": first, "timestamp": "2026-01-01"},
        }.items():
            with pytest.raises(InvalidConfig):
                one.table.tag(name, **options)  # type: ignore[arg-type]
        with pytest.raises(UnsupportedTable, match=r"the name .* to be free"):
            one.table.tag("taken", as_table=one.table._name.name)
        with pytest.raises(UnknownReference, match="found kept"):
            one.table.untag("other")

    def test_a_table_shows_no_files_but_those_of_its_version(self, recorded: Make) -> None:
        one = recorded("appended")
        first = one.bring()
        one.spark.sql(f"insert into {one.table.name} select 99, 'foreign', 1, 'U', 'south'")
        with pytest.raises(VersionChanged, match="and no others"):
            one.table.tag("first", version=first, as_table=True)

    def test_rebuilding_keeps_names_and_dropping_takes_their_tables_along(
        self, recorded: Make, program: Program, project: Any
    ) -> None:
        one = recorded("whole parquet")
        first = one.bring()
        made = one.table.tag("first", as_table="first_of_them")
        assert made.table == f"{project.test_schema}.first_of_them"
        lakemerge.sql(f"truncate table {one.table.name}", spark=one.spark)
        one.bring()
        free_all(program, one)
        assert texts(one.spark.table(made.table)) == one.rows[first]
        drop(program.kernel, one.table._name)
        assert program.kernel.metastore.get_table(TableName.parse(made.table, "")) is None
