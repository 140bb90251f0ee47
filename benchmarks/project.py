"""A dbt project on a Spark of this process, whose nodes are measured without dbt's parsing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dbt.cli.main import dbtRunner

from measure import Measured

_PROFILE = """
bench:
  target: bench
  outputs:
    bench: {{type: lakemerge, schema: bench, threads: 1, warehouse: {root}/warehouse, metastore: embedded,
             server_side_parameters: {{{settings}, spark.driver.extraJavaOptions: "{java}"}}}}
"""
# Java's own choice of collector marks the heap beside the work, at almost every merge, which few cores feel.
# The compiler's threads are kept, for with a thread its CPU seconds are forgotten.
_JAVA = "-XX:+UseParallelGC -XX:-UseDynamicNumberOfCompilerThreads"
MERGE_SETTINGS = 'spark.driver.memory: 6g, spark.sql.shuffle.partitions: "8"'


class BenchProject:
    """A dbt project with the profile ``bench``, and its Spark.

    Attributes:
        seconds: where the next nodes that dbt runs are measured.
    """

    def __init__(
        self, root: Path, project: str, files: dict[str, str], settings: str = MERGE_SETTINGS
    ) -> None:
        """
        Args:
            project: text of ``dbt_project.yml``.
            files: texts of models and the like by path, relative to ``root``.
            settings: Spark's settings as the inside of a YAML mapping.
        """
        self.root = root
        profile = _PROFILE.format(root=root, settings=settings, java=_JAVA)
        for path, text in {"dbt_project.yml": project, "profiles.yml": profile, **files}.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        self.seconds = Measured()
        self._node: Any = None
        self._runner = dbtRunner(callbacks=[self._on_event])

    def _on_event(self, event: Any) -> None:
        if event.info.name == "NodeStart":
            self._node = self.seconds.run()
            self._node.__enter__()
        elif event.info.name == "NodeFinished":
            self._node.__exit__(None, None, None)

    def dbt(self, *arguments: str) -> Any:
        """Run a command of dbt; returns its result, or ends the program with what failed."""
        folders = ["--project-dir", str(self.root), "--profiles-dir", str(self.root)]
        result: Any = self._runner.invoke(["--quiet", *arguments, *folders])
        if not result.success:
            message = result.exception or (result.result[0].message if result.result else "see its output")
            raise SystemExit(f"dbt {arguments[0]} failed: {message}")
        return result.result

    def start(self) -> None:
        """Start Spark, and make the schema that feeds lie in."""
        self.dbt("show", "--inline", "select 1 as one")
        self.spark.sql("create database if not exists bench")

    @property
    def spark(self) -> Any:
        from pyspark.sql import SparkSession

        return SparkSession.builder.getOrCreate()

    def write_table(self, name: str, sql: str, files: int) -> None:
        """Make a feed or a source a table of its own, so that reading it is all that a node does with it."""
        self.spark.sql(f"drop table if exists bench.{name}")
        self.spark.sql(sql).coalesce(files).write.format("orc").saveAsTable(f"bench.{name}")
