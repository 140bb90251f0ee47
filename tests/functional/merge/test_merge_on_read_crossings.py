"""A table that is merged on read, where something else meets its view, its base or its deltas."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from dbt.adapters.lakemerge.merge.on_read import MergeOnRead
from dbt.tests.util import run_dbt

from functional.overtaking import overtake

from . import test_merge_on_read_project as example
from .test_merge_on_read_project import CHANGES, MASTER, ONE, THREE, TWO, build
from .test_merge_properties import CONFIG

FEED = "id bigint, region string, name string, ts bigint, op string"
ON_READ = {**CONFIG, "write_mode": "merge_on_read", "partition_by": "region", "compact_deltas": 0}


def change(number: int, ts: int, **other: Any) -> dict[str, Any]:
    return {"id": number, "region": "north", "name": f"n{ts}", "ts": ts, "op": "U", **other}


def outstanding(merger: Any, **options: Any) -> Any:
    """A table of two rows, one of which a delta has changed."""
    table = merger({**ON_READ, **options}, FEED)
    table.merge([change(1, 1), change(2, 1)])
    table.merge([change(1, 5)])
    assert len(table.sql("select * from {table}__deltas")) == 1
    return table


def names(table: Any) -> list[str]:
    return [f"{row['id']}: {row['name']}" for row in table.rows("id, name")]


def compact(table: Any) -> None:
    with table.adapter.connection_named(table.name):
        table.adapter.compact_table(table.context, table.relation, table.model)


def insert(table: Any, *values: tuple[int, str, int]) -> None:
    """As another program does: into the base, which has the files."""
    rows = ", ".join(f"({number}, '{name}', {ts})" for number, name, ts in values)
    table.sql(f"insert into {{table}}__base partition (region = 'north') values {rows}")


class TestCompactionMeanwhile:
    @pytest.mark.parametrize(
        ("while_computed", "exact_counts"),
        [
            (False, False),
            pytest.param(True, False, marks=pytest.mark.slow),
            pytest.param(False, True, marks=pytest.mark.slow),
            pytest.param(True, True, marks=pytest.mark.slow),
        ],
    )
    def test_a_merge_is_not_disturbed(
        self, merger: Any, monkeypatch: pytest.MonkeyPatch, while_computed: bool, exact_counts: bool
    ) -> None:
        table = outstanding(merger, max_attempts=1, exact_counts=exact_counts)
        if while_computed:
            compute = MergeOnRead.compute_changes

            def slowly(driver: Any, plan: Any) -> Any:
                monkeypatch.undo()
                with ThreadPoolExecutor(1) as thread:
                    thread.submit(compact, table).result()
                return compute(driver, plan)

            monkeypatch.setattr(MergeOnRead, "compute_changes", slowly)
        else:
            overtake(monkeypatch, lambda: compact(table))
        table.merge([change(2, 6), change(3, 6)])
        assert names(table) == ["1: n5", "2: n6", "3: n6"]
        base = table.sql("select name from {table}__base order by id")
        assert [row["name"] for row in base] == ["n5", "n1"], "the compaction stands, too"
        table.drop()


class TestTruncation:
    def test_it_empties_the_table_and_the_next_run_merges_on_read_again(self, merger: Any) -> None:
        table = outstanding(merger)
        with table.adapter.connection_named(table.name):
            table.adapter.truncate_relation(table.relation)
        assert table.rows() == []
        assert table.history()[0]["operation"] == "truncate"
        table.merge([change(1, 2)])
        assert (names(table), table.kind()) == (["1: n2"], "VIRTUAL_VIEW")
        table.drop()


class TestViewOfAnother:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"changes.sql": CHANGES, "master.sql": MASTER}

    def test_a_run_says_what_is_in_the_place_and_a_full_refresh_replaces_it(self, project: Any) -> None:
        rows, kinds = example.TestProject.rows, example.TestProject.kinds
        build("run")
        view = f"create or replace view {project.test_schema}.master as select 1 as id"
        project.run_sql(view)
        results = run_dbt(["run", "--select", "master"], expect_pass=False)
        message = str(results[0].message)
        assert "UnsupportedTable" in message
        assert "select 1 as id" in message
        assert f"drop view {project.test_schema}.master" in message
        project.run_sql(f"drop view {project.test_schema}.master")
        build("run", upto=2)
        assert rows(project) == TWO
        project.run_sql(view)
        build("run", "--full-refresh")
        assert rows(project) == ONE
        assert sorted(kinds(project)) == ["master", "master__base", "master__deltas"]
        build("run", upto=3)
        assert rows(project) == THREE
