"""Soak: writers in processes of their own stream small commits into one table, while a consumer copies it.

Some of the processes are killed and started again. At the end every record must be in the table once, and in the copy
once, and the files must be few. Run by `make soak-ingest`; it ends with the figures.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from kernel.crowd import Crowd
from kernel.servers import MetastoreServer
from kernel.soak_worker import COPY, EVENTS, definition
from lakemerge.consumer import WorkingSet
from lakemerge.java import ensure_java
from lakemerge.kernel import Jvm, Kernel, TableName, ports_of
from lakemerge.kernel.maintenance.history import history

_SECONDS = 1800


class Soak:
    """The processes, and what is seen of the table meanwhile."""

    def __init__(self, folder: Path, jvm: Jvm, conf: dict[str, str], args: argparse.Namespace) -> None:
        self._folder, self._jvm, self._conf, self._args = folder, jvm, conf, args
        self._kernel = Kernel(ports_of(jvm))
        self._dice = random.Random(args.seed)
        self.roles = [*(f"writer-{number}" for number in range(args.writers)), "consumer"]
        self.crowd = Crowd("kernel.soak_worker", folder, self._job)
        self.kills: Counter[str] = Counter()
        self.reads = 0
        self.most_files = 0
        self._seen = 0

    def _job(self, role: str) -> dict[str, Any]:
        return {
            "conf": self._conf,
            "role": role,
            "commits": self._args.commits // self._args.writers,
            "records": self._args.records,
            "log": str(self._folder / f"{role}.log"),
            "done": str(self._folder / "done"),
        }

    def run(self) -> None:
        """Start all, kill some and start these again, look at the table, until all are done."""
        deadline = time.monotonic() + _SECONDS
        self.crowd.start(self.roles)
        processes = self.crowd.processes
        next_kill = next_word = time.monotonic() + self._args.kill_every
        while processes and time.monotonic() < deadline:
            time.sleep(0.5)
            self.look()
            if time.monotonic() > next_kill and sum(self.kills.values()) < self._args.kills:
                role = self._dice.choice(list(processes))
                self.crowd.kill(role)
                self.kills[role.partition("-")[0]] += 1
                next_kill = time.monotonic() + self._args.kill_every
            self._collect()
            if time.monotonic() > next_word:
                alive, kills = ", ".join(processes), sum(self.kills.values())
                print(f"{self._seen} records in {self.reads} reads; {kills} killed; {alive}", file=sys.stderr)
                next_word += 10
        assert not processes, f"not done within {_SECONDS} s: {list(processes)}"

    def _collect(self) -> None:
        self.crowd.start(self.crowd.collect())
        if list(self.crowd.processes) == ["consumer"]:
            (self._folder / "done").touch()

    def look(self) -> None:
        """Read the newest version: whole commits, and never fewer rows than before."""
        state = self._kernel.open(EVENTS)
        manifest = self._kernel.manifest(state)
        files = [
            entry.path
            for partition in manifest.partitions.values()
            for entry in self._kernel.files.list(state.layout.absolute(partition.location))
        ]
        rows = sum(self._rows(path) for path in files)
        assert rows % self._args.records == 0, f"{rows} rows are no whole commits"
        assert rows >= self._seen, f"{rows} rows after {self._seen}"
        self._seen = rows
        self.reads += 1
        self.most_files = max(self.most_files, len(files))

    def _rows(self, path: str) -> int:
        java = self._jvm.java
        options = java.org.apache.orc.OrcFile.readerOptions(self._jvm.hadoop_conf)
        reader = java.org.apache.orc.OrcFile.createReader(java.org.apache.hadoop.fs.Path(path), options)
        try:
            return int(reader.getNumberOfRows())
        finally:
            reader.close()


def counts(kernel: Kernel, name: TableName) -> Counter[tuple[int, int, int]]:
    """How often each record is in a table, read by Spark from where the metastore says."""
    from pyspark.sql import SparkSession

    from kernel.support import locations

    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    frame = (
        spark.read.orc(list(locations(kernel, name).values())).groupBy("writer", "batch", "number").count()
    )
    return Counter({(row[0], row[1], row[2]): row[3] for row in frame.collect()})


def report(soak: Soak, kernel: Kernel, folder: Path, args: argparse.Namespace, seconds: float) -> None:
    commits = history(kernel, EVENTS)
    kinds = Counter(commit.operation for commit in commits)
    lines = [line.split() for path in folder.glob("writer-*.log") for line in path.read_text().splitlines()]
    took = sorted(float(line[1]) for line in lines)
    taken = [int(line) for line in (folder / "consumer.log").read_text().splitlines()]
    newest = commits[0]
    print(
        f"{kinds['append']} commits of {args.records} records by {args.writers} writers in {seconds:.0f} s "
        f"({kinds['append'] / seconds:.1f} a second), {sum(soak.kills.values())} processes killed {dict(soak.kills)}"
    )
    print(
        f"commit: median {statistics.median(took):.2f} s, 95 % within {took[int(len(took) * 0.95)]:.2f} s "
        "(four processes on the same cores; a compaction is part of the commit that it follows)"
    )
    print(
        f"files: {newest.total_files} at the end, {soak.most_files} at most, without compaction "
        f"{2 * kinds['append']}; {kinds['compact']} compactions"
    )
    print(
        f"consumer: {sum(taken)} partitions in {len(taken)} runs that were not killed; {soak.reads} reads, none torn"
    )
    print("every record is in the table once, and in the consumer's copy once")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", type=int, default=200)
    parser.add_argument("--writers", type=int, default=4)
    parser.add_argument("--records", type=int, default=100)
    parser.add_argument("--kills", type=int, default=8)
    parser.add_argument("--kill-every", type=float, default=6.0)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    ensure_java()
    with tempfile.TemporaryDirectory(prefix="soak-") as name:
        folder = Path(name)
        server = MetastoreServer(folder, transaction_tables=False).start()
        try:
            jvm = Jvm.launch(server.client_conf)
            kernel = Kernel(ports_of(jvm))
            for table in (EVENTS, COPY):
                kernel.create(definition(table)).commit()
            soak = Soak(folder, jvm, server.client_conf, args)
            began = time.monotonic()
            try:
                soak.run()
            finally:
                soak.crowd.end()
            seconds = time.monotonic() - began
            expected = Counter(
                (writer, batch, row)
                for writer in range(args.writers)
                for batch in range(1, args.commits // args.writers + 1)
                for row in range(args.records)
            )
            for table in (EVENTS, COPY):
                kernel.recover(table)
                found = counts(kernel, table)
                assert found == expected, (
                    f"{table}: {len(expected - found)} lost, {len(found - expected)} doubled"
                )
            assert soak.most_files <= 120, f"{soak.most_files} files"
            rows = WorkingSet(kernel, COPY).read().rows
            assert {row.state for one in rows.values() for row in one.values()} == {"processed"}
            report(soak, kernel, folder, args, seconds)
        finally:
            server.stop()


if __name__ == "__main__":
    main()
