"""The commit kernel: versions of plain Hive tables, published by moving locations.

It knows neither dbt nor Spark SQL; it needs a JVM with Hadoop's and Hive's client classes.
"""

from lakemerge.kernel.definition import TableDefinition
from lakemerge.kernel.filesystem import FileSystem
from lakemerge.kernel.jvm import Jvm
from lakemerge.kernel.kernel import Kernel, Settings
from lakemerge.kernel.manifest import Manifest, PartitionState
from lakemerge.kernel.metastore import HiveColumn, HiveTable, Metastore
from lakemerge.kernel.names import TableName
from lakemerge.kernel.transaction import Transaction

__all__ = [
    "FileSystem",
    "HiveColumn",
    "HiveTable",
    "Jvm",
    "Kernel",
    "Manifest",
    "Metastore",
    "PartitionState",
    "Settings",
    "TableDefinition",
    "TableName",
    "Transaction",
]
