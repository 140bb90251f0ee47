"""Trino and Hive read tables of each kind while another process commits: each read is of one version.

Over Derby, which gives its statements no snapshot, reads of a table whose partitions are swapped are not judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from engines.conftest import Site, site_on
from engines.hive import Hive
from engines.metastores import metastore_on
from engines.test_other_engines import engine
from engines.test_torn_reads import read_a_view_while_building, read_while_merging, read_while_swapping
from engines.trino import Trino
from lakemerge.kernel import TableName

__all__ = ["engine"]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shown(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    directory = tmp_path_factory.mktemp("torn")
    with metastore_on(request.config.getoption("--metastore"), directory) as server:
        yield from site_on(server, directory)


class Reads:
    """Answers the query of these tests by an engine, again and again."""

    def __init__(self, engine: Trino | Hive) -> None:
        self._engine = engine

    def __call__(self, query: str, times: int) -> list[list[list[Any]] | str]:
        return [self._attempt(query) for _ in range(times)]

    def _attempt(self, query: str) -> list[list[Any]] | str:
        try:
            if isinstance(self._engine, Trino):
                return self._engine.sql(query)
            # without a job of MapReduce, which takes seconds
            rows: list[list[Any]] = self._engine.sql(f"select p, v, n from {query.rpartition(' ')[2]}")
        except Exception as error:  # noqa: BLE001 - the test counts failures of any kind
            return f"{type(error).__name__}: {str(error)[:500]}"
        parts = {p for p, _, _ in rows}
        values = [int(v) for _, v, _ in rows]
        total = sum(int(v) * int(n) for _, v, n in rows)
        return [[len(rows), len(parts), min(values), max(values), total]]


def reads_of(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--reads"))


def test_swapped_partitions(
    shown: Site, engine: Trino | Hive, name: TableName, request: pytest.FixtureRequest
) -> None:
    reads = reads_of(request)
    is_judged = request.config.getoption("--metastore") != "derby"
    read_while_swapping(shown, name, reads, Reads(engine), most_torn=0 if is_judged else reads)


def test_merge_on_read(
    shown: Site, engine: Trino | Hive, name: TableName, request: pytest.FixtureRequest
) -> None:
    read_while_merging(shown, name, reads_of(request), Reads(engine))


def test_a_view_of_a_version(
    shown: Site, engine: Trino | Hive, name: TableName, request: pytest.FixtureRequest
) -> None:
    read_a_view_while_building(shown, name, reads_of(request), Reads(engine))
