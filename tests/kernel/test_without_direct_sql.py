"""A metastore that compares, but cannot write what has the right value: without direct SQL, it says so only then."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from kernel.commits import COMMITS
from kernel.servers import MetastoreServer
from kernel.support import assert_whole, create, merge, picture, rows_of, settled
from lakemerge.java import ensure_java
from lakemerge.kernel import Jvm, Kernel, TableName, ports_of
from lakemerge.kernel.jvm.metastore import HiveMetastore
from lakemerge.testing import World
from rings import of_rings

_WRITERS, _COMMITS = 3, 3


@pytest.fixture(scope="module")
def jvm(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jvm]:
    if request.config.getoption("--metastore") == "hive4":
        pytest.skip("the clients of Hive 4 do not speak to Hive 2.3")
    settings = {"hive.metastore.try.direct.sql": "false"}
    server = MetastoreServer(tmp_path_factory.mktemp("no_direct_sql"), settings=settings).start()
    ensure_java()
    jvm = Jvm.launch(server.client_conf)
    yield jvm
    jvm.gateway.shutdown()
    server.stop()


@pytest.mark.parametrize("kind", of_rings(COMMITS, ["swap-adopted", "widen-whole", "rebuild", "lay-adopted"]))
def test_every_commit_is_made_under_a_lock(jvm: Jvm, kind: str) -> None:
    name, (kernel, expected) = (
        TableName("default", kind.replace("-", "_")),
        (Kernel(ports_of(jvm)), Kernel(World().process())),
    )
    for each in (kernel, expected):
        COMMITS[kind].prepare(each, name)
        COMMITS[kind].run(each, name)
    assert not kernel.metastore.compares  # a table without partitions is made without asking
    assert picture(kernel, name) == picture(expected, name)
    if picture(kernel, name) is not None:
        assert_whole(kernel, name)


def test_it_is_found_out_without_a_change(jvm: Jvm, kernel: Kernel, name: TableName) -> None:
    create(kernel, name, {"": ["a"]})
    before = kernel.table(name)
    assert not HiveMetastore(jvm).probe_compare_and_swap(name)
    assert kernel.table(name) == before


def test_of_writers_at_once_each_commit_counts(jvm: Jvm, name: TableName) -> None:
    kernel = Kernel(ports_of(jvm))
    create(kernel, name, {f"p={writer}": ["first"] for writer in range(_WRITERS)})

    def write(writer: int) -> None:
        other = Kernel(ports_of(jvm))
        for number in range(_COMMITS):
            merge(other, name, {f"p={writer}": [f"row {number}"]})

    with ThreadPoolExecutor(_WRITERS) as pool:
        list(pool.map(write, range(_WRITERS)))
    assert settled(kernel, name).version == 1 + _WRITERS * _COMMITS
    assert rows_of(kernel, name) == {f"p={writer}": [f"row {_COMMITS - 1}"] for writer in range(_WRITERS)}
