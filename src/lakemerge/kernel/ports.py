"""Everything outside of the kernel that it works on."""

from __future__ import annotations

from dataclasses import dataclass, field

from lakemerge.kernel.filesystem import FileSystem
from lakemerge.kernel.metastore import Metastore
from lakemerge.kernel.row_files import RowFiles
from lakemerge.kernel.system import Clock, Host, SystemClock, SystemHost


@dataclass(frozen=True)
class Ports:
    """The outside world of one process. :func:`lakemerge.kernel.jvm.ports_of` has the real one."""

    metastore: Metastore
    files: FileSystem
    row_files: RowFiles
    clock: Clock = field(default_factory=SystemClock)
    host: Host = field(default_factory=SystemHost)
