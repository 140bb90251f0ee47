"""The door to Java: a py4j gateway and a Hadoop configuration.

The kernel needs a JVM with Hadoop's and Hive's client classes, not a Spark session. Inside dbt it is
handed Spark's own JVM; tools and tests start a bare one from pyspark's jars in under a second.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from py4j import protocol
from py4j.java_gateway import GatewayParameters, JavaGateway, JavaMember, JavaPackage, launch_gateway
from py4j.protocol import Py4JJavaError, Py4JNetworkError
from pyspark.errors.exceptions.captured import CapturedException

from lakemerge.java import ensure_java
from lakemerge.kernel.jvm.hive_classes import HiveClasses

#: What a Java call raises: py4j's error, or what pyspark puts in its place for the exceptions that it knows
#: (IllegalArgumentException among them) once a Spark session has been started in this process.
JAVA_ERRORS = (Py4JJavaError, CapturedException)
#: What a call raises if it did not reach Java or was not answered, because Java has ended.
LOST_CALL = (Py4JNetworkError, ConnectionError)

_JAVA_OPTIONS = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    # pyspark ships no disruptor jar, without which Hive's default asynchronous logging cannot start
    "-Dlog4j2.contextSelector=org.apache.logging.log4j.core.selector.ClassLoaderContextSelector",
    "-Dhive.async.log.enabled=false",
    "-Dderby.stream.error.field=java.lang.System.err",
)

# Spark changes Hive's default here, because it ships no BoneCP. If the clients of an embedded metastore differ in any
# such property, it makes its persistence layer anew whenever another of them comes. Each time this costs a second of
# CPU and some full garbage collections.
_POOLING = "datanucleus.connectionPoolingType"

#: Settings of HDFS's client. It answers the first wish to close a file by "not yet", and its client then sleeps for
#: 400 ms. So it is asked sooner and more often: after 20 ms, then twice as long each time, for 20 s in all.
HDFS_CLIENT: Mapping[str, str] = {
    "dfs.client.block.write.locateFollowingBlock.initial.delay.ms": "20",
    "dfs.client.block.write.locateFollowingBlock.retries": "10",
}

# What comes from another process, such as a NameNode, has the stack trace of that process in its message.
_STACK = re.compile(r"\n\s+at .*", re.DOTALL)

_METASTORE_URIS = "hive.metastore.uris"
_METASTORE_URL = "javax.jdo.option.ConnectionURL"
# Spark also forces these on every Derby that it opens itself, because Hive by default makes no tables in an empty
# database.
_EMBEDDED_DERBY = {"datanucleus.schema.autoCreateAll": "true", "hive.metastore.schema.verification": "false"}


class _Names:
    """A Java package whose members are looked up once: py4j asks Java for each part of a name, each time."""

    def __init__(self, package: Any) -> None:
        self._package = package

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._package, name)
        member = _Names(found) if isinstance(found, JavaPackage) else found
        setattr(self, name, member)
        return member


@dataclass(frozen=True)
class Jvm:
    """A py4j gateway, the Hadoop configuration of file systems and metastore clients, and Hive's classes."""

    gateway: JavaGateway
    hadoop_conf: Any
    hive: HiveClasses

    @cached_property
    def java(self) -> Any:
        """The root of all Java packages."""
        return _Names(self.gateway.jvm)

    @classmethod
    def of_spark(cls, spark: Any) -> Jvm:
        """The JVM of a running ``SparkSession``, with the Hadoop configuration of that session."""
        conf = spark._jsparkSession.sessionState().newHadoopConf()
        if conf.get(_POOLING) in (None, "BONECP"):
            conf.set(_POOLING, "DBCP")
        jvm = cls(spark.sparkContext._gateway, conf, HiveClasses.of_spark(spark))
        if jvm.embeds_derby:
            for name, value in _EMBEDDED_DERBY.items():
                conf.set(name, value)
        return jvm

    @property
    def embeds_derby(self) -> bool:
        """Whether a metastore client of this configuration opens a Derby database itself, as Spark's client decides."""
        hive_conf = self.hive_conf()
        uris, url = (str(hive_conf.get(name) or "") for name in (_METASTORE_URIS, _METASTORE_URL))
        return not uris.strip() and url.startswith("jdbc:derby")

    def hive_conf(self) -> Any:
        """A ``HiveConf`` of this configuration: with hive-site.xml and Hive's defaults below it."""
        return self.hive.conf(self.hadoop_conf)

    @classmethod
    def launch(
        cls, conf: Mapping[str, str], *, java_options: tuple[str, ...] = (), quiet: bool = True
    ) -> Jvm:
        """Start a bare JVM on pyspark's jars; it ends with this process.

        Like Hadoop's own programs it adds what the variable ``HADOOP_CLASSPATH`` names, such as the jars of a store; if
        there is ``HADOOP_USER_CLASSPATH_FIRST``, before its own, such as the jars of another Hive.

        Args:
            conf: Hadoop and Hive settings, ``hive.metastore.uris`` or ``javax.jdo.option.ConnectionURL`` among them.
            java_options: further options of the JVM.
            quiet: drop what Java writes to its standard output and error.
        """
        import pyspark

        jars = [str(Path(pyspark.__file__).parent / "jars" / "*")]
        if more := os.environ.get("HADOOP_CLASSPATH"):
            jars.insert(0 if "HADOOP_USER_CLASSPATH_FIRST" in os.environ else 1, more)
        sink = Path(os.devnull).open("w") if quiet else None  # noqa: SIM115 - the JVM's for as long as it lives
        port, token = launch_gateway(
            classpath=os.pathsep.join(jars),
            java_path=str(ensure_java() / "bin" / "java"),
            javaopts=[*_JAVA_OPTIONS, *java_options],
            die_on_exit=True,
            enable_auth=True,
            redirect_stdout=sink,
            redirect_stderr=sink,
        )
        gateway = JavaGateway(
            gateway_parameters=GatewayParameters(port=port, auth_token=token, auto_convert=True)
        )
        configuration = gateway.jvm.org.apache.hadoop.conf.Configuration()
        for key, value in {**HDFS_CLIENT, **conf}.items():
            configuration.set(key, value)
        return cls(gateway, configuration, HiveClasses.of_class_path(gateway))


