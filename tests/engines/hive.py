"""A real Hive in a process of its own, of the release of the metastore that it reads; see scripts/install_hive*.sh.

It runs its queries as MapReduce jobs in the same process, which needs no cluster.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from bounded import killed_after
from engines import newer_hive
from engines.installed import folder_of
from kernel.servers import write_settings
from lakemerge.java import ensure_java

FOLDER = folder_of("hive", "LAKEMERGE_HIVE")
_VERSION = "2.3.10"
# Hive reaches into Java's own classes, as it could before Java 9.
_OPENED = (
    *("java.io", "java.lang", "java.lang.reflect", "java.net", "java.nio", "java.text"),
    *("java.util", "java.util.concurrent", "java.util.concurrent.atomic", "java.util.regex"),
)
_OPTIONS = ("-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_SETTINGS = {
    "fs.defaultFS": "file:///",
    "mapreduce.framework.name": "local",
    "hive.execution.engine": "mr",
    "hive.support.concurrency": "false",
    "hive.txn.manager": "org.apache.hadoop.hive.ql.lockmgr.DummyTxnManager",
    # which it would prepare in another process
    "hive.auto.convert.join": "false",
    # answers come from the files, not from what the metastore says of them, or from an earlier answer
    "hive.query.results.cache.enabled": "false",
    "hive.compute.query.using.stats": "false",
    "hive.fetch.output.serde": "org.apache.hadoop.hive.serde2.DelimitedJSONSerDe",
}


#: The jars of Hive's releases, by the metastores that they speak to.
JARS = {
    "hive3": newer_hive.CLIENT_OF_3,
    "hive4": newer_hive.CLIENT_OF_4,
}


def missing(metastore: str) -> str:
    """What is not installed, for the reason of a skipped test; empty where all is, as it is where its metastore is."""
    if metastore in JARS or (FOLDER / "version").exists():
        return ""
    return f"needs Hive {_VERSION} in {FOLDER}: run scripts/install_hive.sh"


class Hive:
    """One session.

    Args:
        conf: what a client of the metastore needs to know.
        directory: for its files, which are the caller's.
        metastore: one of ``engines.metastores.METASTORES``.

    Attributes:
        release: hive2, hive3 or hive4.
        knows_zstd: whether it reads ORC files of that codec.
        runs_jobs: whether it runs more than plain selects on this Java.
    """

    def __init__(self, conf: Mapping[str, str], directory: Path, metastore: str) -> None:
        self._jars = JARS.get(metastore, FOLDER / "lib")
        self.release = metastore if metastore in JARS else "hive2"
        self._raises = self.knows_zstd = self.release == "hive4"  # before, it answered with a code
        self.runs_jobs = self.release != "hive3"
        self._directory = directory / "hive"
        self._settings = {
            **_SETTINGS,
            **conf,
            "hive.exec.scratchdir": f"{self._directory}/scratch",
            "hive.exec.local.scratchdir": f"{self._directory}/local",
            "hadoop.tmp.dir": f"{self._directory}/tmp",
        }
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Hive:
        """Start the process and its session."""
        (folder := self._directory / "conf").mkdir(parents=True)
        write_settings(folder / "hive-site.xml", self._settings)
        log = (self._directory / "hive.log").open("a")  # py4j's, which closes it when the process ends
        port, token, self._process = launch_gateway(
            java_path=str(ensure_java() / "bin" / "java"),
            javaopts=[*_OPTIONS, *(f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in _OPENED)],
            die_on_exit=True,
            enable_auth=True,
            redirect_stdout=log,
            redirect_stderr=log,
            return_proc=True,
        )
        self._gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
        hive = self._gateway.jvm.org.apache.hadoop.hive
        with killed_after(self._process):
            self._load(folder)
            session = hive.ql.session.SessionState
            self._conf = hive.conf.HiveConf()
            session.start(session(self._conf))
        return self

    def _load(self, conf: Path) -> None:
        """Let py4j find the classes of jars. Hive 3.1 wants its own loaded by URLs, which Java's loader does not do."""
        java = self._gateway.jvm.java
        urls = [f"{conf.as_uri()}/", *(jar.as_uri() for jar in sorted(self._jars.glob("*.jar")))]
        array = self._gateway.new_array(java.net.URL, len(urls))
        for index, url in enumerate(urls):
            array[index] = java.net.URL(url)
        reflection = self._gateway.jvm.py4j.reflection
        reflection.ReflectionUtil.setClassLoadingStrategy(reflection.CurrentThreadClassLoadingStrategy())
        java.lang.Thread.currentThread().setContextClassLoader(java.net.URLClassLoader(array))

    def sql(self, query: str) -> list[list[str | None]]:
        """The rows of a query, with values as Hive prints them; collections as JSON.

        Raises:
            AssertionError, Py4JJavaError: it failed; with Hive's message.
        """
        assert self._process is not None
        with killed_after(self._process):
            driver = self._gateway.jvm.org.apache.hadoop.hive.ql.Driver(self._conf)
            answer = driver.run(query)
            if not self._raises:
                assert answer.getResponseCode() == 0, f"{query}: {answer.getErrorMessage()}"
            rows: list[Any] = []
            new_list = self._gateway.jvm.java.util.ArrayList
            while driver.getResults(found := new_list()):
                rows += list(found)
            driver.close()
        return [[None if value == "NULL" else value for value in str(row).split("\t")] for row in rows]

    def stop(self) -> None:
        """Kill the process."""
        if self._process is not None:
            self._gateway.shutdown()
            self._process.kill()
            self._process.wait()
            self._process = None
