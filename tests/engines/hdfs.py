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

_JARS = folder_of("hdfs", "LAKEMERGE_HDFS") / "lib"
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


def missing() -> str:
    """What is not installed, for the reason of a skipped test; empty where all is."""
    return "" if _JARS.exists() else f"needs {_JARS}: run scripts/install_hdfs.sh"


class Servers:
    """Processes of HDFS below one folder, each with the settings of a folder there."""

    def __init__(self) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="lakemerge-hdfs-"))
        self._java = str(ensure_java() / "bin" / "java")
        self._web = free_port()

    def _configure(self, folder: Path, settings: dict[str, str]) -> None:
        """Write the settings of a NameNode, with those of the one DataNode."""
        all_settings = {
            "dfs.replication": "1",
            "dfs.datanode.data.dir": (self._directory / "data").as_uri(),
            "dfs.datanode.address": f"localhost:{free_port()}",
            "dfs.datanode.http.address": f"localhost:{self._web}",
            "dfs.datanode.ipc.address": f"localhost:{free_port()}",
            "dfs.namenode.name.dir": (folder / "name").as_uri(),
            "dfs.namenode.safemode.extension": "0",
            "hadoop.tmp.dir": str(folder / "tmp"),
            **settings,
        }
        conf = folder / "conf"
        for application in ("hdfs", "datanode"):  # the servers look for these folders, which the jars lack
            (conf / "webapps" / application).mkdir(parents=True)
        for file in ("core-site.xml", "hdfs-site.xml"):
            write_settings(conf / file, all_settings)

    def _run(self, folder: Path, main: str, *arguments: str) -> None:
        """Run a program to its end, which must be a good one."""
        command = [*self._command(folder, main), *arguments]
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=MOST_SECONDS, check=False
        )
        assert done.returncode == 0, f"{main} {arguments}: {done.stdout[-2000:]}{done.stderr[-2000:]}"

    def _start_datanode(self, folder: Path) -> subprocess.Popen[bytes]:
        return self._start(folder, "org.apache.hadoop.hdfs.server.datanode.DataNode", self._web)

    def _start(self, folder: Path, main: str, port: int) -> subprocess.Popen[bytes]:
        """Start a server, and wait until its port answers."""
        return serve(self._command(folder, main), port, folder / f"{main.rpartition('.')[2]}.log")

    def _command(self, folder: Path, main: str) -> list[str]:
        path = os.pathsep.join([str(folder / "conf"), str(_JARS / "*")])
        return [self._java, *OPTIONS, "-cp", path, main]

    def _end(self, *processes: subprocess.Popen[bytes]) -> None:
        """Kill processes, and delete the files of all."""
        for process in processes:
            kill(process)
        shutil.rmtree(self._directory)


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a server as a power cut would."""
    process.kill()
    process.wait()


class Hdfs(Servers):
    """A file system of its own, gone when it is stopped."""

    def start(self) -> Hdfs:
        """Make the file system and start both processes."""
        self._port, self._http = free_port(), free_port()
        settings = {
            "fs.defaultFS": self.uri,
            "dfs.namenode.rpc-address": f"localhost:{self._port}",
            "dfs.namenode.http-address": f"localhost:{self._http}",
        }
        self._configure(self._directory, settings)
        self._run(self._directory, NAMENODE, "-format", "-force", "-nonInteractive")
        self.start_namenode()
        self._datanode = self._start_datanode(self._directory)
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
        self._namenode = self._start(self._directory, NAMENODE, self._http)

    def kill_namenode(self) -> None:
        """End the NameNode as a power cut would."""
        kill(self._namenode)

    def stop(self) -> None:
        """End both processes and delete their files."""
        self._end(self._datanode, self._namenode)
