"""YARN with a ResourceManager and a NodeManager, for this machine; see scripts/install_yarn.sh."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil

from engines.hdfs import OPTIONS
from engines.installed import folder_of
from kernel.servers import JARS, free_port, serve, write_settings
from lakemerge.java import ensure_java

_JARS = folder_of("yarn", "LAKEMERGE_YARN") / "lib"
_EXECUTOR = "org.apache.spark.executor.YarnCoarseGrainedExecutorBackend"
_SERVER = "org.apache.hadoop.yarn.server"
#: What goes wrong goes into the servers' logs.
_LOG = """
log4j.rootLogger=WARN,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d %p %c: %m%n
"""
#: YARN's own scheduler, with one queue for all.
_QUEUES = {
    "yarn.scheduler.capacity.root.queues": "default",
    "yarn.scheduler.capacity.root.default.capacity": "100",
    "yarn.scheduler.capacity.maximum-am-resource-percent": "0.5",
}


def missing() -> str:
    """What is not installed, for the reason of a skipped test; empty where all is."""
    return "" if _JARS.exists() else f"needs {_JARS}: run scripts/install_yarn.sh"


class Yarn:
    """A cluster of one node that runs four containers. Started when it is made.

    Args:
        files: the URI of the file system that Spark hands its files over by.
    """

    def __init__(self, files: str) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="lakemerge-yarn-"))
        self._files = files
        self._java = ensure_java()
        manager, scheduler, tracker, admin, web = (free_port() for _ in range(5))
        node, localizer, node_web = (free_port() for _ in range(3))
        conf = self._directory / "conf"
        conf.mkdir()
        (conf / "log4j.properties").write_text(_LOG)
        write_settings(conf / "core-site.xml", {})
        write_settings(conf / "capacity-scheduler.xml", _QUEUES)
        write_settings(
            conf / "yarn-site.xml",
            {
                "yarn.resourcemanager.hostname": "localhost",
                "yarn.resourcemanager.address": f"localhost:{manager}",
                "yarn.resourcemanager.scheduler.address": f"localhost:{scheduler}",
                "yarn.resourcemanager.resource-tracker.address": f"localhost:{tracker}",
                "yarn.resourcemanager.admin.address": f"localhost:{admin}",
                "yarn.resourcemanager.webapp.address": f"localhost:{web}",
                "yarn.nodemanager.address": f"localhost:{node}",
                "yarn.nodemanager.localizer.address": f"localhost:{localizer}",
                "yarn.nodemanager.webapp.address": f"localhost:{node_web}",
                "yarn.nodemanager.local-dirs": str(self._directory / "local"),
                "yarn.nodemanager.log-dirs": str(self._directory / "logs"),
                # containers' folders stay for a while, and tell that there were some
                "yarn.nodemanager.delete.debug-delay-sec": "3600",
                "yarn.nodemanager.resource.memory-mb": "5000",
                "yarn.nodemanager.resource.cpu-vcores": "4",
                "yarn.nodemanager.vmem-check-enabled": "false",
                "yarn.nodemanager.pmem-check-enabled": "false",
                "yarn.nodemanager.disk-health-checker.enable": "false",
                "yarn.scheduler.minimum-allocation-mb": "128",
            },
        )
        self._processes = [
            self._spawn("resourcemanager.ResourceManager", manager),
            self._spawn("nodemanager.NodeManager", node_web),
        ]

    @property
    def settings(self) -> dict[str, str]:
        """What spark-defaults.conf says of this cluster."""
        return {
            "spark.master": "yarn",
            "spark.driver.host": "127.0.0.1",
            "spark.yarn.jars": f"local:{JARS}",
            # not the default file system, which the example's landed files are in
            "spark.yarn.stagingDir": f"{self._files}/staging",
            "spark.executor.instances": "2",
            "spark.executor.cores": "1",
            "spark.executor.memory": "700m",
            "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
            "spark.yarn.am.memory": "300m",
            # for Python models
            "spark.pyspark.python": sys.executable,
        }

    @property
    def environment(self) -> dict[str, str]:
        """What the driver's process needs besides: where the cluster is described."""
        return {"HADOOP_CONF_DIR": str(self._directory / "conf"), "SPARK_SCALA_VERSION": "2.13"}

    def lose_one(self) -> None:
        """Kill an executor, as a machine that fails."""
        executors = [
            process
            for process in psutil.process_iter(["cmdline"])
            if _EXECUTOR in (line := " ".join(process.info["cmdline"] or ())) and str(self._directory) in line
        ]
        executors[0].kill()

    def executors(self) -> list[str]:
        """The names of the folders of all containers that there have been."""
        return sorted(map(str, (self._directory / "local").glob("usercache/*/appcache/*/container_*")))

    def close(self) -> None:
        """End the processes, of containers that are left too, and delete their files."""
        for process in self._processes:
            process.terminate()
            process.wait()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _spawn(self, name: str, port: int) -> subprocess.Popen[bytes]:
        path = os.pathsep.join([str(self._directory / "conf"), str(_JARS / "*")])
        command = [str(self._java / "bin" / "java"), *OPTIONS, "-cp", path, f"{_SERVER}.{name}"]
        environment = {**os.environ, "JAVA_HOME": str(self._java), **self.environment}
        return serve(command, port, self._directory / f"{name.rpartition('.')[2]}.log", environment)
