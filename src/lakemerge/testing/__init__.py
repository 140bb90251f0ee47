"""The kernel's ports in memory: a metastore, files, a clock and processes, for tests that need no Java.

``Kernel(memory_ports())`` commits as it does on Hive, some hundred times a second. Each port keeps the same contract
as its real twin, and is held to it by the same tests.
"""

from lakemerge.testing.files import MemoryFiles
from lakemerge.testing.late import LateCalls, carry_out
from lakemerge.testing.metastore import MemoryMetastore
from lakemerge.testing.row_files import MemoryRowFiles
from lakemerge.testing.system import SimulatedClock, SimulatedHost, Timeline
from lakemerge.testing.world import World, memory_ports

__all__ = [
    "LateCalls",
    "MemoryFiles",
    "MemoryMetastore",
    "MemoryRowFiles",
    "SimulatedClock",
    "SimulatedHost",
    "Timeline",
    "World",
    "carry_out",
    "memory_ports",
]
