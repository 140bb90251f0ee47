"""The commit kernel: versions of plain Hive tables, published by moving locations.

It knows neither dbt nor Spark SQL, and of the outside world only its ports. This is all that the rest of the project
uses of it; what to implement for another world than Hive's is in :mod:`lakemerge.kernel.ports`.
"""

from lakemerge.kernel.commit.on_read import add_overlay, mark_folded, only_moved_since, remove_overlay
from lakemerge.kernel.commit.reads import changes_rows
from lakemerge.kernel.commit.retiring import mark_settled, retire_folded, retire_unread
from lakemerge.kernel.commit.spelling import new_spelling, set_spelling
from lakemerge.kernel.commit.suspension import leave, resume, suspend
from lakemerge.kernel.commit.transaction import Transaction
from lakemerge.kernel.jvm import HDFS_CLIENT, JAVA_ERRORS, Jvm, ports_of
from lakemerge.kernel.kernel import Kernel, ReadOnlyKernel
from lakemerge.kernel.maintenance.committed_tables import committed_tables
from lakemerge.kernel.maintenance.compaction_log import CompactionLog, CompactionRecord
from lakemerge.kernel.maintenance.drop import drop
from lakemerge.kernel.maintenance.find_version import find_version, reference_of
from lakemerge.kernel.maintenance.freshness import last_change
from lakemerge.kernel.maintenance.history import commits_of, each_version, history, newest_commit
from lakemerge.kernel.maintenance.instant import as_of_group
from lakemerge.kernel.maintenance.pins import Pin, remove_pin, set_pin
from lakemerge.kernel.maintenance.small_files import (
    Group,
    SmallFiles,
    batches,
    beside,
    group_of,
    groups_to_merge,
    partitions_to_pack,
    still_there,
    within,
)
from lakemerge.kernel.maintenance.staged import Waiting, discard_left, staged_versions
from lakemerge.kernel.maintenance.tag_tables import drop_tag_table, make_tag_table
from lakemerge.kernel.maintenance.tiers import tier_of
from lakemerge.kernel.maintenance.vacuum import held_by, vacuum
from lakemerge.kernel.ports import Ports
from lakemerge.kernel.ports.filesystem import FileEntry, FileSystem, Fingerprint
from lakemerge.kernel.ports.metastore import HiveColumn, HivePartition, HiveTable, Metastore, ValueChanged
from lakemerge.kernel.ports.names import (
    DEFAULT_PARTITION,
    TableName,
    escape,
    partition_name,
    partition_values,
)
from lakemerge.kernel.ports.row_files import RowFile
from lakemerge.kernel.ports.system import from_milliseconds, new_transaction_id, timestamp
from lakemerge.kernel.settings import Settings
from lakemerge.kernel.table.definition import (
    COMMIT_COLUMN_TYPE,
    TAG_OF,
    TEXT,
    VERSION,
    TableDefinition,
    check_supported,
    file_format_of,
    needs_new_row,
    same_keys,
    with_parameters,
)
from lakemerge.kernel.table.layout import Layout, normal
from lakemerge.kernel.table.manifest import (
    ALTERATION,
    COMPACTION,
    LEDGER_RESET,
    WHOLE_TABLE,
    WRITE_MODE,
    Manifest,
    PartitionState,
    Reference,
)
from lakemerge.kernel.table.manifests import read_commit, read_manifest
from lakemerge.kernel.table.overlay import (
    DELTA_NAME,
    DELTAS,
    FOLDED,
    NAMED,
    Overlay,
    find_row,
    is_overlay_view,
    model_name,
    view_over_base,
)
from lakemerge.kernel.table.side_tables import DELETED, ORDER, PUBLISHED_OF, SIDE_TABLES, check_side_table
from lakemerge.kernel.table.spark_schema import respelled, spelled, spelling_of
from lakemerge.kernel.table.state import TableState, state_of

__all__ = [
    "ALTERATION",
    "COMMIT_COLUMN_TYPE",
    "COMPACTION",
    "DEFAULT_PARTITION",
    "DELETED",
    "DELTAS",
    "DELTA_NAME",
    "FOLDED",
    "HDFS_CLIENT",
    "JAVA_ERRORS",
    "LEDGER_RESET",
    "NAMED",
    "ORDER",
    "PUBLISHED_OF",
    "SIDE_TABLES",
    "TAG_OF",
    "TEXT",
    "VERSION",
    "WHOLE_TABLE",
    "WRITE_MODE",
    "CompactionLog",
    "CompactionRecord",
    "FileEntry",
    "FileSystem",
    "Fingerprint",
    "Group",
    "HiveColumn",
    "HivePartition",
    "HiveTable",
    "Jvm",
    "Kernel",
    "Layout",
    "Manifest",
    "Metastore",
    "Overlay",
    "PartitionState",
    "Pin",
    "Ports",
    "ReadOnlyKernel",
    "Reference",
    "RowFile",
    "Settings",
    "SmallFiles",
    "TableDefinition",
    "TableName",
    "TableState",
    "Transaction",
    "ValueChanged",
    "Waiting",
    "add_overlay",
    "as_of_group",
    "batches",
    "beside",
    "changes_rows",
    "check_side_table",
    "check_supported",
    "commits_of",
    "committed_tables",
    "discard_left",
    "drop",
    "drop_tag_table",
    "each_version",
    "escape",
    "file_format_of",
    "find_row",
    "find_version",
    "from_milliseconds",
    "group_of",
    "groups_to_merge",
    "held_by",
    "history",
    "is_overlay_view",
    "last_change",
    "leave",
    "make_tag_table",
    "mark_folded",
    "mark_settled",
    "model_name",
    "needs_new_row",
    "new_spelling",
    "new_transaction_id",
    "newest_commit",
    "normal",
    "only_moved_since",
    "partition_name",
    "partition_values",
    "partitions_to_pack",
    "ports_of",
    "read_commit",
    "read_manifest",
    "reference_of",
    "remove_overlay",
    "remove_pin",
    "respelled",
    "resume",
    "retire_folded",
    "retire_unread",
    "same_keys",
    "set_pin",
    "set_spelling",
    "spelled",
    "spelling_of",
    "staged_versions",
    "state_of",
    "still_there",
    "suspend",
    "tier_of",
    "timestamp",
    "vacuum",
    "view_over_base",
    "with_parameters",
    "within",
]
