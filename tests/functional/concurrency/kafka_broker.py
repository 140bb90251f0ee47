"""A real Kafka broker in a process of its own, from Maven's jars, and what tests do to its topics."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway, JavaMember, launch_gateway
from py4j.protocol import STATIC_PREFIX

from bounded import MOST_SECONDS
from kernel.servers import free_port
from lakemerge.java import ensure_java

_KAFKA = ("org.apache.kafka", "kafka_2.13", "3.9.1")
_PYSPARK_JARS = Path(pyspark.__file__).parent / "jars"
_OPTIONS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx384m")
_START_SECONDS = 120
_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@localhost:{controller}
listeners=PLAINTEXT://localhost:{port},CONTROLLER://localhost:{controller}
advertised.listeners=PLAINTEXT://localhost:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={directory}/data
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
"""


class KafkaBroker:
    """One broker that is its own controller, and a client of it.

    Args:
        directory: for its jars, its data and its log.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._port, controller = free_port(), free_port()
        self.servers = f"localhost:{self._port}"
        self._java = str(ensure_java() / "bin" / "java")
        self._configuration = directory / "server.properties"
        self._configuration.write_text(
            _PROPERTIES.format(port=self._port, controller=controller, directory=directory)
        )
        self._process: subprocess.Popen[bytes] | None = None
        self._gateway: Any = None

    def start(self) -> KafkaBroker:
        """Fetch the jars, start the process, and wait until its port answers."""
        jars = self._directory / "jars"
        # Ivy comes with pyspark, and keeps what it has fetched in its own cache
        wanted = ["-dependency", *_KAFKA, "-types", "jar", "bundle"]
        place = f"{jars}/[artifact]-[revision].[ext]"
        self._run(f"{_PYSPARK_JARS}/*", "org.apache.ivy.Main", *wanted, "-retrieve", place)
        classpath = f"{jars}/*"
        storage = ["format", "-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c", str(self._configuration)]
        self._run(classpath, "kafka.tools.StorageTool", *storage)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [self._java, *_OPTIONS, "-cp", classpath, "kafka.Kafka", str(self._configuration)],
                cwd=self._directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        try:
            self._wait()
            self._connect(classpath)
        except BaseException:
            self.stop()
            raise
        return self

    def _connect(self, classpath: str) -> None:
        port, token = launch_gateway(
            classpath=os.pathsep.join([classpath, *map(str, _PYSPARK_JARS.glob("py4j-*.jar"))]),
            javaopts=["-Xmx128m", *_OPTIONS[:2]],
            java_path=self._java,
            die_on_exit=True,
            enable_auth=True,
            redirect_stderr=subprocess.DEVNULL,
            redirect_stdout=subprocess.DEVNULL,
        )
        self._gateway = JavaGateway(
            gateway_parameters=GatewayParameters(port=port, auth_token=token, auto_convert=True)
        )
        self._admin = self._gateway.jvm.org.apache.kafka.clients.admin.Admin.create(self._properties())
        self._producer = self._new_producer()

    def _properties(self, **more: str) -> Any:
        properties = self._gateway.jvm.java.util.Properties()
        for name, value in {
            "bootstrap.servers": self.servers,
            "key.serializer": "org.apache.kafka.common.serialization.ByteArraySerializer",
            "value.serializer": "org.apache.kafka.common.serialization.ByteArraySerializer",
            **more,
        }.items():
            properties.setProperty(name, value)
        return properties

    def _new_producer(self, **properties: str) -> Any:
        return self._gateway.jvm.org.apache.kafka.clients.producer.KafkaProducer(
            self._properties(**properties)
        )

    @property
    def _log(self) -> Path:
        return self._directory / "broker.log"

    def _run(self, classpath: str, program: str, *arguments: str) -> None:
        command = [self._java, *_OPTIONS, "-cp", classpath, program, *arguments]
        done = subprocess.run(
            command, cwd=self._directory, capture_output=True, text=True, timeout=MOST_SECONDS, check=False
        )
        assert done.returncode == 0, f"{program}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"

    def _wait(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("localhost", self._port)) == 0:
                    return
            time.sleep(0.1)
        raise RuntimeError(f"the broker did not start:\n{self._log.read_text()[-4000:]}")

    def stop(self) -> None:
        """Kill the process; its files are the caller's."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        if self._gateway is not None:
            self._gateway.shutdown()
            self._gateway = None

    # -- topics --------------------------------------------------------------------------------

    def create(self, topic: str, partitions: int = 1) -> None:
        """Make a topic."""
        new = self._gateway.jvm.org.apache.kafka.clients.admin.NewTopic(topic, partitions, 1)
        self._admin.createTopics([new]).all().get()

    def delete(self, topic: str) -> None:
        """Delete a topic."""
        self._admin.deleteTopics([topic]).all().get()

    def add_partitions(self, topic: str, total: int) -> None:
        """Give a topic more partitions."""
        new = self._gateway.jvm.org.apache.kafka.clients.admin.NewPartitions.increaseTo(total)
        self._admin.createPartitions({topic: new}).all().get()

    def send(self, topic: str, values: Iterable[str | bytes | None], partition: int = 0) -> None:
        """Write records, one after another; each is there when this returns."""
        self._send(self._producer, topic, values, partition)

    def _send(self, producer: Any, topic: str, values: Iterable[str | bytes | None], partition: int) -> None:
        record = self._gateway.jvm.org.apache.kafka.clients.producer.ProducerRecord
        for value in values:
            content: Any = value.encode() if isinstance(value, str) else value
            producer.send(record(topic, partition, None, content)).get()

    @contextmanager
    def transaction(self, topic: str, values: Iterable[str]) -> Iterator[Callable[[str], None]]:
        """Records of an open transaction; what is yielded ends it, by `commit` or `abort`."""
        # the broker gives up what is open for longer; by default a minute, in which Spark may not have started
        longest = {"transaction.timeout.ms": str(int(2 * MOST_SECONDS * 1000))}
        producer = self._new_producer(**{"transactional.id": topic, **longest})
        try:
            producer.initTransactions()
            producer.beginTransaction()
            self._send(producer, topic, values, 0)
            yield lambda way: getattr(producer, f"{way}Transaction")()
        finally:
            producer.close()

    def expire(self, topic: str, before: int, partition: int = 0) -> None:
        """Delete the records of a partition below an offset, as retention does."""
        place = self._gateway.jvm.org.apache.kafka.common.TopicPartition(topic, partition)
        # py4j does not look for a static method where an object's has the same name
        name = f"{STATIC_PREFIX}org.apache.kafka.clients.admin.RecordsToDelete"
        records = JavaMember("beforeOffset", None, name, self._gateway._gateway_client)(before)
        self._admin.deleteRecords({place: records}).all().get()
