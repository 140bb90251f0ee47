"""dbt's suite "hooks", with hooks in Spark's SQL."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.hooks import test_model_hooks, test_run_hooks

FIELDS = (
    "test_state",
    "target_dbname",
    "target_host",
    "target_name",
    "target_schema",
    "target_type",
    "target_user",
    "target_pass",
    "target_threads",
    "run_started_at",
    "invocation_id",
    "thread_id",
)
VACUUM = {"sql": "refresh table {{ this.schema }}.on_model_hook", "transaction": False}


def create_hook_table(project: Any, name: str) -> None:
    columns = ", ".join(f"{field} {'int' if field == 'target_threads' else 'string'}" for field in FIELDS)
    project.run_sql(f"drop table if exists {project.test_schema}.{name}")
    project.run_sql(f"create table {project.test_schema}.{name} ({columns}) stored as orc")


def rows_of(project: Any, name: str, state: str) -> list[dict[str, Any]]:
    rows = project.run_sql(
        f"select {', '.join(FIELDS)} from {project.test_schema}.{name} where test_state = '{state}'",
        fetch="all",
    )
    return [dict(zip(FIELDS, row, strict=True)) for row in rows]


def check_row(row: dict[str, Any], project: Any, state: str) -> None:
    assert row["test_state"] == state
    assert row["target_name"] == "default"
    assert row["target_schema"] == project.test_schema
    assert row["target_threads"] == 4
    assert row["target_type"] == project.adapter_type
    assert row["run_started_at"]
    assert row["invocation_id"]
    assert row["thread_id"].startswith(("Thread-", "MainThread"))


class ModelHooks:
    @pytest.fixture(scope="class", autouse=True)
    def setUp(self, project: Any) -> None:
        create_hook_table(project, "on_model_hook")

    def check_hooks(self, state: str, project: Any, host: Any, count: int = 1) -> None:
        rows = rows_of(project, "on_model_hook", state)
        assert len(rows) == count
        for row in rows:
            check_row(row, project, state)


class RunHooks:
    @pytest.fixture
    def setUp(self, project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        create_hook_table(project, "on_run_hook")
        for name in ("schemas", "db_schemas"):
            project.run_sql(f"drop table if exists {project.test_schema}.{name}")
        monkeypatch.setenv("TERM_TEST", "TESTING")

    def check_hooks(self, state: str, project: Any, host: Any) -> None:
        (row,) = rows_of(project, "on_run_hook", state)
        check_row(row, project, state)


class WithVacuum:
    key = "-hook"

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        return {
            "models": {
                "test": {
                    f"pre{self.key}": [test_model_hooks.MODEL_PRE_HOOK, VACUUM],
                    f"post{self.key}": [VACUUM, test_model_hooks.MODEL_POST_HOOK],
                }
            }
        }


class TestPrePostModelHooks(ModelHooks, WithVacuum, test_model_hooks.BasePrePostModelHooks):
    pass


@pytest.mark.slow
class TestPrePostModelHooksUnderscores(TestPrePostModelHooks):
    key = "_hook"


@pytest.mark.slow
class TestHookRefs(ModelHooks, test_model_hooks.BaseHookRefs):
    pass


@pytest.mark.slow
class TestPrePostModelHooksInConfig(ModelHooks, test_model_hooks.BasePrePostModelHooksInConfig):
    pass


@pytest.mark.slow
class TestPrePostModelHooksInConfigWithCount(
    ModelHooks, WithVacuum, test_model_hooks.BasePrePostModelHooksInConfigWithCount
):
    pass


@pytest.mark.slow
class TestPrePostModelHooksInConfigKwargs(ModelHooks, test_model_hooks.BasePrePostModelHooksInConfigKwargs):
    pass


class TestDuplicateHooksInConfigs(test_model_hooks.BaseDuplicateHooksInConfigs):
    pass


class TestHooksRefsOnSeeds(test_model_hooks.BaseHooksRefsOnSeeds):
    pass


class SeedHooks:
    prefix = ""

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        hooks = [
            "alter table {{ this }} add columns (new_col int)",
            # a Hive table knows no update: its rows are written anew
            "create or replace temporary view updated as select *, 1 as one from {{ this }}",
            "create table {{ this }}_copy stored as orc as select a, b, c, one as new_col from updated",
            "insert overwrite table {{ this }} select * from {{ this }}_copy",
            "select cast(null as {{ dbt.type_int() }}) as id",
        ]
        return {"seeds": {f"{self.prefix}post-hook": hooks, "quote_columns": False}}


@pytest.mark.slow
class TestPrePostModelHooksOnSeeds(SeedHooks, test_model_hooks.BasePrePostModelHooksOnSeeds):
    pass


@pytest.mark.slow
class TestPrePostModelHooksOnSeedsPlusPrefixed(
    SeedHooks, test_model_hooks.BasePrePostModelHooksOnSeedsPlusPrefixed
):
    prefix = "+"


@pytest.mark.slow
class TestPrePostModelHooksOnSeedsPlusPrefixedWhitespace(
    SeedHooks, test_model_hooks.BasePrePostModelHooksOnSeedsPlusPrefixedWhitespace
):
    prefix = "+"


class SnapshotHooks:
    """A snapshot's rows written anew by hooks, which lakemerge takes in as what another program did."""

    folder = "test-snapshots"

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        names = "a, b, c, dbt_scd_id, dbt_updated_at, dbt_valid_from, dbt_valid_to"
        hooks = [
            "alter table {{ this }} add columns (new_col int)",
            f"create table {{{{ this }}}}_copy stored as orc as select {names}, 1, dbt_closed_in from {{{{ this }}}}",
            "insert overwrite table {{ this }} select * from {{ this }}_copy",
        ]
        return {
            "snapshot-paths": [self.folder],
            "snapshots": {"post-hook": hooks},
            "seeds": {"quote_columns": False},
        }


