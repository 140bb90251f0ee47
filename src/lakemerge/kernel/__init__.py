"""The commit kernel: versions of plain Hive tables, published by moving locations.

It knows neither dbt nor Spark SQL, and of the outside world only its ports.
"""

from lakemerge.kernel.definition import TableDefinition
from lakemerge.kernel.filesystem import FileEntry, FileSystem
from lakemerge.kernel.jvm import Jvm, ports_of
from lakemerge.kernel.kernel import Kernel
from lakemerge.kernel.manifest import Manifest, PartitionState
from lakemerge.kernel.metastore import HiveColumn, HivePartition, HiveTable, Metastore
from lakemerge.kernel.names import TableName
from lakemerge.kernel.ports import Ports
from lakemerge.kernel.settings import Settings
from lakemerge.kernel.transaction import Transaction

__all__ = [
    "FileEntry",
    "FileSystem",
    "HiveColumn",
    "HivePartition",
    "HiveTable",
    "Jvm",
    "Kernel",
    "Manifest",
    "Metastore",
    "PartitionState",
    "Ports",
    "Settings",
    "TableDefinition",
    "TableName",
    "Transaction",
    "ports_of",
]
