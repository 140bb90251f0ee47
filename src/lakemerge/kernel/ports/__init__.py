"""Everything outside the kernel that it works on: the interfaces to implement to run it in another world."""

from __future__ import annotations

from dataclasses import dataclass, field

from lakemerge.kernel.ports.filesystem import FileEntry, FileSystem, Fingerprint
from lakemerge.kernel.ports.metastore import (
    DDL_TIME,
    HiveColumn,
    HivePartition,
    HiveTable,
    Metastore,
    Refused,
    ReplyLost,
    Storage,
    TableSummary,
    ValueChanged,
)
from lakemerge.kernel.ports.row_files import RowFile, RowFiles
from lakemerge.kernel.ports.system import Clock, Host, Owner, SystemClock, SystemHost

__all__ = [
    "DDL_TIME",
    "Clock",
    "FileEntry",
    "FileSystem",
    "Fingerprint",
    "HiveColumn",
    "HivePartition",
    "HiveTable",
    "Host",
    "Metastore",
    "Owner",
    "Ports",
    "Refused",
    "ReplyLost",
    "RowFile",
    "RowFiles",
    "Storage",
    "TableSummary",
    "ValueChanged",
]


@dataclass(frozen=True)
class Ports:
    """The outside world of one process. :func:`lakemerge.kernel.jvm.ports_of` has the real one."""

    metastore: Metastore
    files: FileSystem
    row_files: RowFiles
    clock: Clock = field(default_factory=SystemClock)
    host: Host = field(default_factory=SystemHost)
