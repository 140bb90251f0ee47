"""A table that is merged on read, in a project: what dbt does with it as with any other table."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.util import run_dbt, write_file

from lakemerge.kernel import TableName

pytestmark = pytest.mark.slow

MASTER = """
{{ config(
    materialized='incremental', incremental_strategy='merge', unique_key='id', sequence_by='ts',
    apply_as_deletes="op = 'D'", except_column_list=['op'], partition_by='region',
    write_mode=var('mode', 'merge_on_read'), persist_docs={'relation': true, 'columns': true}
) }}
select * from {{ ref('changes') }} where ts <= {{ var('upto', 1) }}
"""
CHANGES = """
select * from values
    (1, 'north', 'one', 1, 'U'), (2, 'south', 'two', 1, 'U'), (3, 'south', 'three', 1, 'U'),
    (1, 'south', 'one moved', 2, 'U'), (2, cast(null as string), cast(null as string), 2, 'D'),
    (4, 'west', 'four', 3, 'U')
as changes(id, region, name, ts, op)
"""
HISTORY = """
{% snapshot history %}
{{ config(unique_key='id', strategy='timestamp', updated_at='ts', target_schema=schema) }}
select * from {{ ref('master') }}
{% endsnapshot %}
"""
PROPERTIES = """
models:
  - name: master
    description: the master
    columns:
      - name: id
        description: the key
        data_tests: [unique, not_null]
      - name: region
        description: where
