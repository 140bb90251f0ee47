"""Run snapshots as dbt runs them, over a source table that the tests write anew between runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt


class Snapshots:
    """A project with one snapshot, ``history``, of the table ``source``."""

    def __init__(self, project: Any) -> None:
        self.project = project
        self.schema = project.test_schema

    def source(self, columns: str, rows: Sequence[str]) -> None:
        """Write the source anew: ``columns`` as DDL, and each row as the SQL of its values."""
        self.sql(f"drop table if exists {self.schema}.source")
        self.sql(f"create table {self.schema}.source ({columns}) stored as orc")
        if rows:
            self.sql(f"insert into {self.schema}.source values {', '.join(f'({row})' for row in rows)}")

    def configure(self, query: str | None = None, **config: Any) -> None:
        """Write the snapshot's file; ``config`` is its config block."""
        options = ", ".join(f"{key}={value!r}" for key, value in config.items())
        text = query or "select * from {{ target.schema }}.source"
        Path(self.project.project_root, "snapshots", "history.sql").write_text(
            "{% snapshot history %}{{ config(" + options + ") }}\n" + text + "\n{% endsnapshot %}\n"
        )

    def run(self, *, expect_pass: bool = True) -> Any:
        """One ``dbt snapshot``; returns the node's result."""
        (result,) = run_dbt(["snapshot"], expect_pass=expect_pass)
        return result

    def rows(self, select: str = "*", order: str = "1, 2") -> list[tuple[Any, ...]]:
        """The history as readers see it."""
        return self.sql(f"select {select} from {self.schema}.history order by {order}")

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        """Run a statement in a session of its own."""
        with self.project.adapter.connection_named("snapshots"):
            return [tuple(row) for row in self.project.adapter.handle.spark.sql(text).collect()]

    def assert_sound(self, key: str = "id", valid_to_current: str = "null") -> None:
        """No key has two current rows, no id is used twice, no version ends before it begins or overlaps another."""
        table = f"{self.schema}.history"
        current = f"(dbt_valid_to is null or dbt_valid_to <=> {valid_to_current})"
        assert not self.sql(f"select {key} from {table} where {current} group by {key} having count(*) > 1")
        assert not self.sql(f"select dbt_scd_id from {table} group by dbt_scd_id having count(*) > 1")
        assert not self.sql(f"select * from {table} where dbt_valid_to < dbt_valid_from")
        later = f"lead(dbt_valid_from) over (partition by {key} order by dbt_valid_from, {current})"
        assert not self.sql(
            f"select * from (select *, {later} as next_from from {table}) "
            f"where next_from is not null and (dbt_valid_to is null or next_from < dbt_valid_to)"
        )


@pytest.fixture(scope="class")
def models() -> dict[str, str]:
    return {}


@pytest.fixture(scope="class")
def snapshots() -> dict[str, str]:
    return {"history.sql": ""}


@pytest.fixture
def snapshot(project: Any) -> Any:
    """The class's project, its history dropped after each test."""
    made = Snapshots(project)
    yield made
    with project.adapter.connection_named("snapshots"):
        relation = project.adapter.Relation.create(
            schema=project.test_schema, identifier="history", type="table"
        )
        project.adapter.drop_relation(relation)
