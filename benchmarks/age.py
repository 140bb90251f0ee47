"""What a table's age costs: a thousand small merges into it, one after another, in CPU seconds by block of a hundred.

The table has 20,000 rows in 20 partitions. Each commit is a transaction that changes one row, so it rewrites one
partition; nothing is vacuumed meanwhile, and every manifest and every superseded file stays. After each commit the
table is read through the metastore, as any program does.

    plan   = look the table up, match the change with the stored rows, write the new files
    commit = from the staged files on until the new version is visible and settled
    read   = sum over one partition

A block must cost no more than the first ones did, and Java, which still compiles then, makes these dearer.

With ``--write-mode merge_on_read`` a commit adds a delta, and some commits are followed by a compaction: of ten deltas
to one, or of all into the base. That counts with the commit. Medians leave it out, so the mean is printed as well.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import lakemerge
from lakemerge.kernel import Kernel
from measure import Measured, cpu_seconds
from project import BenchProject

COMMITS, BLOCK = 1_000, 100
ROWS, PARTITIONS = 20_000, 20
# The last blocks may cost so many times what the cheapest one of the first half does.
_MOST = 1.5
MODEL = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', sequence_by='changed_at',
          partition_by='region', write_mode='WRITE_MODE') }}
select
    id,
    cast(0 as bigint) as changed_at,
    concat('customer ', id) as name,
    cast(pmod(xxhash64(id), 100000) / 100.0 as decimal(12, 2)) as credit,
    cast(id % PARTITIONS as int) as region
from range(ROWS)
"""
PROJECT = "name: bench\nprofile: bench\nmodel-paths: [models]\n"
TABLE = "bench.customers"


class Bench(BenchProject):
    """The table in a dbt project, and where its commits are at.

    Attributes:
        staged_at: this process's CPU seconds when the last merge had its files; 0 before.
    """

    def __init__(self, root: Path, write_mode: str) -> None:
        text = textwrap.dedent(MODEL).replace("WRITE_MODE", write_mode)
        text = text.replace("PARTITIONS", str(PARTITIONS)).replace("ROWS", str(ROWS))
        super().__init__(root, PROJECT, {"models/customers.sql": text})
        self.staged_at = 0.0
        Kernel.__init__.__kwdefaults__["step"] = self._on_step  # type: ignore[index]

    def _on_step(self, step: str) -> None:
        if step == "staged" and not self.staged_at:  # what it compacts afterwards is staged as well
            self.staged_at = cpu_seconds()

    def merge(self, number: int) -> tuple[float, float]:
        """Change one row; returns the CPU seconds of the plan and of the commit."""
        row: dict[str, Any] = {
            "id": number * 7919 % ROWS,
            "changed_at": number,
            "name": f"customer changed by {number}",
            "credit": None,
        }
        row["region"] = row["id"] % PARTITIONS
        self.staged_at = 0.0
        before = cpu_seconds()
        with lakemerge.transaction(TABLE, spark=self.spark) as transaction:
            transaction.upsert(TABLE, row)
        return self.staged_at - before, cpu_seconds() - self.staged_at

    def read(self, measured: Measured) -> None:
        with measured.run():
            self.spark.sql(f"select sum(credit), max(changed_at) from {TABLE} where region = 7").collect()


class Block:
    """The CPU seconds of some commits in a row."""

    def __init__(self) -> None:
        self.plans: list[float] = []
        self.commits: list[float] = []
        self.reads = Measured()

    @property
    def medians(self) -> dict[str, float]:
        return {
            "plan": statistics.median(self.plans),
            "commit": statistics.median(self.commits),
            "with compaction": statistics.mean(self.commits),
            "read": statistics.median(self.reads.cpu),
        }


def measure(bench: Bench, commits: int) -> list[Block]:
    """Merge, and print each block when it is full."""
    blocks = []
    for first in range(0, commits, BLOCK):
        block = Block()
        for number in range(first + 1, min(first + BLOCK, commits) + 1):
            plan, commit = bench.merge(number)
            block.plans.append(plan)
            block.commits.append(commit)
            bench.read(block.reads)
        blocks.append(block)
        cells = " | ".join(f"{seconds:.3f}" for seconds in block.medians.values())
        print(f"| {first + 1} to {first + len(block.plans)} | {cells} |", flush=True)
    return blocks


def growth(blocks: list[Block]) -> dict[str, float]:
    """How many times what the cheapest block of the first half costs the cheapest of the second half does."""
    half = len(blocks) // 2
    ratios = {}
    for what in blocks[0].medians:
        early, late = (min(one.medians[what] for one in part) for part in (blocks[:half], blocks[half:]))
        ratios[what] = late / early
    return ratios


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--commits", type=int, default=COMMITS, help=f"two blocks at least ({COMMITS})")
    parser.add_argument(
        "--write-mode",
        choices=("copy_on_write", "merge_on_read"),
        default="copy_on_write",
        help="the table's",
    )
    arguments = parser.parse_args()
    if arguments.commits < 2 * BLOCK:
        parser.error(f"--commits must be {2 * BLOCK} or more: two blocks are compared")
    with tempfile.TemporaryDirectory(prefix="lakemerge-bench-") as folder:
        bench = Bench(Path(folder), arguments.write_mode)
        bench.start()
        print(f"Making the table of {ROWS:,} rows", file=sys.stderr)
        bench.dbt("run")
        print(
            "| commits | plan, CPU s | commit, CPU s | mean with compaction | read, CPU s |\n|---|---|---|---|---|"
        )
        ratios = growth(measure(bench, arguments.commits))
        print("the second half against the first: " + ", ".join(f"{k} {v:.2f}" for k, v in ratios.items()))
        if max(ratios.values()) > _MOST:
            raise SystemExit(f"A commit or a read costs more than {_MOST} times as much as it did before.")


if __name__ == "__main__":
    main()
