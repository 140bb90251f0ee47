"""A real metastore process from pyspark's own jars, on Derby or on a database that already has the schema."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import pyspark

from bounded import MOST_SECONDS
from lakemerge.java import ensure_java

JARS = Path(pyspark.__file__).parent / "jars" / "*"

_OPTIONS = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xmx512m",
    # Hive sends it conditions on partitions as objects, which its serializer makes by reaching into Java's classes
    "--add-opens=java.base/java.util=ALL-UNNAMED",
    # pyspark ships no disruptor jar, without which Hive's default asynchronous logging cannot start
    "-Dlog4j2.contextSelector=org.apache.logging.log4j.core.selector.ClassLoaderContextSelector",
    "-Dhive.async.log.enabled=false",
    "-Dderby.stream.error.field=java.lang.System.err",
    # the databases of tests need not survive a power cut
    "-Dderby.system.durability=test",
)
# Runs before the server: its lock API needs tables that automatic creation leaves out.
_PREPARE_TRANSACTION_TABLES = """
public class Prepare {
    public static void main(String[] args) throws Exception {
        org.apache.hadoop.hive.metastore.txn.TxnDbUtil.prepDb(
            new org.apache.hadoop.hive.conf.HiveConf(Prepare.class));
    }
}
"""


def derby_url(directory: Path) -> str:
    return f"jdbc:derby:;databaseName={directory}/metastore_db;create=true"


class MetastoreServer:
    """One metastore process with a warehouse of its own, below one directory.

    Args:
        settings: further properties of hive-site.xml; those of the database among them where it is not Derby.
        warehouse: its URI; by default a folder below the directory.
        storage: properties of the warehouse's file system, for the server and its clients.
        classpath: jars besides those of Hive, such as a JDBC driver.
        hive: the jars of Hive and Hadoop, as a class path; by default pyspark's.
        spark: settings that Spark needs besides those of all clients.
        transaction_tables: also make the tables that Hive's locks need (Derby only).
    """

    def __init__(
        self,
        directory: Path,
        *,
        settings: Mapping[str, str] | None = None,
        warehouse: str = "",
        storage: Mapping[str, str] | None = None,
        classpath: tuple[Path, ...] = (),
        hive: tuple[Path, ...] = (JARS,),
        spark: Mapping[str, str] | None = None,
        transaction_tables: bool = True,
    ) -> None:
        self.directory = directory
        (directory / "warehouse").mkdir(parents=True, exist_ok=True)
        self._warehouse = warehouse or (directory / "warehouse").as_uri()
        self._storage = dict(storage or {})
        self.log = directory / "metastore.log"
        self._conf = {
            "javax.jdo.option.ConnectionURL": derby_url(directory),
            "datanucleus.schema.autoCreateAll": "true",
            "hive.metastore.schema.verification": "false",
            # the default pool, BoneCP, is not among pyspark's jars, and locks need one
            "datanucleus.connectionPoolingType": "HikariCP",
            "hive.metastore.warehouse.dir": self._warehouse,
            **self._storage,
            **(settings or {}),
        }
        self._classpath = os.pathsep.join([str(directory / "conf"), *map(str, (*classpath, *hive))])
        self.spark = dict(spark or {})
        self._transaction_tables = transaction_tables
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()

    @property
    def uri(self) -> str:
        return f"thrift://localhost:{self.port}"

    @property
    def client_conf(self) -> dict[str, str]:
        """What a client needs to know to reach this server."""
        return {
            "hive.metastore.uris": self.uri,
            "hive.metastore.warehouse.dir": self._warehouse,
            **self._storage,
        }

    @property
    def spark_conf(self) -> dict[str, str]:
        """What Spark needs to know to reach this server."""
        return {**{f"spark.hadoop.{name}": value for name, value in self.client_conf.items()}, **self.spark}

    def start(self) -> MetastoreServer:
        """Start the process and wait until its port answers."""
        conf = self.directory / "conf"
        conf.mkdir(exist_ok=True)
        write_settings(conf / "hive-site.xml", self._conf)
        java = str(ensure_java() / "bin" / "java")
        if self._transaction_tables:
            source = self.directory / "Prepare.java"
            source.write_text(_PREPARE_TRANSACTION_TABLES)
            command = [java, *_OPTIONS, "-cp", self._classpath, str(source)]
            with self.log.open("ab") as log:
                subprocess.run(
                    command, cwd=self.directory, stdout=log, stderr=log, timeout=MOST_SECONDS, check=True
                )
        server = "org.apache.hadoop.hive.metastore.HiveMetaStore"
        command = [java, *_OPTIONS, "-cp", self._classpath, server, "-p", str(self.port)]
        self._process = serve(command, self.port, self.log)
        return self

    def send_signal(self, number: int) -> None:
        """Stop the process for a while, or let it continue."""
        assert self._process is not None
        self._process.send_signal(number)

    def stop(self) -> None:
        """Kill the process; its files are the caller's."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def write_settings(file: Path, settings: Mapping[str, str]) -> None:
    """Write a file as Hadoop's and Hive's programs read it."""
    rows = "".join(
        f"<property><name>{escape(name)}</name><value>{escape(value)}</value></property>\n"
        for name, value in settings.items()
    )
    file.write_text(f"<configuration>\n{rows}</configuration>\n")


def serve(
    command: Sequence[str], port: int, log: Path, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start a server in the folder of its log, and wait until its port answers; raises with the end of the log."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            cwd=log.parent,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    wait_for_port(process, port, log)
    return process


def wait_for_port(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Wait until a server that was started answers; otherwise kill it, and raise with the end of its log."""
    deadline = time.monotonic() + MOST_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("localhost", port)) == 0:
                return
        time.sleep(0.1)
    process.kill()
    process.wait()
    raise RuntimeError(f"no answer at port {port}:\n{log.read_text()[-4000:]}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return int(probe.getsockname()[1])
