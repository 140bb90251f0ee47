"""The services that a cluster has besides Spark, started for tests: a file system, and a metastore on a database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engines import hdfs, mariadb, postgres, s3, yarn
from engines.hdfs import Hdfs
from engines.installed import require
from engines.mariadb import MariaDb
from engines.postgres import Postgres
from engines.s3 import S3
from engines.standalone import Standalone
from engines.yarn import Yarn
from kernel.servers import MetastoreServer

#: Where tables lie; ``None`` for local files.
Storage = Hdfs | S3 | None
FILES = ("local", "hdfs", "s3")
DATABASES = ("derby", "postgres", "mariadb")
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


@contextmanager
def metastore_on(name: str, directory: Path, storage: Storage = None) -> Iterator[MetastoreServer]:
    """A metastore process on one of :data:`DATABASES`, a server of its own but for Derby."""
    module = {"postgres": postgres, "mariadb": mariadb}.get(name)
    if module is not None:
        require(name, module.missing())
    database = (Postgres() if name == "postgres" else MariaDb()).start() if module else None
    jars = (*([s3.JARS] if isinstance(storage, S3) else []), *([module.DRIVER] if module else []))
    server = MetastoreServer(
        directory,
        settings=database.settings if database else None,
        warehouse=f"{storage.uri}/warehouse" if storage else "",
        storage=storage.settings if storage else None,
        classpath=jars,
        transaction_tables=database is None,
    ).start()
    try:
        yield server
    finally:
        server.stop()
        if database:
            database.stop()
