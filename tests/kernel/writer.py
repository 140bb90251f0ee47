"""A process with several writers that commit to one table as fast as they can, redoing what conflicts.

Usage: python -m kernel.writer '{"conf": {…}, "table": "t", "writers": [0, 1], "commits": 25,
"mode": "disjoint" | "same" | "whole" | "append", "deaf": true}'. It prints what it did as JSON.
"""

from __future__ import annotations

import json
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from kernel.faults import DeafMetastore
from kernel.support import append, stage
from lakemerge.errors import CommitConflict
from lakemerge.kernel import Jvm, Kernel, TableName, Transaction, ports_of

SHARED = ("p=0", "p=1")


def partitions_of(writer: int, mode: str, dice: random.Random) -> list[str]:
    """The partitions that a commit of a writer rewrites."""
    if mode == "whole":
        return [""]
    if mode in ("disjoint", "append"):
        return [f"p={writer}"]
    return dice.choice(([SHARED[0]], [SHARED[1]], list(SHARED)))


def rewrite(kernel: Kernel, name: TableName, partitions: list[str], mark: str) -> int:
    """Read partitions as a merge does, and commit them with one line more."""
    txn: Transaction = kernel.begin(name, "merge")
    try:
        txn.read(partitions)
        assert txn.base is not None
        rows = {}
        for partition in partitions:
            known = txn.base.partitions.get(partition)
            text = ""
            if known is not None and known.files:
                text = kernel.files.read_text(f"{txn.layout.absolute(known.location)}/part-0.orc")
            rows[partition] = [f"{text}{mark}\n"]
        stage(kernel, txn, rows)
        return txn.commit()
    finally:
        txn.abort()


def write(kernel: Kernel, job: dict[str, Any], writer: int) -> dict[str, Any]:
    """All commits of one writer."""
    name = TableName("default", job["table"])
    dice = random.Random(writer)
    acknowledged: dict[str, list[str]] = {}
    versions: list[int] = []
    conflicts = 0
    for number in range(job["commits"]):
        mark = f"{writer}/{number}"
        partitions = partitions_of(writer, job["mode"], dice)
        while True:
            try:
                if job["mode"] == "append":
                    versions.append(append(kernel, name, {partition: [mark] for partition in partitions}))
                else:
                    versions.append(rewrite(kernel, name, partitions, mark))
                break
            except CommitConflict:
                conflicts += 1
        acknowledged[mark] = partitions
    return {"acknowledged": acknowledged, "versions": versions, "conflicts": conflicts}


def main(job: dict[str, Any]) -> None:
    jvm = Jvm.launch(job["conf"])
    kernel = Kernel(ports_of(jvm, metastore=DeafMetastore(jvm) if job["deaf"] else None))
    with ThreadPoolExecutor(len(job["writers"])) as pool:
        done = list(pool.map(lambda writer: write(kernel, job, writer), job["writers"]))
    print(json.dumps(done))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
