"""A Spark of its own process that knows nothing of lakemerge, and the process itself.

As a program it reads jobs from its standard input, a JSON object a line, and answers each with a line:
``{"sql": …}`` with the rows; ``{"sql": …, "times": n}`` with the rows of each time; ``{"set": {…}}`` with null.
Dates and the like come back as text.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bounded import MOST_SECONDS, killed_after
from lakemerge.java import ensure_java
from small_spark import SMALL_SPARK

_ANSWER = "answer: "
_LOT = 50
_TESTS = Path(__file__).parents[1]


class PlainSpark:
    """Starts such a process on a metastore and asks it."""

    def __init__(self, conf: dict[str, str], directory: Path) -> None:
        ensure_java()
        self._log = (directory / "spark.log").open("ab")
        self._directory = directory
        self._process = subprocess.Popen(
            [sys.executable, "-m", "engines.plain_spark", json.dumps(conf)],
            cwd=directory,
            env={**os.environ, "PYTHONPATH": str(_TESTS)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )

    def _ask(self, job: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(job), file=self._process.stdin, flush=True)
        with killed_after(self._process):
            for line in self._process.stdout:
                if line.startswith(_ANSWER):
                    answer = json.loads(line.removeprefix(_ANSWER))
                    if "error" in answer:
                        raise AssertionError(f"{job}: {answer['error']}")
                    return answer["value"]
        raise RuntimeError(
            f"Spark ended, or was killed after {MOST_SECONDS:.0f} s; see {self._directory}/spark.log"
        )

    def sql(self, query: str) -> list[list[Any]]:
        """The rows of a query."""
        rows: list[list[Any]] = self._ask({"sql": query})
        return rows

    def repeat(self, query: str, times: int) -> list[list[list[Any]] | str]:
        """The rows of a query, many times over; of one that failed its error.

        Asked in lots, so that the limit of seconds is for each lot: it tells a process that hangs from a slow machine.
        """
        answers: list[list[list[Any]] | str] = []
        while len(answers) < times:
            answers += self._ask({"sql": query, "times": min(_LOT, times - len(answers))})
        return answers

    def set(self, **settings: str) -> None:
        """Change settings of the session; dots are written as two underscores."""
        self._ask({"set": {name.replace("__", "."): value for name, value in settings.items()}})

    def stop(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()


class Session:
    """Answers jobs by a SparkSession with Hive support."""

    def __init__(self, conf: dict[str, str]) -> None:
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2]").appName("plain reader").enableHiveSupport()
        settings = {
            **SMALL_SPARK,
            "spark.ui.enabled": "false",
            "spark.driver.memory": "1g",
            "spark.sql.warehouse.dir": conf["spark.hadoop.hive.metastore.warehouse.dir"],
            "spark.local.dir": tempfile.gettempdir(),
            "hive.exec.dynamic.partition.mode": "nonstrict",
            **conf,
        }
        for name, value in settings.items():
            builder = builder.config(name, value)
        self._spark = builder.getOrCreate()

    def answer(self, job: dict[str, Any]) -> Any:
        """What the program prints for a job."""
        for name, value in job.get("set", {}).items():
            self._spark.conf.set(name, value)
        if "set" in job:
            return None
        if "times" in job:
            return [self._attempt(job["sql"]) for _ in range(job["times"])]
        return self._rows(job["sql"])

    def _rows(self, query: str) -> list[list[Any]]:
        return [list(row) for row in self._spark.sql(query).collect()]

    def _attempt(self, query: str) -> list[list[Any]] | str:
        try:
            return self._rows(query)
        except Exception as error:  # noqa: BLE001 - the test counts failures of any kind
            return f"{type(error).__name__}: {str(error)[:500]}"


def main(conf: dict[str, str]) -> None:
    session = Session(conf)
    for line in sys.stdin:
        try:
            reply = {"value": session.answer(json.loads(line))}
        except Exception as error:  # noqa: BLE001 - told to the test, which fails
            reply = {"error": f"{type(error).__name__}: {str(error)[:2000]}"}
        print(_ANSWER + json.dumps(reply, default=str), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
