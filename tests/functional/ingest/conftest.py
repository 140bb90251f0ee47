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

from functional.node_table import NodeTable

_numbers = itertools.count()


class Ingester(NodeTable):
    """A table and the landing folder that it is read from.

    Args:
        project: dbt's project fixture.
        folder: the landing folder.
        config: the model's config, without `landing`.
        columns: data types by column; a second item of a pair is dbt's constraints.
    """

    def __init__(self, project: Any, folder: Path, config: dict[str, Any], columns: dict[str, Any]) -> None:
        declared = {
            name: {"name": name, "data_type": kind, "constraints": []} for name, kind in columns.items()
        }
        model = {
            "config": {
                "materialized": "ingest",
                "landing": str(folder),
                "settle_seconds": 0,
                "contract": {"enforced": True},
                **config,
            },
            "columns": declared,
        }
        super().__init__(project, "ingested", model)
        self.folder = folder
        self._settings: dict[str, str] = {}

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
        with self._connection() as adapter:
            options = adapter.ingest.config(self.model)
            return adapter.ingest.run(self.context, self.relation, options, rebuild)

    def replay(self, where: str = "true") -> Any:
        """Read what is in quarantine again."""
        with self._connection() as adapter:
            return adapter.ingest.replay(self.context, self.relation, self.model, where)

    @contextlib.contextmanager
    def settings(self, settings: dict[str, str]) -> Iterator[None]:
        """Run with settings of Spark's."""
        self._settings = settings
        yield
        self._settings = {}

    @contextlib.contextmanager
    def _connection(self) -> Iterator[Any]:
        with self.adapter.connection_named(self.name):
            for name, value in self._settings.items():
                self.adapter.handle.spark.conf.set(name, value)
            yield self.adapter

    def rows(self, columns: str = "*", order: str = "1") -> list[tuple[Any, ...]]:
        """The table's rows as readers see them, without the commit column."""
        wanted = ", ".join(self.model["columns"]) if columns == "*" else columns
        return [tuple(row) for row in self.sql(f"select {wanted} from {{table}} order by {order}")]

    def quarantine(self, columns: str = "*") -> list[Any]:
        """The rejected records by file and line; none where there is no quarantine."""
        name = f"{self.relation.schema}.{self.name}__quarantine"
        try:
            return self.sql(f"select {columns} from {name} order by file, line")
        except Exception as error:
            if "TABLE_OR_VIEW_NOT_FOUND" in str(error):
                return []
            raise

    def reasons(self) -> list[tuple[Any, ...]]:
        """Reason and column of each rejected record, by file and line."""
        return [tuple(row) for row in self.quarantine("reason, column_name")]


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
