"""A process of the soak: a writer that streams numbered batches, or a consumer that copies what is new.

Usage: python -m kernel.soak_worker '{"conf": {…}, "role": "writer-3" or "consumer", "commits": 50, "records": 100,
"log": "/…/writer-3.log", "done": "/…/done"}'. It goes on where one of its name has ended.
"""

from __future__ import annotations

import json
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import lakemerge.writer
from kernel.support import COMMIT
from lakemerge.consumer import Consumer, Options, record
from lakemerge.errors import CommitConflict, ConsumerFenced, LakemergeError
from lakemerge.kernel import (
    HiveColumn,
    Jvm,
    Kernel,
    Settings,
    TableDefinition,
    TableName,
    Transaction,
    ports_of,
)
from lakemerge.kernel.ports.names import DEFAULT_PARTITION, partition_values

EVENTS, COPY = TableName("default", "events"), TableName("default", "events_copy")
COLUMNS = tuple(HiveColumn(name, "int") for name in ("writer", "batch", "number"))
KEYS = (HiveColumn("shard", "string"), HiveColumn(COMMIT, "bigint"))


def definition(name: TableName) -> TableDefinition:
    return TableDefinition(name, COLUMNS, KEYS, commit_column=COMMIT)


def write(kernel: Kernel, job: dict[str, Any]) -> None:
    """All batches that are not committed yet, each of them a commit."""
    number = int(job["role"].partition("-")[2])
    with (
        lakemerge.writer.open(str(EVENTS), kernel, name=job["role"]) as stream,
        Path(job["log"]).open("a") as log,
    ):
        for batch in range((stream.last_batch or 0) + 1, job["commits"] + 1):
            began = time.monotonic()
            stream.write(
                [number, batch, row, "even" if row % 2 == 0 else "odd"] for row in range(job["records"])
            )
            written = time.monotonic()
            stream.commit(batch)
            log.write(f"{batch} {time.monotonic() - written:.3f} {written - began:.3f}\n")
            log.flush()


def copy(kernel: Kernel, job: dict[str, Any]) -> None:
    """Copy what is new until the file ``done`` is there and nothing is left."""
    while True:
        last = Path(job["done"]).exists()
        consumer = Consumer(kernel, EVENTS, "copy", COPY, Options(limit=20, max_retries=1000))
        batch = consumer.claim()
        if batch.items:
            try:
                _publish(kernel, batch)
                batch.succeed()
                with Path(job["log"]).open("a") as log:
                    log.write(f"{len(batch.items)}\n")
            except ConsumerFenced as error:
                batch.fail(str(error), blame=False)
        elif last:
            return
        else:
            time.sleep(0.5)


def _publish(kernel: Kernel, batch: Any) -> None:
    while True:
        transaction: Transaction = kernel.begin(COPY, "append")
        try:
            for path, partition in batch.files():
                folder = f"p0={partition_values(partition)[0]}/commit={DEFAULT_PARTITION}"
                kernel.files.copy(path, f"{transaction.stage_directory}/{folder}/{uuid.uuid4().hex}.orc")
            transaction.add_staged()
            record(kernel, transaction, [batch])
            transaction.commit()
            return
        except CommitConflict:
            continue
        finally:
            transaction.abort()


def main(job: dict[str, Any]) -> None:
    kernel = Kernel(ports_of(Jvm.launch(job["conf"])), Settings(lease_seconds=10))
    try:
        (copy if job["role"] == "consumer" else write)(kernel, job)
    except LakemergeError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        raise


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
