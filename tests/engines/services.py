"""The file systems and clusters that tests run on, started for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from engines import hdfs, s3, yarn
from engines.hdfs import Hdfs
from engines.installed import require
from engines.s3 import S3
from engines.standalone import Standalone
from engines.yarn import Yarn

#: Where tables lie; ``None`` for local files.
Storage = Hdfs | S3 | None
FILES = ("local", "hdfs", "s3")
CLUSTERS = ("standalone", "yarn")


@contextmanager
def storage_of(kind: str) -> Iterator[Storage]:
    """One of :data:`FILES`; skips the test where it is not installed."""
    if kind == "local":
        yield None
        return
    require(kind, {"hdfs": hdfs, "s3": s3}[kind].missing())
    started = Hdfs().start() if kind == "hdfs" else S3().start()
    try:
        yield started
    finally:
        started.stop()


@contextmanager
def cluster_of(kind: str, storage: Storage) -> Iterator[Standalone | Yarn]:
    """One of :data:`CLUSTERS`, with two executors; skips the test where it is not installed."""
    if kind == "yarn":
        require(kind, yarn.missing())
        assert isinstance(storage, Hdfs), "YARN takes Spark's files from HDFS"
    started = Yarn(storage.uri) if kind == "yarn" and storage else Standalone()
    try:
        yield started
    finally:
        started.close()
