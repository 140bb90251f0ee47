"""Ingest as the materialization does, without a dbt invocation for each run."""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt

_numbers = itertools.count()


class Ingester:
    """One table and the landing folder that it is read from.

    Args:
        project: dbt's project fixture.
        folder: the landing folder.
        config: the model's config, without `landing`.
        columns: data types by column; a second item of a pair is dbt's constraints.
    """

    def __init__(self, project: Any, folder: Path, config: dict[str, Any], columns: dict[str, Any]) -> None:
        self._project = project
        self.folder = folder
        self._settings: dict[str, str] = {}
        self.name = f"ingested_{next(_numbers)}"
        self.relation = project.adapter.Relation.create(
            schema=project.test_schema, identifier=self.name, type="table"
        )
        declared = {
            name: {"name": name, "data_type": kind, "constraints": []} for name, kind in columns.items()
        }
        self.model: dict[str, Any] = {
            "unique_id": f"model.test.{self.name}",
            "config": {
                "materialized": "ingest",
                "landing": str(folder),
                "settle_seconds": 0,
                "contract": {"enforced": True},
                **config,
            },
            "columns": declared,
        }

    def land(self, name: str, content: str | bytes) -> Path:
        """Put a file into the landing folder, at once as a whole."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        # a file that is changed in the same millisecond and keeps its size looks the same
        stamp = time.time() - 60 + next(_numbers) / 1000
        os.utime(path, (stamp, stamp))
        return path

    def run(self, *, rebuild: bool = False) -> Any:
        """One run; returns the response. Raises what the materialization raises."""
        return self._call("lakemerge_ingest", rebuild=rebuild)

    def replay(self, where: str = "true") -> Any:
        """Read what is in quarantine again."""
        return self._call("lakemerge_replay_quarantine", node=self.model, where=where)

    @contextlib.contextmanager
    def settings(self, settings: dict[str, str]) -> Iterator[None]:
        """Run with settings of Spark's."""
        self._settings = settings
        yield
        self._settings = {}

    def _call(self, macro: str, **arguments: Any) -> Any:
        adapter = self._project.adapter
        with adapter.connection_named(self.name):
            for name, value in self._settings.items():
                adapter.handle.spark.conf.set(name, value)
            return adapter.execute_macro(
                macro,
                kwargs={"target": self.relation, "config": adapter.ingest_config(self.model), **arguments},
                context_override={"model": self.model},
            )

    def rows(self, columns: str = "*", order: str = "1") -> list[tuple[Any, ...]]:
        """The table's rows as readers see them, without the commit column."""
        wanted = ", ".join(self.model["columns"]) if columns == "*" else columns
        return [tuple(row) for row in self.sql(f"select {wanted} from {{table}} order by {order}")]

    def quarantine(self, columns: str = "*") -> list[Any]:
        """The rejected records by file and line; none where there is no quarantine."""
        name = f"{self._project.test_schema}.{self.name}__quarantine"
        try:
            return self.sql(f"select {columns} from {name} order by file, line")
        except Exception as error:
            if "TABLE_OR_VIEW_NOT_FOUND" in str(error):
                return []
            raise

    def reasons(self) -> list[tuple[Any, ...]]:
        """Reason and column of each rejected record, by file and line."""
        return [tuple(row) for row in self.quarantine("reason, column_name")]

    def sql(self, text: str) -> list[Any]:
        """The rows of a query, in a session of its own."""
        with self._project.adapter.connection_named(f"{self.name}_reader"):
            spark = self._project.adapter.handle.spark
            rows: list[Any] = spark.sql(text.format(table=self.relation.render())).collect()
            return rows

    def history(self) -> list[dict[str, Any]]:
        """The table's commits, the newest first."""
        with self._project.adapter.connection_named(self.name):
            commits: list[dict[str, Any]] = self._project.adapter.table_history(self.relation)
            return commits

    def drop(self) -> None:
        """Drop the table."""
        with self._project.adapter.connection_named(self.name):
            self._project.adapter.drop_table(self.relation)


@pytest.fixture(scope="class")
def models() -> dict[str, str]:
    return {"nothing.sql": "select 1 as id"}


@pytest.fixture(scope="class")
def ingester(project: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Makes an :class:`Ingester`: ``ingester(config, columns)``."""
    run_dbt(["run"])

    def make(config: dict[str, Any], columns: dict[str, Any]) -> Ingester:
        return Ingester(project, tmp_path_factory.mktemp("landing"), config, columns)

    return make
