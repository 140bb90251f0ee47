"""What it costs an ingest to know which of the landed files it has read, by how many it has ever read.

The list of files lies on a file system in memory, so that bytes are counted exactly and seconds are Python's own:

    make bench-files

Each look finds ten new files beside those that were read before and still lie there: all of them, or the newest
thousand where the others were moved away. Then the ten are recorded, as a commit does it; mean of 16 in a row.
"""

from __future__ import annotations

import time

from lakemerge.ingest import FileLedger, ReadFile
from lakemerge.kernel import FileEntry, HiveColumn, Kernel, TableDefinition, TableName
from lakemerge.testing import MemoryFiles, World

NAME = TableName("default", "t")
BATCHES = 16
NEW = 10


class CountedFiles(MemoryFiles):
    """Counts bytes of texts."""

    read = written = 0

    def read_text(self, path: str) -> str:
        text = super().read_text(path)
        self.read += len(text.encode()) if "/files/" in path else 0
        return text

    def write_text(self, path: str, text: str) -> None:
        self.written += len(text.encode()) if "/files/" in path else 0
        super().write_text(path, text)


def landed(numbers: range) -> list[FileEntry]:
    return [
        FileEntry(
            f"hdfs://cluster/landing/orders/2026/part-{number:09}.csv", "", 1000 + number, number, False
        )
        for number in numbers
    ]


def record(kernel: Kernel, files: list[FileEntry], batch: int) -> None:
    txn = kernel.begin(NAME, "ingest")
    ledger = FileLedger.of(kernel.files, txn)
    ledger.record(txn, [ReadFile(file.path, file.size, file.modified, batch) for file in files])
    txn.commit()


def measure(count: int, staying: int) -> None:
    world = World()
    world.files = files = CountedFiles(world.timeline)
    kernel = Kernel(world.process())
    kernel.create(TableDefinition(NAME, (HiveColumn("a", "string"),))).commit()
    record(kernel, landed(range(count)), 1)
    files.read = files.written = 0
    looking = recording = 0.0
    for batch in range(BATCHES):
        end = count + (batch + 1) * NEW
        there = landed(range(end - staying - NEW, end))
        began = time.process_time()
        known = FileLedger.of(files, kernel.begin(NAME, "ingest")).compare(there)
        looked = time.process_time()
        record(kernel, [entry for entry in there if entry.path not in known], batch + 2)
        looking += looked - began
        recording += time.process_time() - looked
    print(
        f"{count:>10,} {staying:>10,} {files.read / BATCHES:>14,.0f} {looking / BATCHES:>12.3f} "
        f"{files.written / BATCHES:>14,.0f} {recording / BATCHES:>12.3f}"
    )


def main() -> None:
    print("      read      there     bytes read  CPU s, look  bytes written  CPU s, record   (a batch)")
    for count, staying in ((10_000, 1_000), (10_000, 10_000), (1_000_000, 1_000), (1_000_000, 1_000_000)):
        measure(count, staying)


if __name__ == "__main__":
    main()
