"""Spark's own cluster, with a master and two workers, for this machine, from pyspark's jars."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pyspark

from kernel.servers import JARS, free_port, serve
from lakemerge.java import ensure_java

_OPTIONS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m")
_WORKERS = 2


class Standalone:
    """A master and two workers of one core each, to Spark on two hosts. Started when it is made."""

    def __init__(self) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="lakemerge-standalone-"))
        self._java = ensure_java()
        self._port = free_port()
        web = free_port()
        self._processes = [
            self._spawn("master.Master", self._port, "--port", str(self._port), "--webui-port", str(web))
        ]
        for number in range(1, _WORKERS + 1):
            web = free_port()  # of all addresses
            self._processes.append(
                self._spawn(
                    "worker.Worker",
                    web,
                    *("--port", str(free_port()), "--webui-port", str(web), "--cores", "1", "--memory", "1g"),
                    *("--work-dir", str(self._directory / "work"), self.master),
                    # a task is started a second time on another host only
                    host=f"127.0.0.{number}",
                )
            )

    @property
    def master(self) -> str:
        return f"spark://127.0.0.1:{self._port}"

    @property
    def settings(self) -> dict[str, str]:
        """What spark-defaults.conf says of this cluster."""
        return {
            "spark.master": self.master,
            "spark.driver.host": "127.0.0.1",
            "spark.executor.cores": "1",
            "spark.executor.memory": "700m",
            "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
            # for Python models; tests/functional/concurrency/test_without_python.py has none
            "spark.pyspark.python": sys.executable,
        }

    @property
    def environment(self) -> dict[str, str]:
        """What the driver's process needs besides: nothing."""
        return {}

    def lose_one(self) -> None:
        """Kill a worker, and with it its executors, as a machine that fails."""
        worker = self._processes.pop()
        worker.kill()
        worker.wait()

    def executors(self) -> list[str]:
        """The names of the folders of all executors that there have been."""
        return sorted(str(path) for path in (self._directory / "work").glob("app-*/*"))

    def close(self) -> None:
        """End the processes and delete their files."""
        for process in self._processes:
            process.kill()
            process.wait()
        shutil.rmtree(self._directory)

    def _spawn(
        self, name: str, port: int, *arguments: str, host: str = "127.0.0.1"
    ) -> subprocess.Popen[bytes]:
        log = self._directory / f"{port}.log"
        java = str(self._java / "bin" / "java")
        main = f"org.apache.spark.deploy.{name}"
        # without the version of Scala, a worker looks for it in folders that only Spark's sources have
        environment = {
            **os.environ,
            "SPARK_HOME": str(Path(pyspark.__file__).parent),
            "SPARK_SCALA_VERSION": "2.13",
            "JAVA_HOME": str(self._java),
        }
        command = [java, *_OPTIONS, "-cp", str(JARS), main, "--host", host, *arguments]
        return serve(command, port, log, environment)
