"""What a commit of one changed partition costs the kernel, by the number of partitions that its table has.

The kernel's own code runs on ports in memory, so that calls and bytes are counted exactly and seconds are its own:

    make bench-commit

Each figure is the mean of 16 commits in a row by one process, manifests that are whole among them. A commit reads all
partitions, as a merge does whose key does not tell the partition, or only the one that it changes.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from lakemerge.kernel import (
    FileEntry,
    HiveColumn,
    Jvm,
    Kernel,
    TableDefinition,
    TableName,
    Transaction,
    ports_of,
)
from lakemerge.testing import MemoryFiles, Timeline, World

NAME = TableName("default", "t")
COMMITS = 16


class CountedFiles(MemoryFiles):
    """Counts listings of data and bytes of manifests."""

    def __init__(self, timeline: Timeline) -> None:
        super().__init__(timeline)
        self.forget()

    def forget(self) -> None:
        self.listings = self.written = self.read = 0

    def list(self, path: str) -> list[FileEntry]:
        self.listings += "/data/" in path
        return super().list(path)

    def write_text(self, path: str, text: str) -> None:
        self.written += len(text.encode()) if "/commits/" in path else 0
        super().write_text(path, text)

    def read_text(self, path: str) -> str:
        text = super().read_text(path)
        self.read += len(text.encode()) if "/commits/" in path else 0
        return text


def stage(kernel: Kernel, txn: Transaction, partitions: range) -> None:
    for number in partitions:
        kernel.files.write_text(f"{txn.stage_directory}/p={number:06}/part-0.orc", "rows")
    txn.add_staged()


def measure(partitions: int, *, reads_all: bool) -> None:
    world = World()
    world.files = files = CountedFiles(world.timeline)
    kernel = Kernel(world.process())
    txn = kernel.create(TableDefinition(NAME, (HiveColumn("a", "string"),), (HiveColumn("p", "string"),)))
    stage(kernel, txn, range(partitions))
    txn.commit()
    files.forget()
    began = time.process_time()
    for number in range(COMMITS):
        txn = kernel.begin(NAME, "merge")
        txn.read(None if reads_all else [f"p={number:06}"])
        stage(kernel, txn, range(number, number + 1))
        txn.commit()
    seconds = (time.process_time() - began) / COMMITS
    print(
        f"{partitions:>10,} {'all' if reads_all else 'one':>5} {files.listings / COMMITS:>10,.1f} "
        f"{files.written / COMMITS:>14,.0f} {files.read / COMMITS:>14,.0f} {seconds:>8.3f}"
    )


def measure_java(directories: int) -> None:
    """Seconds to look at directories of a local disk through Java, each alone and all together."""
    jvm = Jvm.launch({})
    files = ports_of(jvm).files
    with tempfile.TemporaryDirectory() as root:
        for number in range(directories):
            folder = Path(root) / f"p={number:06}"
            folder.mkdir()
            (folder / "part-0.orc").write_text("rows")
        paths = [files.qualify(f"{root}/p={number:06}") for number in range(directories)]
        looks: dict[str, Callable[[], object]] = {
            "each alone": lambda: [files.fingerprint(path) for path in paths],
            "together": lambda: files.fingerprints(paths),
        }
        for label, look in looks.items():
            look()  # Java is slow at what it does for the first time
            wall, cpu = time.perf_counter(), time.process_time()
            look()
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            print(f"{directories:,} directories {label}: {wall:.3f} s, of which Python's CPU {cpu:.3f} s")
    jvm.gateway.shutdown()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--java", action="store_true", help="measure listings through Java too")
    args = parser.parse_args()
    print("partitions reads   listings  bytes written     bytes read    CPU s   (a commit)")
    for partitions in (200, 10_000):
        for reads_all in (True, False):
            measure(partitions, reads_all=reads_all)
    if args.java:
        measure_java(200)


if __name__ == "__main__":
    main()
