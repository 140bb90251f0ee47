"""Sessions and connections on a real application: isolation, cancellation, what is left behind."""

from __future__ import annotations

import functools
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from dbt.adapters.lakemerge.python_models import SessionPythonJob
from dbt.tests.util import run_dbt
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError
from pyspark.errors import AnalysisException, PySparkException

from lakemerge.engine.layout.data_files import DataFiles
from lakemerge.engine.publish.queries import Queries
from lakemerge.engine.spark.handle import SessionHandle
from lakemerge.engine.spark.record_planning import MANY_COLUMNS, planned_for_records
from lakemerge.errors import InvalidConfig

pytestmark = pytest.mark.slow

LEAKS_SQL = """
{{ config(
    materialized='table',
    pre_hook=["set spark.sql.session.timeZone=Asia/Kolkata", "{{ var('hook', 'select 1') }}"]
) }}
select current_timezone() as zone
"""
LATER_SQL = (
    "{{ config(materialized='table') }} select current_timezone() as zone -- depends_on: {{ ref('leaks') }}"
)
FACTORY = "spark.sql.codegen.factoryMode"
SLOW_QUERY = "select count(*) from range(0, 100000000000, 1, 8) where hash(id) = 7"


@contextmanager
def handle_of(project: Any, name: str) -> Iterator[Any]:
    with project.adapter.connection_named(name):
        yield project.adapter.handle


def deep_frame(frame: Any) -> Any:
    """A frame with a sum of so many terms that Java's default stack does not do."""
    return frame.select(functools.reduce(lambda total, _: total + 1, range(8_000), frame["id"]))


