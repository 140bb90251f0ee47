"""HDFS with two NameNodes, of which one stands by for the other, as most sites have it, behind a mount of viewfs."""

from __future__ import annotations

import subprocess
from pathlib import Path

from engines.hdfs import NAMENODE, Servers, kill
from kernel.servers import free_port

_NAMES = ("first", "second")


class HdfsPair(Servers):
    """A file system of its own, named ``site``, gone when it is stopped.

    The NameNodes share the folder of their edits.
    """

    def start(self) -> HdfsPair:
        """Make the file system, start its processes, and let the first NameNode serve."""
        self._first, self._second = (self._directory / name for name in _NAMES)
        self._ports = {name: (free_port(), free_port()) for name in _NAMES}
        edits = self._directory / "edits"
        edits.mkdir()
        for folder in (self._first, self._second):
            settings = {
                **self.settings,
                "fs.defaultFS": "hdfs://site",
                "dfs.ha.namenode.id": folder.name,
                "dfs.ha.tail-edits.period": "1s",
                "dfs.namenode.shared.edits.dir": edits.as_uri(),
            }
            self._configure(folder, settings)
        self._run(self._first, NAMENODE, "-format", "-force", "-nonInteractive")
        self._active = self._start_namenode(self._first)
        self._run(self._second, NAMENODE, "-bootstrapStandby", "-force", "-nonInteractive")
        self._standby = self._start_namenode(self._second)
        self._activate(self._first)
        self._datanode = self._start_datanode(self._first)
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
        kill(self._active)
        self._activate(self._second)

    def stop(self) -> None:
        """End the processes and delete their files."""
        self._end(self._datanode, self._active, self._standby)

    def make(self, *folders: str) -> None:
        """Create folders."""
        uris = [f"hdfs://site{folder}" for folder in folders]
        self._run(self._first, "org.apache.hadoop.fs.FsShell", "-mkdir", "-p", *uris)

    def _activate(self, folder: Path) -> None:
        arguments = ("-transitionToActive", "--forceactive", folder.name)
        self._run(folder, "org.apache.hadoop.hdfs.tools.DFSHAAdmin", *arguments)

    def _start_namenode(self, folder: Path) -> subprocess.Popen[bytes]:
        return self._start(folder, NAMENODE, self._ports[folder.name][0])
