"""consume_changes() in models: a chain of them has what a rebuild has, whatever happens to the table they follow."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.util import run_dbt

from rings import of_rings

MASTER = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', sequence_by='ts',
          apply_as_deletes="op = 'D'", except_column_list=['op'], partition_by=['region'],
          on_schema_change='append_new_columns', write_mode=var('write_mode')) }}
select * from values {{ var('rows') }} as f(id, region, price, ts, op {{ var('more', '') }})
"""
MART = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id',
          apply_as_deletes="_change_type = 'delete'", on_schema_change='append_new_columns',
          except_column_list=['_change_type', '_commit_version', '_commit_timestamp']) }}
select *, price * 2 as doubled
from {{ consume_changes(ref('master'), net=true, preimages=false, limit=var('limit', none)) }}
{% if var('poison', false) %} where assert_true(price <> 13) is null {% endif %}
"""
TOTALS = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='region', apply_as_deletes='n = 0') }}
with changed as (
    select region, sum(one) as n, sum(one * doubled) as total
    from (
        select region, doubled, if(_change_type in ('insert', 'update_postimage'), 1, -1) as one
        from {{ consume_changes(ref('mart')) }}
    )
    group by region
)
select region, changed.n + {{ 'coalesce(kept.n, 0)' if is_incremental() else 0 }} as n,
    changed.total + {{ 'coalesce(kept.total, 0)' if is_incremental() else 0 }} as total
from changed
{% if is_incremental() %} left join {{ this }} as kept using (region) {% endif %}
"""
LOG = """
{{ config(materialized='incremental', incremental_strategy='append') }}
select id, _change_type as what, _commit_version as version from {{ consume_changes(ref('master')) }}
"""
UNIT = """
unit_tests:
  - name: mart_doubles
    model: mart
    given:
      - input: ref('master')
        format: sql
        rows: select 1 as id, 'a' as region, 3 as price, 1 as ts, 'insert' as _change_type
    overrides:
      macros: {is_incremental: true}
    expect:
      rows: [{id: 1, doubled: 6}]
"""


