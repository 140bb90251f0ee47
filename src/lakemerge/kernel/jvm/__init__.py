"""The ports, implemented by a JVM with Hadoop's and Hive's client classes."""

from lakemerge.kernel.jvm.files import HadoopFileSystem
from lakemerge.kernel.jvm.gateway import HDFS_CLIENT, JAVA_ERRORS, Jvm, java_exception
from lakemerge.kernel.jvm.metastore import HiveMetastore
from lakemerge.kernel.jvm.orc import OrcFiles
from lakemerge.kernel.ports import Ports
from lakemerge.kernel.ports.filesystem import FileSystem
from lakemerge.kernel.ports.metastore import Metastore


def ports_of(jvm: Jvm, *, metastore: Metastore | None = None, files: FileSystem | None = None) -> Ports:
    """The world as a JVM reaches it. Tests that make calls fail may replace some of the ports."""
    return Ports(metastore or HiveMetastore(jvm), files or HadoopFileSystem(jvm), OrcFiles(jvm))


__all__ = [
    "HDFS_CLIENT",
    "JAVA_ERRORS",
    "HadoopFileSystem",
    "HiveMetastore",
    "Jvm",
    "OrcFiles",
    "java_exception",
    "ports_of",
]
