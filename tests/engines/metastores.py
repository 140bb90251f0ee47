"""The metastores that tests run on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from engines import mariadb, newer_hive, postgres, s3
from engines.installed import require
from engines.mariadb import MariaDb
from engines.postgres import Postgres
from engines.s3 import S3
from engines.services import Storage
from kernel.servers import JARS, MetastoreServer

_NEEDS_NOTHING: Callable[[], str] = str


@dataclass(frozen=True)
class _Kind:
    """How a metastore is started.

    Attributes:
        missing: says what is not installed.
        database: makes its database, to be started; Derby needs none.
        driver: the jars for it.
        hive: the class path of Hive and Hadoop.
        spark: settings of Spark, where its own client cannot speak to this metastore.
        client: the jars of one that can, for programs without Spark.
    """

    missing: Callable[[], str] = _NEEDS_NOTHING
    database: Callable[[], Postgres | MariaDb] | None = None
    driver: tuple[Path, ...] = ()
    hive: tuple[Path, ...] = (JARS,)
    spark: Mapping[str, str] = field(default_factory=dict)
    client: Path | None = None


_KINDS = {
    "derby": _Kind(),
    "postgres": _Kind(postgres.missing, Postgres, (postgres.DRIVER,)),
    "mariadb": _Kind(mariadb.missing, MariaDb, (mariadb.DRIVER,)),
    "hive3": _Kind(
        newer_hive.hive3_missing,
        partial(Postgres, newer_hive.SCHEMA_OF_3),
        (postgres.DRIVER,),
        newer_hive.JARS_OF_3,
    ),
    "hive4": _Kind(
        newer_hive.hive4_missing,
        partial(Postgres, newer_hive.SCHEMA_OF_4),
        (postgres.DRIVER,),
        newer_hive.JARS_OF_4,
        spark=newer_hive.SPARK_OF_4,
        client=newer_hive.CLIENT_OF_4,
    ),
}
#: Hive 2.3.10 on Derby, PostgreSQL or MariaDB; Hive 3.1 and 4 on PostgreSQL.
METASTORES = tuple(_KINDS)


@contextmanager
def metastore_on(name: str, directory: Path, storage: Storage = None) -> Iterator[MetastoreServer]:
    """One of :data:`METASTORES`, as a process; skips the test where it is not installed."""
    kind = _KINDS[name]
    require(name, kind.missing())
    database = kind.database().start() if kind.database else None
    server = MetastoreServer(
        directory,
        settings=database.settings if database else None,
        warehouse=f"{storage.uri}/warehouse" if storage else "",
        storage=storage.settings if storage else None,
        classpath=(*([s3.JARS] if isinstance(storage, S3) else []), *kind.driver),
        hive=kind.hive,
        transaction_tables=name == "derby",
        spark=kind.spark,
    ).start()
    try:
        with _first_on_class_path(kind.client):
            yield server
    finally:
        server.stop()
        if database:
            database.stop()


@contextmanager
def _first_on_class_path(jars: Path | None) -> Iterator[None]:
    """Jars that programs without Spark take before pyspark's, as long as the block runs."""
    names = ("HADOOP_CLASSPATH", "HADOOP_USER_CLASSPATH_FIRST")
    if jars is None:
        yield
        return
    assert not any(name in os.environ for name in names), (
        "these jars, and those of another store, were not tried"
    )
    os.environ.update(zip(names, (f"{jars}/*", "true"), strict=True))
    try:
        yield
    finally:
        for name in names:
            del os.environ[name]