@pytest.mark.slow
class TestPrePostModelHooksOnSnapshots(SnapshotHooks, test_model_hooks.BasePrePostModelHooksOnSnapshots):
    pass


@pytest.mark.slow
class TestPrePostSnapshotHooksInConfigKwargs(
    SnapshotHooks, test_model_hooks.BasePrePostSnapshotHooksInConfigKwargs
):
    folder = "test-kwargs-snapshots"


class TestPrePostRunHooks(RunHooks, test_run_hooks.BasePrePostRunHooks):
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        def hooks(state: str) -> list[str]:
            table = "{{ target.schema }}." + f"{state}_hook_order_test"
            return [
                "{{ custom_run_hook('" + state + "', target, run_started_at, invocation_id) }}",
                f"create table {table} (id int) stored as orc",
                f"drop table {table}",
            ]

        values = "{% for schema in schemas %}('{{ schema }}'){{ ',' if not loop.last }}{% endfor %}"
        pairs = (
            "{% for db, schema in database_schemas %}('{{ db }}', '{{ schema }}')"
            "{{ ',' if not loop.last }}{% endfor %}"
        )
        return {
            "on-run-start": [*hooks("start"), "{{ log(env_var('TERM_TEST'), info=True) }}"],
            "on-run-end": [
                *hooks("end"),
                "create table {{ target.schema }}.schemas (schema string) stored as orc",
                "insert into {{ target.schema }}.schemas values " + values,
                "create table {{ target.schema }}.db_schemas (db string, schema string) stored as orc",
                "insert into {{ target.schema }}.db_schemas values " + pairs,
            ],
            "seeds": {"quote_columns": False},
        }

    def assert_used_schemas(self, project: Any) -> None:
        rows = project.run_sql(f"select * from {project.test_schema}.schemas", fetch="all")
        assert [row[0] for row in rows] == [project.test_schema]
        rows = project.run_sql(f"select * from {project.test_schema}.db_schemas", fetch="all")
        assert [tuple(row) for row in rows] == [("None", project.test_schema)]


@pytest.mark.slow
class TestAfterRunHooks(test_run_hooks.BaseAfterRunHooks):
    pass
