"""An S3-compatible store, moto, for this machine; see scripts/install_s3.sh."""

from __future__ import annotations

import os
import re
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engines.installed import folder_of
from kernel.servers import free_port, serve

_FOLDER = folder_of("s3", "LAKEMERGE_S3")
_PYTHON = _FOLDER / "venv" / "bin" / "python"
_SERVER = Path(__file__).with_name("moto_with_faults.py")
#: Hadoop's client, for each process that reads or writes, the metastore too.
JARS = _FOLDER / "lib" / "*"
_BUCKET = "warehouse"


def missing() -> str:
    """What is not installed, for the reason of a skipped test; empty where all is."""
    return "" if _PYTHON.exists() else f"needs {_PYTHON}: run scripts/install_s3.sh"


def jars() -> list[Path]:
    """The files of :data:`JARS`, for Spark, which takes no folder."""
    return sorted(JARS.parent.glob("*.jar"))


class S3:
    """A store with one bucket, in the memory of a process that is ended when it is stopped."""

    uri = f"s3a://{_BUCKET}"

    def start(self) -> S3:
        """Start the process, and make the bucket."""
        self._port = free_port()
        folder = Path(tempfile.mkdtemp(prefix="lakemerge-s3-"))
        self._log, self._faults = folder / "moto.log", folder / "faults"
        self._faults.write_text("0 0")
        command = [str(_PYTHON), str(_SERVER), str(self._port), str(self._faults)]
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

    @contextmanager
    def failing(self, every: int = 0, seconds: float = 0) -> Iterator[None]:
        """Refuse one of so many requests (1: all) with 503 SlowDown inside the block, and let each take its time."""
        self._write_faults(f"{every} {seconds}")
        try:
            yield
        finally:
            self._write_faults("0 0")

    def _write_faults(self, text: str) -> None:
        beside = self._faults.with_suffix(".new")
        beside.write_text(text)
        beside.replace(self._faults)

    def refusals(self) -> int:
        """How many requests were refused so far."""
        return self._log.read_text().count('" 503 ')

    def requests(self) -> list[str]:
        """The requests so far, as ``PUT /warehouse/t/part-0``."""
        return re.findall(r'"(?:\x1b\[\d+m)*((?:GET|HEAD|PUT|POST|DELETE) \S+)', self._log.read_text())

    def stop(self) -> None:
        """End the process."""
        os.environ.pop("HADOOP_CLASSPATH", None)
        self._process.kill()
        self._process.wait()
