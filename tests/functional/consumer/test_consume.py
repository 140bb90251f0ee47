"""consume() in models: what they see, when it counts, and what people can do about it."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.util import run_dbt, run_dbt_and_capture

from lakemerge.consumer import Consumer
from lakemerge.kernel import Kernel, TableName

RAW = """
{{ config(materialized='incremental', append_layout='commit_partitioned', partition_by=['country', 'day']) }}
select id, concat('record ', id) as record, cast('2026-01-0{{ var('day') }}' as date) as day,
       case id % 3 when 0 then 'Åland Is/l%nds' when 1 then 'FI+ ?' end as country
from range({{ var('day') }} * 10, {{ var('day') }} * 10 + {{ var('rows', 6) }})
"""
CLEAN = """
{{ config(materialized='incremental', append_layout='commit_partitioned', except_column_list=['_commit']) }}
select * from {{ consume(ref('raw'), where="country is not null", limit=var('limit', none)) }}
{% if var('poison', false) %} where assert_true(id <> 21) is null {% endif %}
"""
MERGED = """
{{ config(materialized='incremental', unique_key='country') }}
select country, max(id) as newest from {{ consume(ref('raw'), consumer='newest') }} where country is not null
group by country
"""
TEXT = """
{{ config(materialized='incremental') }}
select * from {{ consume(source('landing', 'lines'), on_rewrite='append_only') }}
"""
VIEWED = "{{ config(materialized='table') }} select * from {{ consume(ref('raw')) }}"
SOURCES = """
sources:
  - name: landing
    schema: "{{ target.schema }}"
    tables:
      - name: lines
unit_tests:
  - name: clean_takes_all_columns
    model: clean
    given:
      - input: ref('raw')
        rows: [{id: 1, record: a, country: FI}]
    overrides:
      macros: {is_incremental: true}
    expect:
      rows: [{id: 1, record: a, country: FI}]
