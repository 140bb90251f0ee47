"""A metastore process, the kernel on a bare JVM, and a Spark that knows nothing of lakemerge."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from engines.metastores import metastore_on
from engines.plain_spark import PlainSpark
from kernel.servers import MetastoreServer
from lakemerge.java import ensure_java
from lakemerge.kernel import Jvm, Kernel, TableName, ports_of

_NUMBERS = itertools.count(1)


@dataclass(frozen=True)
class Site:
    """One metastore with a writer and a reader."""

    server: MetastoreServer
    kernel: Kernel
    spark: PlainSpark
    directory: Path


def site_on(server: MetastoreServer, directory: Path) -> Iterator[Site]:
    """A writer and a reader on a metastore."""
    ensure_java()
    jvm = Jvm.launch(server.client_conf)
    spark = PlainSpark(server.spark_conf, directory)
    try:
        yield Site(server, Kernel(ports_of(jvm)), spark, directory)
    finally:
        spark.stop()
        jvm.gateway.shutdown()


@pytest.fixture(scope="module")
def derby_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """On a metastore server over Derby."""
    directory = tmp_path_factory.mktemp("derby")
    server = MetastoreServer(directory, transaction_tables=False).start()
    yield from site_on(server, directory)
    server.stop()


@pytest.fixture(scope="module")
def postgres_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """On a metastore server over PostgreSQL."""
    directory = tmp_path_factory.mktemp("on_postgres")
    with metastore_on("postgres", directory) as server:
        yield from site_on(server, directory)


@pytest.fixture
def name() -> TableName:
    """The name of a table that no other test has."""
    return TableName("default", f"t{next(_NUMBERS)}")


@pytest.fixture(autouse=True)
def _gateway(bare_gateway: None) -> None:
    """These tests have a JVM of their own."""
