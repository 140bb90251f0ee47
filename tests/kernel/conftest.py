"""One metastore process and one JVM for all tests of the kernel."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from engines.metastores import metastore_on
from engines.services import Storage, storage_of
from kernel.servers import MetastoreServer
from lakemerge.java import ensure_java
from lakemerge.kernel import Jvm, Kernel, Settings, TableName, ports_of

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def storage(request: pytest.FixtureRequest) -> Iterator[Storage]:
    """Where the tables of all tests lie (``--files``)."""
    with storage_of(request.config.getoption("--files")) as storage:
        yield storage


@pytest.fixture(scope="session")
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, storage: Storage
) -> Iterator[MetastoreServer]:
    """A metastore process, Hive 2.3 on Derby unless ``--metastore`` names another."""
    database = request.config.getoption("--metastore")
    with metastore_on(database, tmp_path_factory.mktemp("metastore"), storage) as server:
        yield server


@pytest.fixture
def local_files(request: pytest.FixtureRequest) -> None:
    """For tests that touch files themselves."""
    if request.config.getoption("--files") != "local":
        pytest.skip("needs local files")


@pytest.fixture
def derby(request: pytest.FixtureRequest) -> None:
    """For tests of what Hive's schema on Derby can hold: characters and lengths."""
    if request.config.getoption("--metastore") != "derby":
        pytest.skip("needs a metastore on Derby")


@pytest.fixture
def compares(request: pytest.FixtureRequest) -> None:
    """For tests of what only a metastore that compares does."""
    if request.config.getoption("--metastore") == "hive3":
        pytest.skip("needs a metastore with HIVE-26882")


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
    with metastore_on("postgres", tmp_path_factory.mktemp("on_postgres")) as server:
        yield server


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