def call_java(method: JavaMember, *arguments: Any) -> Any:
    """Call a method of Java's that raises where it is no error: there is no such table, or file.

    This avoids pyspark, which puts itself between py4j and each caller. To give Spark's exceptions classes of Python,
    pyspark asks Java for the class of every exception with some ninety calls, which take ten times as long as the call
    itself.

    Raises:
        Py4JJavaError: whatever Java raises.
    """
    text, temporary = method._build_args(*arguments)
    command = protocol.CALL_COMMAND_NAME + method.command_header + text + protocol.END_COMMAND_PART
    client = method.gateway_client
    answer = client.send_command(command)
    value = protocol.get_return_value(answer, client, method.target_id, method.name)
    for one in temporary:
        if hasattr(one, "_detach"):
            one._detach()
    return value


def java_exception(error: BaseException) -> tuple[str, str]:
    """The simple class name and the message of the Java exception behind one of :data:`JAVA_ERRORS`."""
    if isinstance(error, Py4JJavaError):
        cause = error.java_exception
    elif isinstance(error, CapturedException) and error._origin is not None:
        cause = error._origin
    else:
        return type(error).__name__, str(error)
    try:
        kind = str(cause.getClass().getSimpleName())
        if kind == "InvocationTargetException":  # of a constructor that was called by reflection
            cause = cause.getCause()
            kind = str(cause.getClass().getSimpleName())
        return kind, _STACK.sub("", str(cause.getMessage()))
    except LOST_CALL as lost:  # Java has ended since it raised
        return type(error).__name__, str(lost)