@pytest.mark.parametrize(
    "write_mode", of_rings(("copy_on_write", "merge_on_read"), ("merge_on_read",)), scope="class"
)
class TestChain:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "master.sql": MASTER,
            "mart.sql": MART,
            "totals.sql": TOTALS,
            "log.sql": LOG,
            "unit.yml": UNIT,
        }

    @pytest.fixture(autouse=True)
    def _mode(self, project: Any, write_mode: str) -> None:
        self.project, self.mode = project, write_mode

    def run(self, select: str, *arguments: str, ok: bool = True, **variables: Any) -> dict[str, Any]:
        given = {"rows": "(0, '', 0, 0, 'D')", "write_mode": self.mode, **variables}
        command = ["run", "--select", *select.split(), "--vars", str(given), *arguments]
        return {one.node.name: one for one in run_dbt(command, expect_pass=ok).results}

    def operation(self, name: str, **arguments: Any) -> None:
        run_dbt(["run-operation", name, "--args", str(arguments)])

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        return sorted(map(tuple, self.project.run_sql(text.format(s=self.project.test_schema), fetch="all")))

    def merge(self, rows: str, *arguments: str, **variables: Any) -> None:
        self.run("master", *arguments, rows=rows, **variables)

    def follow(self, *arguments: str, **variables: Any) -> dict[str, Any]:
        """Run the chain; it must have what a rebuild would have."""
        done = self.run("mart totals", *arguments, **variables)
        assert self.sql("select id, region, price, doubled from {s}.mart") == self.sql(
            "select id, region, price, price * 2 from {s}.master"
        )
        assert self.sql("select region, n, total from {s}.totals") == self.sql(
            "select region, count(*), sum(price * 2) from {s}.master group by region"
        )
        return done

    def begin(self) -> int:
        """Make all anew, with three rows; returns the master's version."""
        self.run(
            "master mart totals",
            "--full-refresh",
            rows="(1, 'a', 10, 1, 'I'), (2, 'a', 20, 1, 'I'), (3, 'b', 30, 1, 'I')",
        )
        return int(self.sql("select max(version) from {s}.mart__consumers")[0][0])

    def test_a_chain_has_what_a_rebuild_has(self) -> None:
        self.begin()
        self.follow()
        self.merge("(1, 'b', 11, 2, 'U'), (2, 'a', 0, 2, 'D'), (4, 'c', 40, 2, 'I')")
        self.merge("(4, 'c', 0, 3, 'D'), (5, 'a', 50, 3, 'I'), (3, 'b', 33, 3, 'U')")
        self.follow()
        # rows that only move have not changed
        self.operation("lakemerge_compact", select="master", sort_by=["price"])
        done = self.follow()
        assert [done[name].adapter_response["version"] for name in ("mart", "totals")] == [0, 0]

    @pytest.mark.slow
    def test_limits_new_columns_and_commands_that_take_nothing(self) -> None:
        self.begin()
        given = ["--vars", str({"rows": "", "write_mode": self.mode})]
        self.merge("(6, 'c', 60, 4, 'I', 'new')", more=", extra")
        self.merge("(1, 'b', 5, 5, 'U'), (6, 'c', 61, 5, 'U')")
        assert self.run("mart", limit=1)["mart"].adapter_response["left"] == 1
        assert self.sql("select id, price, extra from {s}.mart where id in (1, 6)") == [
            (1, 10, None),
            (6, 60, "new"),
        ]
        shown = run_dbt(["show", "--select", "mart", *given])
        assert len(shown.results[0].agate_table.rows) == 2
        run_dbt(["compile", "--select", "mart", *given])
        self.run("mart", "--empty")
        assert run_dbt(["test", "--select", "test_type:unit", *given]).results[0].status == "pass"
        self.follow()

    @pytest.mark.slow
    def test_a_restore_and_a_full_refresh_upstream_are_changes(self) -> None:
        version = self.begin()
        self.run("log", "--full-refresh")
        self.merge("(1, 'a', 999, 8, 'U'), (7, 'z', 999, 8, 'I'), (3, 'b', 0, 8, 'D')")
        bad = self.follow()["mart"].adapter_response["version"]
        self.operation("lakemerge_restore", table="master", version=version, dry_run=False)
        self.follow()
        assert self.sql("select count(*) from {s}.mart where price = 999") == [(0,)]
        self.run("log")
        types = self.sql(
            "select what, count(*) from {s}.log where version > (select min(version) from {s}.log) "
            "and id in (1, 3, 7) group by what"
        )
        assert types == [("delete", 2), ("insert", 2), ("update_postimage", 2), ("update_preimage", 2)]
        self.run("master", "--full-refresh", rows="(1, 'a', 10, 1, 'I'), (8, 'y', 80, 1, 'I')")
        self.follow()
        # the model's own table goes back together with its progress
        self.operation("lakemerge_restore", table="mart", version=bad, take_again=True, dry_run=False)
        self.follow()

    @pytest.mark.slow
    def test_a_version_that_fails_holds_up_what_comes_after_it(self) -> None:
        self.begin()
        for ts, price in enumerate((12, 13, 14), start=10):
            self.merge(f"({ts}, 'p', {price}, {ts}, 'I')")
        assert "is not true" in str(self.run("mart", ok=False, poison=True)["mart"].message)
        for _ in range(3):
            self.run("mart", ok=False, poison=True)
        assert self.sql("select price from {s}.mart where region = 'p'") == [(12,)]
        states = self.sql("select state, failures > 0 from {s}.mart__consumers where state <> 'processed'")
        assert states == [("available", True)] * 2
        self.follow()
        assert self.sql("select price from {s}.mart where region = 'p'") == [(12,), (13,), (14,)]
        self.follow("--full-refresh")

    @pytest.mark.slow
    def test_another_table_of_the_same_name_is_told(self) -> None:
        self.begin()
        self.operation("lakemerge_drop", table="master", dry_run=False)
        self.merge("(1, 'n', 1, 1, 'I')")
        message = self.run("mart", ok=False)["mart"].message
        assert "dropped and recreated" in message
        assert "--full-refresh" in message
        self.run("mart", "--full-refresh")
        self.follow()
