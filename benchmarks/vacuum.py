"""What a vacuum costs the kernel: seconds and memory, by what there is.

The kernel's own code runs on ports in memory, so that seconds and bytes are its own. Each case runs in a process of its
own. Memory is what the process has at most during the vacuum, above what it has before, with the table in it.

    make bench-vacuum

Two cases: many versions, of which each has changed ten partitions, and all of which are kept; and many directories to
delete one by one, because each lies beside one that is still needed. Both must grow with what is there, and no faster.
"""

from __future__ import annotations

import argparse
import datetime
import gc
import subprocess
import sys
import time
from pathlib import Path

from lakemerge.kernel import HiveColumn, Kernel, Ports, TableDefinition, TableName, Transaction, vacuum
from lakemerge.testing import memory_ports

NAME = TableName("default", "t")
CHANGED = 10


def stage(kernel: Kernel, transaction: Transaction, partitions: range) -> int:
    for number in partitions:
        kernel.files.write_text(f"{transaction.stage_directory}/p={number}/part-0.orc", "rows")
    transaction.add_staged()
    return transaction.commit()


def create(partitions: int) -> Kernel:
    kernel = Kernel(memory_ports())
    columns, keys = (HiveColumn("id", "bigint"),), (HiveColumn("p", "int"),)
    stage(kernel, kernel.create(TableDefinition(NAME, columns, keys)), range(partitions))
    return kernel


def of_versions(partitions: int, versions: int) -> tuple[Kernel, datetime.timedelta]:
    """A table of so many versions, all of them young."""
    kernel = create(partitions)
    for number in range(1, versions):
        first = number * CHANGED % partitions
        stage(kernel, kernel.begin(NAME, "insert_overwrite"), range(first, first + CHANGED))
    return kernel, datetime.timedelta(days=7)


def of_items(items: int) -> tuple[Kernel, datetime.timedelta]:
    """A table of one partition more than were all superseded by its second version."""
    kernel = create(items + 1)
    stage(kernel, kernel.begin(NAME, "insert_overwrite"), range(items))
    return kernel, datetime.timedelta(0)


def memory(kind: str) -> float:
    """The MiB that this process has now (``VmRSS``), or has had at most (``VmHWM``)."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(kind))


def measure(case: str, sizes: list[int]) -> None:
    kernel, retention = of_versions(*sizes) if case == "versions" else of_items(*sizes)
    # a process that has read nothing yet
    kernel = Kernel(Ports(kernel.metastore, kernel.files, kernel.row_files, kernel.clock, kernel.host))
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # its peak counts from here on
    before, began = memory("VmRSS"), time.process_time()
    found = vacuum(kernel, NAME, retention=retention, allow_short_retention=True)
    seconds = time.process_time() - began
    size = " of ".join(f"{size:,}" for size in reversed(sizes))
    print(f"| {case} | {size} | {len(found):,} | {seconds:.1f} | {memory('VmHWM') - before:,.0f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", choices=["versions", "items"])
    parser.add_argument("sizes", nargs="*", type=int)
    args = parser.parse_args()
    if args.case:
        measure(args.case, args.sizes)
        return
    print("| case | how many, of how many partitions | to delete | CPU s | MiB |")
    print("|---|---|---|---|---|", flush=True)
    for case, *sizes in (
        ("versions", "1000", "1000"),
        ("versions", "10000", "100"),
        ("versions", "10000", "1000"),
        ("items", "4000"),
        ("items", "8000"),
        ("items", "40000"),
    ):
        subprocess.run([sys.executable, __file__, "--case", case, *sizes], check=True)


if __name__ == "__main__":
    main()