class TestSession:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"leaks.sql": LEAKS_SQL, "later.sql": LATER_SQL}

    def test_no_setting_is_left_after_a_model(self, project: Any) -> None:
        run_dbt(["run"])
        zones = {
            name: project.run_sql(f"select zone from {project.test_schema}.{name}", fetch="one")[0]
            for name in ("leaks", "later")
        }
        assert zones["leaks"] == "Asia/Kolkata"
        assert zones["later"] != "Asia/Kolkata"

    def test_no_setting_is_left_after_a_failure(self, project: Any) -> None:
        results = run_dbt(["run", "--vars", "hook: select raise_error('on purpose')"], expect_pass=False)
        assert "on purpose" in results.results[0].message
        with handle_of(project, "after") as handle:
            assert handle.spark.conf.get("spark.sql.session.timeZone") != "Asia/Kolkata"

    def test_a_temporary_view_is_of_one_connection(self, project: Any) -> None:
        with handle_of(project, "first") as first:
            first.cursor().execute("create or replace temporary view only_here as select 1 as id")
            assert len(project.adapter.get_columns_in_relation(temporary_view(project, "only_here"))) == 1
            application = first.application
        with handle_of(project, "second") as second:
            assert second.application is application
            assert project.adapter.get_columns_in_relation(temporary_view(project, "only_here")) == []

    def test_what_correctness_needs_holds_in_each_session(self, project: Any) -> None:
        with handle_of(project, "one") as handle:
            settings = {
                name: handle.spark.conf.get(name)
                for name in (
                    "hive.exec.dynamic.partition.mode",
                    "spark.sql.hive.convertMetastoreOrc",
                    "spark.sql.ansi.enabled",
                )
            }
        assert list(settings.values()) == ["nonstrict", "true", "false"]

    @pytest.mark.parametrize("given", [{}, {FACTORY: "FALLBACK"}], ids=["none", "the profile's"])
    def test_settings_for_queries_of_records_end_with_them(self, project: Any, given: dict[str, str]) -> None:
        with handle_of(project, "records") as handle:
            spark, other = handle.spark, handle.application.new_session({})
            spark.conf.unset(FACTORY)
            for name, value in given.items():
                spark.conf.set(name, value)
            before, elsewhere = spark.conf.getAll, other.conf.getAll
            with planned_for_records(spark, MANY_COLUMNS):
                assert other.conf.getAll == elsewhere
                assert spark.conf.get(FACTORY) == given.get(FACTORY, "NO_CODEGEN")
            assert spark.conf.getAll == before
            with pytest.raises(AnalysisException), planned_for_records(spark, MANY_COLUMNS):
                spark.sql("select nothing")
            assert spark.conf.getAll == before

    def test_settings_for_a_write_end_with_it(self, project: Any, tmp_path: Path) -> None:
        with handle_of(project, "writer") as handle:
            spark = handle.spark
            before = spark.conf.getAll
            files = DataFiles("parquet", "zstd", 1024)
            files.write(spark.sql("select 1 as id"), str(tmp_path / "good"))
            assert spark.conf.getAll == before
            with pytest.raises(PySparkException):
                files.write(spark.sql("select raise_error('no') as id"), str(tmp_path / "bad"))
            assert spark.conf.getAll == before

    @pytest.mark.parametrize(
        "setting",
        [
            "spark.sql.caseSensitive",
            "spark.sql.parser.escapedStringLiterals",
            "spark.sql.parser.quotedRegexColumnNames",
        ],
    )
    def test_a_session_that_reads_names_or_strings_in_another_way_is_refused(
        self, project: Any, setting: str
    ) -> None:
        refused = pytest.raises(InvalidConfig, match=re.escape(f"found {setting}: true"))
        with handle_of(project, "other") as handle, refused:
            handle.application.new_session({setting: "true"})
        # as a hook or the header of a model does it
        for sql in (f"SET {setting} = true", f"set {setting}=true; select 1"):
            with handle_of(project, "hook") as handle, refused:
                handle.cursor().execute(sql)
        code = (
            "class dbtObj:\n    def __init__(self, load): pass\n"
            f"def model(dbt, session):\n    session.conf.set('{setting}', 'true')\n    return session.range(1)"
        )
        with handle_of(project, "model") as handle, refused:
            SessionPythonJob({}, handle.application, handle_of_thread=lambda: handle).submit(code)

    def test_code_for_few_columns_is_compiled(self, project: Any) -> None:
        with handle_of(project, "records") as handle:
            handle.spark.conf.unset(FACTORY)
            with planned_for_records(handle.spark, MANY_COLUMNS - 1):
                assert handle.spark.conf.get(FACTORY, None) is None

    def test_a_query_that_takes_more_stack_than_there_is_says_what_to_do(self, project: Any) -> None:
        sql = "select " + " + ".join(["1"] * 20_000)
        with (
            handle_of(project, "deep") as handle,
            pytest.raises(DbtRuntimeError, match=r"QueryTooDeep.*-Xss16m"),
            project.adapter.connections.exception_handler("deep"),
        ):
            Queries(handle).rows(sql)

    def test_a_frame_that_takes_more_stack_than_there_is_says_what_to_do(self, project: Any) -> None:
        with (
            handle_of(project, "deep") as handle,
            pytest.raises(DbtRuntimeError, match=r"QueryTooDeep.*-Xss16m"),
            project.adapter.connections.exception_handler("deep"),
        ):
            deep_frame(handle.spark.range(1)).collect()

    def test_cancelling_ends_the_queries_of_that_connection_alone(self, project: Any) -> None:
        handles: dict[str, SessionHandle] = {}
        outcomes: dict[str, object] = {}

        def run(name: str, sql: str) -> None:
            with handle_of(project, name) as handle:
                handles[name] = handle
                try:
                    _, table = project.adapter.execute(sql, fetch=True)
                    outcomes[name] = table.rows[0][0]
                except DbtDatabaseError as error:
                    outcomes[name] = error

        threads = [
            threading.Thread(target=run, args=("slow", SLOW_QUERY)),
            threading.Thread(target=run, args=("quick", "select count(*) from range(0, 5000000, 1, 2)")),
        ]
        for thread in threads:
            thread.start()
        wait_for(lambda: len(handles) == 2 and all(job_runs(handle) for handle in handles.values()))
        handles["slow"].cancel()
        for thread in threads:
            thread.join(timeout=120)
            assert not thread.is_alive()
        assert isinstance(outcomes["slow"], DbtDatabaseError)
        assert outcomes["quick"] == 5000000

    def test_jobs_carry_the_query_comment(self, project: Any) -> None:
        with handle_of(project, "commented") as handle:
            handle.cursor().execute("/* who asked */ select 1")
            context = handle.spark.sparkContext
            assert context.getLocalProperty("spark.job.description") == "who asked"
            assert context.getLocalProperty("spark.jobGroup.id") == handle.job_group
        assert context.getLocalProperty("spark.jobGroup.id") is None

    def test_kept_rows_are_freed_with_the_node(self, project: Any) -> None:
        def kept(handle: SessionHandle) -> set[int]:
            return set(handle.spark.sparkContext._jsc.getPersistentRDDs().keySet())

        with handle_of(project, "before") as handle:
            before = kept(handle)
        with handle_of(project, "keeps") as handle:
            queries = Queries(handle)
            for number in range(3):
                sql = f"select {number} as id"
                assert queries.materialize("kept", sql, {"rows": "count(*)"}) == {"rows": 1}
                # those of an attempt before are not kept beside the new ones
                assert len(kept(handle) - before) == 1
            assert handle.spark.table("kept").first()[0] == 2
        assert kept(handle) == before

    def test_a_failing_query_is_run_although_nobody_reads_its_rows(self, project: Any) -> None:
        with project.adapter.connection_named("fails"), pytest.raises(DbtDatabaseError, match="on purpose"):
            project.adapter.execute("select raise_error('on purpose')")


def temporary_view(project: Any, name: str) -> Any:
    return project.adapter.Relation.create(schema="unused", identifier=name).include(schema=False)


def job_runs(handle: SessionHandle) -> bool:
    return bool(handle.spark.sparkContext.statusTracker().getJobIdsForGroup(handle.job_group))


def wait_for(condition: Any, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition did not come true in time"
        time.sleep(0.05)
