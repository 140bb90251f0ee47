"""A table that is merged on read, where something else meets its view, its base or its deltas."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from dbt.tests.adapter.dbt_clone.test_dbt_clone import BaseClone
from dbt.tests.util import run_dbt
from dbt_common.exceptions import DbtRuntimeError

from functional.overtaking import overtake
from lakemerge.engine.merge.on_read import MergeOnRead

from . import test_merge_on_read_project as example
from .test_merge_on_read_project import CHANGES, MASTER, ONE, THREE, TWO, build
from .test_merge_properties import CONFIG

FEED = "id bigint, region string, name string, ts bigint, op string"
ON_READ = {**CONFIG, "write_mode": "merge_on_read", "partition_by": "region", "compaction": "off"}


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
        table.adapter.compaction.compact(table.context, table.relation, table.model)


def insert(table: Any, *values: tuple[int, str, int]) -> None:
    """As another program does: into the base, which has the files."""
    rows = ", ".join(f"({number}, '{name}', {ts})" for number, name, ts in values)
    table.sql(f"insert into {{table}}__base partition (region = 'north') values {rows}")


@pytest.mark.slow
class TestForeignWrite:
    def test_rows_in_the_base_show_unless_a_delta_has_their_key(self, merger: Any) -> None:
        table = outstanding(merger)
        insert(table, (3, "theirs", 3))
        assert names(table) == ["1: n5", "2: n1", "3: theirs"]
        # the highest sequence is not known any more: a change that is older than theirs is late
        response = table.merge([change(3, 2), change(2, 6)])
        assert (response.updated, response.ignored) == (1, 1)
        assert names(table) == ["1: n5", "2: n6", "3: theirs"]
        compact(table)
        assert names(table) == ["1: n5", "2: n6", "3: theirs"]
        table.drop()

    @pytest.mark.slow
    def test_a_row_whose_key_a_delta_has_gives_way_to_it(self, merger: Any) -> None:
        table = outstanding(merger)
        insert(table, (1, "theirs", 9))
        assert names(table) == ["1: n5", "2: n1"]
        table.merge([change(2, 6)])
        compact(table)
        assert names(table) == ["1: n5", "2: n6"]
        table.drop()

    @pytest.mark.slow
    def test_a_row_whose_key_the_base_has_shows_until_the_key_changes(self, merger: Any) -> None:
        table = outstanding(merger)
        compact(table)
        insert(table, (1, "theirs", 9))
        assert sorted(names(table)) == ["1: n5", "1: theirs", "2: n1"]
        table.merge([change(1, 10)])
        assert names(table) == ["1: n10", "2: n1"]
        compact(table)
        assert names(table) == ["1: n10", "2: n1"]
        table.drop()


@pytest.mark.slow
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


@pytest.mark.slow
class TestRename:
    def test_it_is_refused_as_of_any_table_with_versions(self, merger: Any) -> None:
        table = outstanding(merger)
        adapter, schema = table.adapter, table.relation.schema
        base, deltas, other = (
            adapter.Relation.create(schema=schema, identifier=f"{table.name}{end}", type="table")
            for end in ("__base", "__deltas", "_new")
        )
        refused = f"UnsupportedTable.*found {schema}.{table.name}, which has version 3.*under its new name"
        with adapter.connection_named("rename"):
            for relation in (table.relation, table.relation.incorporate(type="view"), base):
                with pytest.raises(DbtRuntimeError, match=refused):
                    adapter.rename_relation(relation, other)
            with pytest.raises(
                DbtRuntimeError, match=f"UnsupportedTable.*{table.name}__deltas, which belongs to"
            ):
                adapter.rename_relation(deltas, other)
        assert sorted(table.left()) == [table.name, f"{table.name}__base", f"{table.name}__deltas"]
        table.merge([change(2, 6)])
        assert names(table) == ["1: n5", "2: n6"]
        table.drop()


class TestColumns:
    @pytest.mark.slow
    @pytest.mark.parametrize("mode", ["merge_on_read", "auto"])
    def test_columns_come_and_go_with_deltas_outstanding(self, merger: Any, mode: str) -> None:
        table = outstanding(merger, on_schema_change="sync_all_columns")
        table.model["config"]["write_mode"] = mode
        table.merge("select 2 as id, 'north' as region, 7 as ts, 'U' as op, 'x' as more")
        found = [tuple(row) for row in table.sql("select id, ts, more, region from {table} order by id")]
        assert found == [(1, 5, None, "north"), (2, 7, "x", "north")]
        assert "name" not in table.sql("select * from {table}")[0].asDict()
        table.merge("select 1 as id, 'south' as region, 8 as ts, 'U' as op, 'y' as more")
        found = [tuple(row) for row in table.sql("select id, ts, more, region from {table} order by id")]
        assert found == [(1, 8, "y", "south"), (2, 7, "x", "north")]
        table.drop()


@pytest.mark.slow
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


@pytest.mark.slow
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


class TestClone(BaseClone):
    @pytest.fixture(scope="class")
    def writes_artifacts(self) -> bool:
        return True

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"changes.sql": CHANGES, "master.sql": MASTER}

    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        return {}

    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return {}

    @pytest.mark.slow
    def test_a_clone_has_the_rows_that_readers_see_and_is_merged_on_read_by_its_next_run(
        self, project: Any, other_schema: str
    ) -> None:
        project.create_test_schema(other_schema)
        build("run")
        build("run", upto=2)
        self.copy_state(project.project_root)
        run_dbt(["clone", "--state", "state", "--target", "otherschema"])
        query = f"select id, region, name, ts from {other_schema}.master order by id"
        assert [tuple(row) for row in project.run_sql(query, fetch="all")] == TWO
        run_dbt(["run", "--target", "otherschema", "--vars", "{upto: 3}"])
        assert [tuple(row) for row in project.run_sql(query, fetch="all")] == THREE
        assert len(project.run_sql(f"select * from {other_schema}.master__deltas", fetch="all")) > 0
        assert example.TestProject.rows(project) == TWO, "the original is left alone"
