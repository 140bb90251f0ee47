"""The commit kernel: versions of plain Hive tables, published by moving locations.

It knows neither dbt nor Spark SQL, and of the outside world only its ports. This is all that the rest of the project
uses of it; who puts another world in the place of Hive's finds that in :mod:`lakemerge.kernel.ports`.
"""

from lakemerge.kernel.changes import last_change
from lakemerge.kernel.compaction import Group, groups_to_merge
from lakemerge.kernel.definition import (
    COMMIT_COLUMN_TYPE,
    TEXT,
    VERSION,
    TableDefinition,
    check_supported,
    file_format_of,
    needs_new_row,
    same_keys,
    with_parameters,
    without_spark_schema,
)
from lakemerge.kernel.filesystem import FileEntry, FileSystem
from lakemerge.kernel.garbage import vacuum
from lakemerge.kernel.jvm import JAVA_ERRORS, Jvm, ports_of
from lakemerge.kernel.kernel import Kernel
from lakemerge.kernel.layout import Layout, normal
from lakemerge.kernel.manifest import (
    ALTERATION,
    COMPACTION,
    LEDGER_RESET,
    WHOLE_TABLE,
    Manifest,
    PartitionState,
)
from lakemerge.kernel.manifests import read_manifest
from lakemerge.kernel.metastore import HiveColumn, HivePartition, HiveTable, Metastore, ValueChanged
from lakemerge.kernel.names import DEFAULT_PARTITION, TableName, escape, partition_name, partition_values
from lakemerge.kernel.operations import drop, history
from lakemerge.kernel.pins import Pin, remove_pin, set_pin
from lakemerge.kernel.ports import Ports
from lakemerge.kernel.row_files import RowFile
from lakemerge.kernel.settings import Settings
from lakemerge.kernel.side_tables import SIDE_TABLES, SideTables
from lakemerge.kernel.state import TableState, state_of
from lakemerge.kernel.system import from_milliseconds, new_transaction_id, timestamp
from lakemerge.kernel.transaction import Transaction

__all__ = [
    "ALTERATION",
    "COMMIT_COLUMN_TYPE",
    "COMPACTION",
    "DEFAULT_PARTITION",
    "JAVA_ERRORS",
    "LEDGER_RESET",
    "SIDE_TABLES",
    "TEXT",
    "VERSION",
    "WHOLE_TABLE",
    "FileEntry",
    "FileSystem",
    "Group",
    "HiveColumn",
    "HivePartition",
    "HiveTable",
    "Jvm",
    "Kernel",
    "Layout",
    "Manifest",
    "Metastore",
    "PartitionState",
    "Pin",
    "Ports",
    "RowFile",
    "Settings",
    "SideTables",
    "TableDefinition",
    "TableName",
    "TableState",
    "Transaction",
    "ValueChanged",
    "check_supported",
    "drop",
    "escape",
    "file_format_of",
    "from_milliseconds",
    "groups_to_merge",
    "history",
    "last_change",
    "needs_new_row",
    "new_transaction_id",
    "normal",
    "partition_name",
    "partition_values",
    "ports_of",
    "read_manifest",
    "remove_pin",
    "same_keys",
    "set_pin",
    "state_of",
    "timestamp",
    "vacuum",
    "with_parameters",
    "without_spark_schema",
]
