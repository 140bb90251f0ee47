"""What a commit of one changed partition costs the kernel, by the number of partitions that its table has.

The kernel's own code runs on ports in memory, so that calls and bytes are counted exactly and seconds are its own:

    make bench-commit

Each figure is the mean of 16 commits in a row by one process, manifests that are whole among them. A commit reads all
partitions, as a merge does whose key does not tell the partition, or only the one that it changes.

With `--tables 2,5`: the time in which readers of several tables see a commit in some of them only, that is, between the
first and the last swap. It is measured on a real metastore: an embedded one, or the one whose address is given.
"""

from __future__ import annotations

import argparse
import statistics
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
    drop,
    ports_of,
)
from lakemerge.testing import MemoryFiles, Timeline, World

NAME = TableName("default", "t")
COMMITS = 16
# How many commits of several tables, and how many partitions each of them moves in each table.
COMMITS_OF_SEVERAL, PARTITIONS = 6, 10


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


def measure_tables(kernel: Kernel, steps: list[tuple[str, float]], count: int) -> None:
    """Print the milliseconds between the first and the last swap of commits over so many partitioned tables.

    Args:
        steps: gets the kernel's steps and their times.
    """
    names = [TableName("default", f"of_{count}_{number}") for number in range(count)]
    columns, keys = (HiveColumn("a", "string"),), (HiveColumn("p", "string"),)
    for name in names:
        txn = kernel.create(TableDefinition(name, columns, keys))
        stage(kernel, txn, range(PARTITIONS))
        txn.commit()
    windows = []
    for _ in range(COMMITS_OF_SEVERAL):
        txns = [kernel.begin(name, "merge") for name in names]
        for txn in txns:
            txn.read()
            stage(kernel, txn, range(PARTITIONS))
        steps.clear()
        kernel.commit_together(txns)
        swaps = [when for step, when in steps if step == "swapped"]
        assert len(swaps) == count, steps
        windows.append((swaps[-1] - swaps[0]) * 1000)
    for name in names:
        drop(kernel, name)
    median, most = statistics.median(windows), max(windows)
    print(
        f"{count:>6} {median:>12,.0f} {most:>12,.0f}   ({COMMITS_OF_SEVERAL} commits, {PARTITIONS} partitions a table)"
    )


def measure_several(counts: list[int], metastore: str, *, locks: bool) -> None:
    """Measure commits over several tables on a real metastore.

    Args:
        metastore: its address; empty for an embedded one.
        locks: take its locks, as where it does not compare and swap.
    """
    with tempfile.TemporaryDirectory() as root:
        embedded = {
            "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={root}/metastore_db;create=true",
            "datanucleus.schema.autoCreateAll": "true",
            "hive.metastore.schema.verification": "false",
            "hive.metastore.warehouse.dir": f"file:{root}/warehouse",
        }
        jvm = Jvm.launch({"hive.metastore.uris": metastore} if metastore else embedded)
        ports, steps = ports_of(jvm), list[tuple[str, float]]()
        if locks:
            ports.metastore.compares = False
        kernel = Kernel(ports, step=lambda step: steps.append((step, time.perf_counter())))
        print("tables    median ms      most ms   (between the first and the last swap)")
        for count in counts:
            measure_tables(kernel, steps, count)
        jvm.gateway.shutdown()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--java", action="store_true", help="measure listings through Java too")
    parser.add_argument("--tables", help="measure only commits over so many tables, such as 2,5")
    parser.add_argument(
        "--metastore", default="", help="of --tables: thrift://host:port; by default embedded"
    )
    parser.add_argument(
        "--locks", action="store_true", help="of --tables: as where it does not compare and swap"
    )
    args = parser.parse_args()
    if args.tables:
        measure_several([int(count) for count in args.tables.split(",")], args.metastore, locks=args.locks)
        return
    print("partitions reads   listings  bytes written     bytes read    CPU s   (a commit)")
    for partitions in (200, 10_000):
        for reads_all in (True, False):
            measure(partitions, reads_all=reads_all)
    if args.java:
        measure_java(200)


if __name__ == "__main__":
    main()