"""
ONE = [(1, "north", "one", 1), (2, "south", "two", 1), (3, "south", "three", 1)]
TWO = [(1, "south", "one moved", 2), (3, "south", "three", 1)]
THREE = [*TWO, (4, "west", "four", 3)]


def build(*arguments: str, **variables: Any) -> Any:
    return run_dbt([*(arguments or ("build",)), "--vars", str(variables)])


class TestProject:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"changes.sql": CHANGES, "master.sql": MASTER, "master.yml": PROPERTIES}

    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        return {"history.sql": HISTORY}

    @staticmethod
    def rows(project: Any, name: str = "master") -> list[Any]:
        query = f"select id, region, name, ts from {project.test_schema}.{name} order by id"
        return [tuple(row) for row in project.run_sql(query, fetch="all")]

    @staticmethod
    def kinds(project: Any) -> dict[str, str]:
        with project.adapter.connection_named("kinds"):
            rows = project.adapter.handle.application.metastore.table_summaries(project.test_schema)
            return {row.name: row.kind for row in rows if row.name.startswith("master")}

    def test_a_table_and_all_that_follows_on_it(self, project: Any) -> None:
        build()
        assert self.rows(project) == ONE
        assert self.kinds(project) == {
            "master": "VIRTUAL_VIEW",
            "master__base": "MANAGED_TABLE",
            "master__deltas": "EXTERNAL_TABLE",
        }
        build(upto=2)
        assert self.rows(project) == TWO
        assert self.rows(project, "master__base") == ONE, "the base is left as it was"
        closed = f"select id from {project.test_schema}.history where dbt_valid_to is not null order by id"
        assert [row[0] for row in project.run_sql(closed, fetch="all")] == [1]
        # what has a table's descriptions
        with project.adapter.connection_named("comments"):
            metastore = project.adapter.handle.application.metastore
            for name in ("master", "master__base"):
                table = metastore.get_table(TableName(project.test_schema, name))
                comments = {c.name: c.comment for c in (*table.columns, *table.partition_columns)}
                assert table.parameters["comment"] == "the master"
                assert (comments["id"], comments["region"]) == ("the key", "where")
        catalog = build("docs", "generate")
        node = catalog.nodes["model.test.master"]
        assert (node.metadata.type, [*node.columns]) == ("view", ["id", "name", "ts", "region"])

    def test_show_previews_the_merged_rows_and_changes_nothing(self, project: Any) -> None:
        build("run")
        build("run", upto=2)
        query = f"select `_lakemerge_order` from {project.test_schema}.master__deltas"
        deltas = project.run_sql(query, fetch="all")
        columns = ("id", "region", "name", "ts")

        def shown(*arguments: str) -> list[Any]:
            table = build("show", *arguments, "--limit", "-1", upto=3).results[0].agate_table
            return sorted((tuple(row[name] for name in columns) for row in table.rows), key=str)

        assert shown("--inline", "select * from {{ ref('master') }}") == TWO
        # of the model itself, dbt shows what its query gives: the changes that a run would merge
        assert len(shown("--select", "master")) == 6
        assert (self.rows(project), project.run_sql(query, fetch="all")) == (TWO, deltas)

    def test_another_mode_and_back(self, project: Any) -> None:
        build("run", upto=2, mode="copy_on_write")
        assert self.kinds(project) == {"master": "MANAGED_TABLE"}
        assert self.rows(project) == TWO
        build("run", upto=3)
        assert self.kinds(project)["master"] == "VIRTUAL_VIEW"
        assert self.rows(project) == THREE
        build("run", "--full-refresh")
        assert self.kinds(project)["master"] == "VIRTUAL_VIEW"
        assert self.rows(project) == ONE

    @pytest.mark.parametrize(
        ("before", "then", "key", "publish"),
        [
            ("copy_on_write", "merge_on_read", "'no_id'", "at_once"),
            ("merge_on_read", "merge_on_read", "'no_id'", "at_once"),
            ("copy_on_write", "merge_on_read", "['id', 'no_id']", "at_once"),
            ("copy_on_write", "auto", "'no_id'", "at_once"),
            ("merge_on_read", "auto", "'no_id'", "at_once"),
            ("copy_on_write", "merge_on_read", "'no_id'", "after_tests"),
        ],
    )
    def test_a_key_that_is_no_column_changes_nothing_for_readers(
        self, project: Any, before: str, then: str, key: str, publish: str
    ) -> None:
        build("run", "--full-refresh", mode=before)
        build("run", upto=2, mode=before)
        kinds = self.kinds(project)
        options = f"unique_key={key}, publish='{publish}'"
        wrong = MASTER.replace("unique_key='id'", options)
        write_file(wrong, project.project_root, "models", "master.sql")
        arguments = ["build", "--select", "master", "--vars", str({"mode": then, "upto": 3})]
        failed = run_dbt(arguments, expect_pass=False)
        write_file(MASTER, project.project_root, "models", "master.sql")
        assert "found unique_key no_id" in str(failed.results[0].message)
        assert (self.kinds(project), self.rows(project)) == (kinds, TWO)
        build("run", upto=3)
        assert self.kinds(project)["master"] == "VIRTUAL_VIEW"
        assert self.rows(project) == THREE
        build("run", "--full-refresh")

    def test_a_key_column_that_the_run_adds(self, project: Any) -> None:
        more = MASTER.replace("select *", "select *, id * 10 as account").replace(
            "unique_key='id'", "unique_key='account', on_schema_change='append_new_columns'"
        )
        query = f"select id, account, name from {project.test_schema}.master order by 1, 2"
        found = {}
        for mode, kind in (("copy_on_write", "MANAGED_TABLE"), ("merge_on_read", "VIRTUAL_VIEW")):
            write_file(MASTER, project.project_root, "models", "master.sql")
            build("run", "--full-refresh", mode="copy_on_write")
            write_file(more, project.project_root, "models", "master.sql")
            for upto in (1, 3):
                build("run", mode=mode, upto=upto)
            assert self.kinds(project)["master"] == kind
            found[mode] = [tuple(row) for row in project.run_sql(query, fetch="all")]
        write_file(MASTER, project.project_root, "models", "master.sql")
        build("run", "--full-refresh")
        # the rows from before have no such key: no change is theirs
        before: list[tuple[int, int | None, str]] = [(1, None, "one"), (2, None, "two"), (3, None, "three")]
        after: list[tuple[int, int | None, str]] = [(1, 10, "one moved"), (3, 30, "three"), (4, 40, "four")]
        assert found["copy_on_write"] == sorted(before + after, key=lambda row: (row[0], row[1] or 0))
        assert found["merge_on_read"] == found["copy_on_write"]

    def test_columns_that_come_and_a_view_in_its_place(self, project: Any) -> None:
        build("run", upto=2)
        more = MASTER.replace("select *", "select *, 'x' as more").replace(
            "partition_by", "on_schema_change='append_new_columns', on_sequence_tie='any', partition_by"
        )
        write_file(more, project.project_root, "models", "master.sql")
        build("run", upto=3)
        found = project.run_sql(f"select id, more from {project.test_schema}.master order by id", fetch="all")
        assert [tuple(row) for row in found] == [(1, None), (3, None), (4, "x")]
        write_file(
            "{{ config(materialized='view') }} select 1 as id", project.project_root, "models", "master.sql"
        )
        run_dbt(["run", "--select", "master"])
        assert self.kinds(project) == {"master": "VIRTUAL_VIEW"}
        write_file(MASTER, project.project_root, "models", "master.sql")
        build("run", upto=2)
        assert self.rows(project) == TWO
        assert self.kinds(project)["master__base"] == "MANAGED_TABLE"
