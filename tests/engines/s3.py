"""An S3-compatible store, moto, for this machine; see scripts/install_s3.sh."""

from __future__ import annotations

import os
import re
import tempfile
import urllib.request
from pathlib import Path

from engines.installed import folder_of
from kernel.servers import free_port, serve

_FOLDER = folder_of("s3", "LAKEMERGE_S3")
_SERVER = _FOLDER / "venv" / "bin" / "moto_server"
#: Hadoop's client, for each process that reads or writes, the metastore too.
JARS = _FOLDER / "lib" / "*"
_BUCKET = "warehouse"


def missing() -> str:
    """What is not installed, for the reason of a skipped test; empty where all is."""
    return "" if _SERVER.exists() else f"needs {_SERVER}: run scripts/install_s3.sh"


def jars() -> list[Path]:
    """The files of :data:`JARS`, for Spark, which takes no folder."""
    return sorted(JARS.parent.glob("*.jar"))


class S3:
    """A store with one bucket, in the memory of a process that is ended when it is stopped."""

    uri = f"s3a://{_BUCKET}"

    def start(self) -> S3:
        """Start the process, and make the bucket."""
        self._port = free_port()
        self._log = Path(tempfile.mkdtemp(prefix="lakemerge-s3-")) / "moto.log"
        command = [str(_SERVER), "-H", "127.0.0.1", "-p", str(self._port)]
        self._process = serve(command, self._port, self._log)
        urllib.request.urlopen(urllib.request.Request(f"{self._endpoint}/{_BUCKET}", method="PUT")).close()
        os.environ["HADOOP_CLASSPATH"] = str(JARS)
        return self

    @property
    def _endpoint(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def settings(self) -> dict[str, str]:
        """What Hadoop's client has to know; the keys are anything."""
        return {
            "fs.s3a.endpoint": self._endpoint,
            "fs.s3a.endpoint.region": "us-east-1",
            "fs.s3a.access.key": "tests",
            "fs.s3a.secret.key": "tests",
            "fs.s3a.path.style.access": "true",
            "fs.s3a.connection.ssl.enabled": "false",
        }

    def requests(self) -> list[str]:
        """The requests so far, as ``PUT /warehouse/t/part-0``."""
        return re.findall(r'"(?:\x1b\[\d+m)*((?:GET|HEAD|PUT|POST|DELETE) \S+)', self._log.read_text())

    def stop(self) -> None:
        """End the process."""
        os.environ.pop("HADOOP_CLASSPATH", None)
        self._process.kill()
        self._process.wait()
