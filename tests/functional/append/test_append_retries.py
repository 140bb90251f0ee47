"""What `dbt retry` does with an append whose rows are there already, although its node has failed."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.util import run_dbt

from lakemerge.engine.publish.node_transaction import NodeTransaction
from lakemerge.errors import CommitUnfinished

EVENTS = """
{{ config(materialized='incremental', incremental_strategy='append', %s,
          post_hook="select assert_true('{{ env_var('LAKEMERGE_TEST_HOOK', 'fine') }}' = 'fine')") }}
select id, '%s' as day from range(2)
"""

COUNTED = """
def model(dbt, session):
    dbt.config(materialized="incremental", incremental_strategy="append")
    return session.range(2)
"""
HOOKED = """
models:
  - name: counted
    config: {post_hook: "select assert_true('{{ env_var('LAKEMERGE_TEST_HOOK', 'fine') }}' = 'fine')"}
"""


@pytest.fixture(scope="class")
def writes_artifacts() -> bool:
    return True


@pytest.fixture(scope="class")
def models() -> dict[str, str]:
    return {
        "dated.sql": EVENTS % ("partition_by='day'", "1"),
        "committed.sql": EVENTS % ("append_layout='commit_partitioned'", "2"),
        "counted.py": COUNTED,
        "counted.yml": HOOKED,
    }


@pytest.mark.slow
class TestRetries:
    def counts(self, project: Any) -> list[int]:
        tables = ("dated", "committed", "counted")
        queries = [f"select count(*) from {project.test_schema}.{table}" for table in tables]
        return [project.run_sql(query, fetch="one")[0] for query in queries]

    def broken(self, monkeypatch: pytest.MonkeyPatch, *command: str) -> None:
        with monkeypatch.context() as patch:
            patch.setenv("LAKEMERGE_TEST_HOOK", "broken")
            results = run_dbt([*command], expect_pass=False)
        assert [str(one.status) for one in results] == ["error", "error", "error"]

    def test_1_a_table_that_the_failed_run_has_made(
        self, project: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.broken(monkeypatch, "run")
        assert self.counts(project) == [2, 2, 2]
        results = run_dbt(["retry"])
        assert self.counts(project) == [2, 2, 2]
        for one in results:
            assert "the run that is retried has added them in version 1" in one.message

    def test_2_rows_that_a_failed_run_has_added_before_retries_that_fail_too(
        self, project: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.broken(monkeypatch, "run")
        self.broken(monkeypatch, "retry")
        self.broken(monkeypatch, "retry")
        run_dbt(["retry"])
        assert self.counts(project) == [4, 4, 4]
        run_dbt(["run"])
        assert self.counts(project) == [6, 6, 6], "another run is another append"

    def test_3_a_commit_that_stands_although_the_run_says_otherwise(
        self, project: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        commit = NodeTransaction.commit

        def unfinished(txn: NodeTransaction, *arguments: Any) -> None:
            commit(txn, *arguments)
            raise CommitUnfinished(expected="an answer", found="none", action="Wait.")

        with monkeypatch.context() as patch:
            patch.setattr(NodeTransaction, "commit", unfinished)
            run_dbt(["run", "--select", "committed"], expect_pass=False)
        (result,) = run_dbt(["retry"])
        assert "0 inserted" in result.message
        assert self.counts(project) == [6, 8, 6]

    def test_4_rows_that_were_never_there_are_added(
        self, project: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(NodeTransaction, "stage", lambda *arguments, **named: 1 / 0)
            run_dbt(["run"], expect_pass=False)
        run_dbt(["retry"])
        assert self.counts(project) == [8, 10, 8]
