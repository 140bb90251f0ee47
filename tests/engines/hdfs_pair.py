"""HDFS with two NameNodes, of which one stands by for the other, as most sites have it, behind a mount of viewfs."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from bounded import MOST_SECONDS
from engines.hdfs import DATANODE, JARS, NAMENODE, OPTIONS
from kernel.servers import free_port, serve, write_settings
from lakemerge.java import ensure_java

_NAMES = ("first", "second")
_ADMIN = "org.apache.hadoop.hdfs.tools.DFSHAAdmin"


class HdfsPair:
    """A file system of its own, named ``site``, gone when it is stopped.

    The NameNodes share the folder of their edits.
    """

    def start(self) -> HdfsPair:
        """Make the file system, start its processes, and let the first NameNode serve."""
        self._directory = Path(tempfile.mkdtemp(prefix="lakemerge-hdfs-pair-"))
        self._java = str(ensure_java() / "bin" / "java")
        self._ports = {name: (free_port(), free_port()) for name in _NAMES}
        data, web, ipc = (free_port() for _ in range(3))
        servers = {
            "dfs.replication": "1",
            "dfs.namenode.shared.edits.dir": (self._directory / "edits").as_uri(),
            "dfs.datanode.data.dir": (self._directory / "data").as_uri(),
            "dfs.datanode.address": f"localhost:{data}",
            "dfs.datanode.http.address": f"localhost:{web}",
            "dfs.datanode.ipc.address": f"localhost:{ipc}",
            "dfs.namenode.safemode.extension": "0",
            "dfs.ha.tail-edits.period": "1s",
        }
        (self._directory / "edits").mkdir()
        for name in _NAMES:
            own = {
                "hadoop.tmp.dir": str(self._directory / name / "tmp"),
                "dfs.namenode.name.dir": (self._directory / name / "name").as_uri(),
                "dfs.ha.namenode.id": name,
            }
            self._configure(name, {**self.settings, **servers, **own})
        self._run(NAMENODE, "first", "-format", "-force", "-nonInteractive")
        first = self._namenode("first")
        self._run(NAMENODE, "second", "-bootstrapStandby", "-force", "-nonInteractive")
        self._processes = {"first": first, "second": self._namenode("second")}
        self._activate("first")
        self._processes["data"] = self._spawn(DATANODE, "first", web)
        return self

    @property
    def uri(self) -> str:
        return "viewfs://mounts/lake"

    @property
    def settings(self) -> dict[str, str]:
        """What Hadoop's client has to know, as a site's core-site.xml and hdfs-site.xml say it."""
        addresses = {
            f"dfs.namenode.{kind}-address.site.{name}": f"localhost:{self._ports[name][place]}"
            for name in _NAMES
            for place, kind in enumerate(("rpc", "http"))
        }
        return {
            "dfs.nameservices": "site",
            "dfs.ha.namenodes.site": ",".join(_NAMES),
            **addresses,
            "dfs.client.failover.proxy.provider.site": (
                "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"
            ),
            "fs.defaultFS": "viewfs://mounts/",
            "fs.viewfs.mounttable.mounts.link./lake": "hdfs://site/warehouse",
            "fs.viewfs.mounttable.mounts.link./tmp": "hdfs://site/tmp",
        }

    def kill_active(self) -> None:
        """End the serving NameNode as a power cut would, and let the other serve."""
        self._kill("first")
        self._activate("second")

    def stop(self) -> None:
        """End the processes and delete their files."""
        for name in list(self._processes):
            self._kill(name)
        shutil.rmtree(self._directory)

    def make(self, *folders: str) -> None:
        """Create folders."""
        uris = [f"hdfs://site{folder}" for folder in folders]
        self._run("org.apache.hadoop.fs.FsShell", "first", "-mkdir", "-p", *uris)

    def _kill(self, name: str) -> None:
        process = self._processes.pop(name)
        process.kill()
        process.wait()

    def _activate(self, name: str) -> None:
        self._run(_ADMIN, name, "-transitionToActive", "--forceactive", name)

    def _namenode(self, name: str) -> subprocess.Popen[bytes]:
        return self._spawn(NAMENODE, name, self._ports[name][0])

    def _configure(self, name: str, settings: dict[str, str]) -> None:
        conf = self._directory / name / "conf"
        for application in ("hdfs", "datanode"):  # the servers look for these folders, which the jars lack
            (conf / "webapps" / application).mkdir(parents=True)
        servers = {**settings, "fs.defaultFS": "hdfs://site"}
        for file in ("core-site.xml", "hdfs-site.xml"):
            write_settings(conf / file, servers)

    def _command(self, main: str, name: str) -> list[str]:
        path = os.pathsep.join([str(self._directory / name / "conf"), str(JARS / "*")])
        return [self._java, *OPTIONS, "-cp", path, main]

    def _run(self, main: str, name: str, *arguments: str) -> None:
        done = subprocess.run(
            [*self._command(main, name), *arguments],
            cwd=self._directory,
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{main} {arguments}: {done.stdout[-2000:]}{done.stderr[-2000:]}"

    def _spawn(self, main: str, name: str, port: int) -> subprocess.Popen[bytes]:
        log = self._directory / f"{name}.{main.rpartition('.')[2]}.log"
        return serve(self._command(main, name), port, log)
