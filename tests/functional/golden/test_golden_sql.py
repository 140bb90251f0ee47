"""The statements that each kind of node sends to Spark, and what its commits hold: files for people to read.

`make flow-sql` writes the files again; their difference shows what a change does to the SQL.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt
from pyspark.sql import SparkSession

from functional.golden.golden_models import INGEST, INGEST_YML, LANDED, MODELS, NAMES, RUNS, SNAPSHOTS
from lakemerge.engine.spark.releases import text_of_utf8, valid_utf8
from lakemerge.kernel import Kernel, TableName

FOLDER = Path(__file__).parents[3] / "docs" / "flow" / "sql"
WRITES = bool(os.environ.get("LAKEMERGE_WRITE_GOLDEN"))


class Recorder:
    """Keeps the statements that reach Spark, by the node that runs; nodes run one after another."""

    def __init__(self) -> None:
        self.statements: dict[str, list[str]] = {}
        self._node = ""

    def follow(self, event: Any) -> None:
        """A callback of dbt's."""
        if event.info.name == "NodeStart":
            self._node = event.data.node_info.node_name

    def record(self, sql: str) -> None:
        self.statements.setdefault(self._node, []).append(sql)


@pytest.fixture(scope="class")
def recorder() -> Iterator[Recorder]:
    recorder, original = Recorder(), SparkSession.sql

    def sql(session: SparkSession, statement: str, *args: Any, **named: Any) -> Any:
        recorder.record(statement)
        return original(session, statement, *args, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SparkSession, "sql", sql)
        yield recorder


def plain(text: str, schema: str) -> str:
    """A statement as on Spark 4, without dbt's comment and the test's schema, and with one empty line in a place."""
    for kind, of_spark_4 in ((valid_utf8, "is_valid_utf8"), (text_of_utf8, "make_valid_utf8")):
        text = text.replace(kind("_lakemerge_raw"), f"{of_spark_4}(_lakemerge_raw)")
    text = re.sub(r"/\* \{.*?\} \*/\s*", "", text.replace(schema, "shop"), flags=re.DOTALL)
    lines = "\n".join(line.rstrip() for line in text.strip().split("\n"))
    return re.sub(r"\n{3,}", "\n\n", lines)


def committed(kernel: Kernel, name: TableName) -> str:
    """What the newest version of a table says, as comments."""
    manifest = kernel.settled(name)[1]
    columns = [f"{column.name} {column.type}" for column in (*manifest.columns, *manifest.partition_columns)]
    lines = [
        f"version {manifest.version}: {manifest.operation}, {json.dumps(dict(sorted(manifest.metrics.items())))}",
        f"columns: {', '.join(columns)}",
        f"partitions: {', '.join(name or 'the table' for name in sorted(manifest.partitions))}",
        f"side data: {', '.join(sorted(manifest.sidecars)) or 'none'}",
    ]
    return "".join(f"-- {line}\n" for line in lines)


class TestGolden:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {**MODELS, "ingested.sql": INGEST, "ingested.yml": INGEST_YML}

    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        return SNAPSHOTS

    @pytest.fixture(scope="class")
    def landing(self, tmp_path_factory: pytest.TempPathFactory) -> Path:
        return tmp_path_factory.mktemp("landing")

    @pytest.fixture(scope="class")
    def found(self, project: Any, landing: Path, recorder: Recorder) -> dict[str, str]:
        """The text of each node's file."""
        texts: dict[str, list[str]] = {name: [] for name in NAMES}
        for run in RUNS:
            (landing / f"{run}.csv").write_text(LANDED[run])
            variables = json.dumps({"run": run, "landing": str(landing)})
            until = ["--event-time-start", "2026-01-01", "--event-time-end", "2026-01-04"]
            recorder.statements.clear()
            run_dbt(["build", "--threads", "1", "--vars", variables, *until], callbacks=[recorder.follow])
            with project.adapter.connection_named("golden"):
                kernel = Kernel(project.adapter.handle.application.ports)
                for name in NAMES:
                    statements = [plain(sql, project.test_schema) for sql in recorder.statements[name]]
                    said = committed(kernel, TableName(project.test_schema, name))
                    texts[name].append(f"-- run {run}\n\n" + "\n;\n\n".join(statements) + f"\n;\n\n{said}")
        return {name: "\n".join(text) for name, text in texts.items()}

    @pytest.mark.parametrize("name", NAMES)
    def test_sql(self, found: dict[str, str], name: str) -> None:
        path = FOLDER / f"{name}.sql"
        if WRITES:
            path.parent.mkdir(exist_ok=True)
            path.write_text(found[name])
        assert found[name] == path.read_text(), "if this is meant: make flow-sql"

    def test_each_file_is_of_a_node(self) -> None:
        assert {path.stem for path in FOLDER.glob("*.sql")} == set(NAMES)
