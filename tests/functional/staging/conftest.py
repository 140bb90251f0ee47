"""Builds of small projects, and what readers outside of a build see at its end, before it publishes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from dbt.adapters.lakemerge.after_tests.methods import StagingMethods
from dbt.tests.util import run_dbt

from lakemerge.kernel import Kernel, TableName, as_of_group


class Shop:
    """A project with a raw table, which its models read."""

    def __init__(self, project: Any) -> None:
        self.project = project
        self.schema = project.test_schema
        with project.adapter.connection_named("shop"):
            self.application = project.adapter.handle.application

    def land(self, *rows: tuple[int, str, int | None]) -> None:
        """Let the raw table have these rows: id, region, amount."""
        values = ", ".join(f"({i}, '{region}', {'null' if n is None else n})" for i, region, n in rows)
        self.project.run_sql(f"drop table if exists {self.schema}.raw_orders")
        self.project.run_sql(
            f"create table {self.schema}.raw_orders stored as orc as "
            f"select cast(id as bigint) as id, region, cast(amount as bigint) as amount "
            f"from values {values} as t(id, region, amount)"
        )

    def dbt(self, *arguments: str, passes: bool = True) -> dict[str, Any]:
        """Run dbt; returns its results by the name of the node."""
        results = run_dbt([*arguments], expect_pass=passes)
        return {result.node.name: result for result in results}

    def rows(self, table: str, columns: str = "*") -> list[tuple[Any, ...]]:
        """The rows that a reader in a session of its own sees, in order."""
        found = self.application.new_session({}).sql(f"select {columns} from {self.schema}.{table}").collect()
        return sorted((tuple(row) for row in found), key=str)

    def exists(self, *tables: str) -> list[str]:
        """Which of these names the metastore has."""
        found = {row.name for row in self.application.metastore.table_summaries(self.schema)}
        return [name for name in tables if name in found]

    def kernel(self) -> Kernel:
        return Kernel(self.application.ports)

    def versions(self, *tables: str) -> list[int]:
        return [self.kernel().settled(TableName(self.schema, name))[0].version for name in tables]

    def groups(self, *tables: str) -> set[str | None]:
        """The commits over several tables that the tables are at."""
        names = [TableName(self.schema, name) for name in tables]
        return {manifest.group for manifest in as_of_group(self.kernel(), names).values()}

    def left_views(self) -> list[str]:
        """The global views that runs have left."""
        found = self.application.root.sql("show views in global_temp").collect()
        return [row.viewName for row in found if row.namespace == "global_temp"]


@pytest.fixture(scope="class")
def shop(project: Any) -> Shop:
    return Shop(project)


@pytest.fixture
def before_the_end(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], list[Any]]:
    """Has something done when all nodes of a run are done and nothing is published; keeps what it returns."""

    def watch(look: Callable[[], Any]) -> list[Any]:
        seen: list[Any] = []
        publish = StagingMethods.publish

        def watched(staging: Any, results: Any) -> str:
            seen.append(look())
            return publish(staging, results)

        monkeypatch.setattr(StagingMethods, "publish", watched)
        return seen

    return watch
