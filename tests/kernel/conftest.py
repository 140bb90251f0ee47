"""One metastore process and one JVM for all tests of the kernel."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from engines.installed import require
from engines.postgres import DRIVER, Postgres, missing
from kernel.servers import MetastoreServer
from lakemerge.java import ensure_java
from lakemerge.kernel import Jvm, Kernel, Settings, TableName, ports_of

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MetastoreServer]:
    """A metastore process on Derby."""
    server = MetastoreServer(tmp_path_factory.mktemp("metastore")).start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def jvm(server: MetastoreServer) -> Iterator[Jvm]:
    """A bare JVM whose clients reach that metastore."""
    ensure_java()
    jvm = Jvm.launch(server.client_conf)
    yield jvm
    jvm.gateway.shutdown()


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MetastoreServer]:
    """A metastore process on PostgreSQL."""
    require("postgres", missing())
    directory = tmp_path_factory.mktemp("on_postgres")
    database = Postgres().start()
    server = MetastoreServer(
        directory, settings=database.settings, classpath=(DRIVER,), transaction_tables=False
    ).start()
    yield server
    server.stop()
    database.stop()


@pytest.fixture(scope="session")
def postgres_jvm(postgres_server: MetastoreServer) -> Iterator[Jvm]:
    """A bare JVM whose clients reach that metastore."""
    ensure_java()
    jvm = Jvm.launch(postgres_server.client_conf)
    yield jvm
    jvm.gateway.shutdown()


@pytest.fixture
def kernel(jvm: Jvm) -> Kernel:
    return Kernel(ports_of(jvm), Settings(claim_timeout=10))


@pytest.fixture
def name() -> TableName:
    """The name of a table that no other test has."""
    return TableName("default", f"t{next(_NUMBERS)}")


@pytest.fixture
def source(name: TableName) -> TableName:
    return name


@pytest.fixture
def output(name: TableName) -> TableName:
    return TableName(name.schema, f"{name.name}_out")


@pytest.fixture(autouse=True)
def _gateway(bare_gateway: None) -> None:
    """These tests have a JVM of their own."""
