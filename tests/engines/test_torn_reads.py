"""A plain Spark reads a table while another process commits to it again and again: each read is of one version.

Of a table whose partitions are all swapped, a few reads over Derby are of two, for it gives its statements no snapshot
while rows change. PostgreSQL does. Of a table that is merged on read, none is: the view's text, which is read once,
names the deltas. Of a view that shows the table of a version, none is either.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bounded import next_line
from engines.conftest import Site
from engines.view_builder import show
from kernel.support import stage
from lakemerge.engine.merge_on_read.overlay_view import overlay_text
from lakemerge.kernel import HiveColumn, TableDefinition, TableName, add_overlay

pytestmark = pytest.mark.slow

Reader = Callable[[str, int], "list[list[list[Any]] | str]"]

_TESTS = Path(__file__).parents[1]
PARTITIONS = 20
ROWS = 50
CONTENTS = 3
_QUERY = "select count(*), count(distinct p), min(v), max(v), sum(v * n) from {name}"
#: Of content v, which has the value v in each of its rows.
_SUM_OF_N = PARTITIONS * sum(range(ROWS))


def make_table(site: Site, name: TableName) -> Path:
    """Write contents that differ in every row, and make the table of the first; returns their directory.

    With a codec that old releases of Hive know.
    """
    prototypes = site.directory / f"contents_{name.name}"
    for content in range(CONTENTS):
        table = f"{name.name}_content_{content}"
        site.spark.sql(
            f"create table {table} using orc options (compression 'zlib') partitioned by (p) "
            f"location '{prototypes}/{content}' as "
            f"select /*+ coalesce(1) */ {content + 1} as v, cast(id % {ROWS} as int) as n, "
            f"cast(id div {ROWS} as int) as p from range({PARTITIONS * ROWS})"
        )
        site.spark.sql(f"drop table {table}")
        for path in (prototypes / f"{content}").iterdir():
            if path.is_file():
                path.unlink()
    columns = (HiveColumn("v", "int"), HiveColumn("n", "int"))
    txn = site.kernel.create(TableDefinition(name, columns, (HiveColumn("p", "int"),)))
    source = prototypes / "0"
    for file in source.rglob("*.orc"):
        target = f"{txn.stage_directory}/{file.parent.name}/{file.name}"
        site.kernel.files.copy(f"file:{file}", target)
    stage(site.kernel, txn, {})
    txn.commit()
    return prototypes


def read_while_swapping(
    site: Site, name: TableName, reads: int, reader: Reader | None = None, *, most_torn: int = 0
) -> str:
    """Read while another process swaps all partitions; see :func:`read_while`."""
    contents = [str(make_table(site, name))]
    return read_while(site, name, reads, "engines.swapper", contents, most_torn=most_torn, reader=reader)


def read_while(
    site: Site,
    name: TableName,
    reads: int,
    program: str,
    arguments: list[str],
    *,
    most_torn: int = 0,
    reader: Reader | None = None,
) -> str:
    """Read while another process commits; fails when more reads are torn than may be, and returns the figures.

    Args:
        program: its module, whose first arguments are the metastore's configuration and the table's name.
        reader: gives the answers to the query, or errors, of so many reads; by default a plain Spark.
    """
    query = _QUERY.format(name=name)
    assert site.spark.sql(query) == [[PARTITIONS * ROWS, PARTITIONS, 1, 1, _SUM_OF_N]]
    writer = subprocess.Popen(
        [sys.executable, "-m", program, json.dumps(site.server.client_conf), name.name, *arguments],
        env={**os.environ, "PYTHONPATH": str(_TESTS)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert next_line(writer) == ".\n", writer.stderr and writer.stderr.read()
        start = time.monotonic()
        answers = (reader or site.spark.repeat)(query, reads)
        seconds = time.monotonic() - start
        assert writer.poll() is None, writer.stderr and writer.stderr.read()
    finally:
        writer.kill()
    swaps = writer.communicate()[0].count(".") + 1
    failed = [answer for answer in answers if isinstance(answer, str)]
    whole = [
        [[PARTITIONS * ROWS, PARTITIONS, content, content, content * _SUM_OF_N]]
        for content in range(1, CONTENTS + 1)
    ]
    torn = [answer for answer in answers if not isinstance(answer, str) and answer not in whole]
    seen = len({str(answer) for answer in answers})
    figures = (
        f"{reads} reads of {PARTITIONS} partitions during {swaps} commits in {seconds:.0f} s: "
        f"{len(torn)} torn, {len(failed)} failed, {seen} different contents seen"
    )
    print(figures)
    assert not failed, failed[:3]
    assert len(torn) <= most_torn, (figures, torn[:3])
    assert swaps > 1, figures
    assert seen > 1, figures
    return figures


def make_deltas(site: Site, name: TableName, count: int) -> str:
    """Write deltas of all rows, the first of content 1; returns their directory."""
    folder = f"{site.directory}/deltas_{name.name}"
    site.spark.sql(
        f"create table {name.name}_deltas using orc options (compression 'zlib') partitioned by (i) "
        f"location '{folder}' as "
        f"select /*+ coalesce(1) */ cast(i % {CONTENTS} + 1 as int) as v, cast(id % {ROWS} as int) as n, "
        f"cast(id div {ROWS} as int) as p, false as _lakemerge_deleted, i as _lakemerge_order, cast(i as int) as i "
        f"from range({PARTITIONS * ROWS}), (select id + 1 as i from range({count}))"
    )
    site.spark.sql(f"drop table {name.name}_deltas")
    return folder


def read_while_merging(site: Site, name: TableName, reads: int, reader: Reader | None = None) -> None:
    contents = make_table(site, name)
    deltas = make_deltas(site, name, 8 * reads)
    with site.kernel.begin(name, "write_mode") as txn:
        add_overlay(txn, overlay_text("default", name.name, ["v", "n", "p"], ["n", "p"]), ["n", "p"])
        txn.commit()
    read_while(site, name, reads, "engines.delta_writer", [str(contents), deltas], reader=reader)


def read_a_view_while_building(site: Site, name: TableName, reads: int, reader: Reader | None = None) -> None:
    contents = make_table(site, name)
    view = TableName(name.schema, f"{name.name}_exact")
    show(site.kernel, view, name)
    read_while(site, view, reads, "engines.view_builder", [name.name, str(contents)], reader=reader)


@pytest.mark.parametrize("reads", [10, 200])
def test_swapped_partitions_over_derby(reads: int, derby_site: Site, name: TableName) -> None:
    read_while_swapping(derby_site, name, reads, most_torn=reads // 100)


def test_swapped_partitions_over_postgres(postgres_site: Site, name: TableName) -> None:
    read_while_swapping(postgres_site, name, 600)


def test_views_over_derby(derby_site: Site, name: TableName) -> None:
    read_while_merging(derby_site, name, 200)


def test_views_over_postgres(postgres_site: Site, name: TableName) -> None:
    read_while_merging(postgres_site, name, 600)


@pytest.mark.parametrize("reads", [10, 1000])
def test_views_of_versions_over_derby(reads: int, derby_site: Site, name: TableName) -> None:
    read_a_view_while_building(derby_site, name, reads)