"""


def run(model: str, expect_pass: bool = True, arguments: tuple[str, ...] = (), **variables: Any) -> Any:
    variables = {"day": 1, **variables}
    command = ["run", "--select", model, "--vars", str(variables), *arguments]
    (result,) = run_dbt(command, expect_pass=expect_pass).results
    return result


class Project:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "raw.sql": RAW,
            "clean.sql": CLEAN,
            "merged.sql": MERGED,
            "text.sql": TEXT,
            "viewed.sql": VIEWED,
            "sources.yml": SOURCES,
        }

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {"vars": {"day": 1}}

    def sql(self, project: Any, text: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in project.run_sql(text.format(project.test_schema), fetch="all")]

    def kill_a_run(self, project: Any) -> None:
        """Leave what a run of `clean` leaves that is killed before its commit."""
        with project.adapter.connection_named("killed"):
            application = project.adapter.handle.application
        kernel = Kernel(application.ports)
        names = (TableName(project.test_schema, name) for name in ("raw", "clean"))
        consumer = Consumer(kernel, next(names), "clean", next(names))
        batch = consumer.claim()
        assert batch.items
        kernel.heartbeats.stop(consumer.working_set.layout, batch.run)

    def operation(self, macro: str, arguments: str, **variables: Any) -> Any:
        return run_dbt(["run-operation", macro, "--args", arguments])


@pytest.mark.slow
class TestConsume(Project):
    def test_each_partition_is_seen_once(self, project: Any) -> None:
        run("raw", day=1)
        assert run("clean").adapter_response["rows_affected"] == 4
        assert run("clean").adapter_response["version"] == 0
        run("raw", day=2)
        run("raw", day=3)
        limited = run("clean", limit=1)
        assert limited.adapter_response["rows_affected"] == 2
        assert limited.adapter_response["left"] == 3
        assert "left of" in limited.message
        assert "3 for the next run" in limited.message
        self.kill_a_run(project)  # says nothing about what it had taken
        caught_up = run("clean")
        assert caught_up.adapter_response["rows_affected"] == 6
        assert caught_up.adapter_response["left"] == 0
        assert "left" not in caught_up.message
        rows = "select id, record, day, country from {{}}.{} where country is not null order by id"
        clean = self.sql(project, rows.format("clean"))
        assert clean == self.sql(project, rows.format("raw"))
        assert len(clean) == 12
        states = self.sql(project, "select distinct state, source, consumer from {0}.clean__consumers")
        assert states == [("processed", f"{project.test_schema}.raw", "clean")]

        # merged, in the same project: another consumer of the same source
        run("merged")
        assert self.sql(project, "select newest from {0}.merged order by 1") == [(33,), (34,)]
        run("raw", day=4)
        run("merged")
        assert self.sql(project, "select newest from {0}.merged order by 1") == [(43,), (45,)]

        # runs that die again and again hold nothing up: one that is not killed brings the table up to date
        self.kill_a_run(project)
        self.kill_a_run(project)
        run("raw", day=5)
        recovered = run("clean")
        assert recovered.adapter_response["rows_affected"] == 8
        assert recovered.adapter_response["left"] == 0
        assert recovered.message.count("inserted") == 3, "what is new, and then each of two suspects"
        clean = self.sql(project, rows.format("clean"))
        assert clean == self.sql(project, rows.format("raw"))
        run("raw", day=6)

        # a preview takes nothing
        shown = run_dbt(["show", "--select", "clean", "--limit", "99"])
        assert len(shown.results[0].agate_table.rows) == 4
        run_dbt(["compile", "--select", "clean"])
        assert run("clean").adapter_response["rows_affected"] == 4

        run("clean", arguments=("--empty",))
        assert run("clean", arguments=("--full-refresh",)).adapter_response["rows_affected"] == 24
        assert run("clean").adapter_response["version"] == 0
        assert run_dbt(["test", "--select", "test_type:unit"]).results[0].status == "pass"

    def test_it_is_for_incremental_models(self, project: Any) -> None:
        assert "incremental" in run("viewed", expect_pass=False).message


@pytest.mark.slow
class TestPoison(Project):
    def test_a_bad_partition_is_found_and_discarded(self, project: Any) -> None:
        for day in (1, 2):
            run("raw", day=day, rows=2)
        failures = 0
        for _ in range(12):
            result = run_dbt(
                ["run", "--select", "clean", "--vars", "{poison: true}"],
                expect_pass=None,  # type: ignore[arg-type]
            ).results[0]
            failures += result.status == "error"
            if result.status == "success" and not result.adapter_response["version"]:
                break
        assert self.sql(project, "select id from {0}.clean order by id") == [(10,)]
        ((partition, state, reason),) = self.sql(
            project, "select partition, state, reason from {0}.clean__consumers where state <> 'processed'"
        )
        assert state == "discarded"
        assert "_commit=2" in partition
        assert "21" in reason or "assert" in reason.lower()
        assert failures == 4
        assert result.adapter_response["left"] == 1
        assert "1 discarded" in result.message
        _, log = run_dbt_and_capture(
            ["run-operation", "lakemerge_consumers", "--args", "{table: clean, state: discarded}"]
        )
        assert partition in log
        self.operation("lakemerge_put_back", "{table: clean}")
        run("clean")
        assert self.sql(project, "select id from {0}.clean order by id") == [(10,), (21,)]
        self.operation("lakemerge_reset_consumer", "{table: clean, source: raw, consumer: clean, version: 1}")
        run("clean")
        assert self.sql(project, "select id from {0}.clean order by id") == [(10,), (21,), (21,)]
        self.operation("lakemerge_drop_consumer", "{table: clean, source: raw, consumer: clean}")
        assert self.sql(project, "show tables in {0} like 'clean__consumers'") == []


@pytest.mark.slow
class TestPlainText(Project):
    def test_files_of_a_table_that_is_not_ours_are_read_once(self, project: Any, tmp_path: Any) -> None:
        place = tmp_path / "land ing"
        (place / "day=1").mkdir(parents=True)
        (place / "day=1" / "a b.csv").write_text("1,one\n2,two\n")
        project.run_sql(
            f"create external table {project.test_schema}.lines (id int, word string) partitioned by (day int) "
            f"row format delimited fields terminated by ',' location 'file://{place}'"
        )
        project.run_sql(f"alter table {project.test_schema}.lines add partition (day=1)")
        run("text")
        (place / "day=1" / "c.csv").write_text("3,three\n")
        run("text")
        assert run("text").adapter_response["version"] == 0
        assert self.sql(project, "select * from {0}.text order by id") == [
            (1, "one", 1),
            (2, "two", 1),
            (3, "three", 1),
        ]
