"""The services that a cluster has besides Spark, started for tests: a file system, and a metastore on a database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engines import hdfs, hive3, mariadb, postgres, s3, yarn
from engines.hdfs import Hdfs
from engines.installed import require
from engines.s3 import S3
from engines.standalone import Standalone
from engines.yarn import Yarn
from kernel.servers import JARS, MetastoreServer

#: Where tables lie; ``None`` for local files.
Storage = Hdfs | S3 | None
FILES = ("local", "hdfs", "s3")
METASTORES = ("derby", "postgres", "mariadb", "hive3")
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
    """One of :data:`METASTORES`: Hive 2.3.10 on the database of that name, or Hive 3.1 on PostgreSQL."""
    module = {"postgres": postgres, "mariadb": mariadb, "hive3": hive3}.get(name)
    if module is not None:
        require(name, module.missing())
    database = module.database().start() if module else None
    jars = (*([s3.JARS] if isinstance(storage, S3) else []), *([module.DRIVER] if module else []))
    server = MetastoreServer(
        directory,
        settings={**(hive3.SETTINGS if name == "hive3" else {}), **(database.settings if database else {})},
        warehouse=f"{storage.uri}/warehouse" if storage else "",
        storage=storage.settings if storage else None,
        classpath=jars,
        hive=hive3.JARS if name == "hive3" else (JARS,),
        transaction_tables=database is None,
    ).start()
    try:
        yield server
    finally:
        server.stop()
        if database:
            database.stop()
