"""HDFS with one NameNode and one DataNode, for this machine; see scripts/install_hdfs.sh."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from bounded import MOST_SECONDS
from engines.installed import folder_of
from kernel.servers import free_port, serve, write_settings
from lakemerge.java import ensure_java

JARS = folder_of("hdfs", "LAKEMERGE_HDFS") / "lib"
OPTIONS = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xmx400m",
    *(
        f"--add-opens=java.base/{package}=ALL-UNNAMED"
        for package in ("java.lang", "java.util", "java.net", "java.nio")
    ),
)
NAMENODE = "org.apache.hadoop.hdfs.server.namenode.NameNode"
DATANODE = "org.apache.hadoop.hdfs.server.datanode.DataNode"


def missing() -> str:
    """What is not installed, for the reason of a skipped test; empty where all is."""
    return "" if JARS.exists() else f"needs {JARS}: run scripts/install_hdfs.sh"


class Hdfs:
    """A file system of its own, gone when it is stopped."""

    def start(self) -> Hdfs:
        """Make the file system and start both processes."""
        self._directory = Path(tempfile.mkdtemp(prefix="lakemerge-hdfs-"))
        self._java = str(ensure_java() / "bin" / "java")
        self._port, self._http, data, web, ipc = (free_port() for _ in range(5))
        self._configure(
            {
                "fs.defaultFS": self.uri,
                "hadoop.tmp.dir": str(self._directory / "tmp"),
                "dfs.replication": "1",
                "dfs.namenode.name.dir": (self._directory / "name").as_uri(),
                "dfs.datanode.data.dir": (self._directory / "data").as_uri(),
                "dfs.namenode.rpc-address": f"localhost:{self._port}",
                "dfs.namenode.http-address": f"localhost:{self._http}",
                "dfs.datanode.address": f"localhost:{data}",
                "dfs.datanode.http.address": f"localhost:{web}",
                "dfs.datanode.ipc.address": f"localhost:{ipc}",
                "dfs.namenode.safemode.extension": "0",
            }
        )
        format_it = [*self._command(NAMENODE), "-format", "-force", "-nonInteractive"]
        subprocess.run(format_it, cwd=self._directory, capture_output=True, timeout=MOST_SECONDS, check=True)
        self.start_namenode()
        self._datanode = self._spawn(DATANODE, web)
        return self

    @property
    def uri(self) -> str:
        return f"hdfs://localhost:{self._port}"

    @property
    def settings(self) -> dict[str, str]:
        """What Hadoop's client has to know: nothing, for URIs name the NameNode."""
        return {}

    def start_namenode(self) -> None:
        """Start the NameNode, on what an earlier one has left."""
        self._namenode = self._spawn(NAMENODE, self._http)

    def kill_namenode(self) -> None:
        """End the NameNode as a power cut would."""
        self._namenode.kill()
        self._namenode.wait()

    def stop(self) -> None:
        """End both processes and delete their files."""
        for process in (self._datanode, self._namenode):
            process.kill()
            process.wait()
        shutil.rmtree(self._directory)

    def _configure(self, settings: dict[str, str]) -> None:
        conf = self._directory / "conf"
        for application in ("hdfs", "datanode"):  # the servers look for these folders, which the jars lack
            (conf / "webapps" / application).mkdir(parents=True)
        for file in ("core-site.xml", "hdfs-site.xml"):
            write_settings(conf / file, settings)

    def _command(self, name: str) -> list[str]:
        path = os.pathsep.join([str(self._directory / "conf"), str(JARS / "*")])
        return [self._java, *OPTIONS, "-cp", path, name]

    def _spawn(self, name: str, port: int) -> subprocess.Popen[bytes]:
        return serve(self._command(name), port, self._directory / f"{name.rpartition('.')[2]}.log")
