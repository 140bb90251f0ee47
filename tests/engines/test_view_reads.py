"""A plain Spark reads a table that is merged on read, while deltas come and are compacted.

Each read is of one version: the view's text, which is read once, names its deltas.
"""

from __future__ import annotations

import pytest
from dbt.adapters.lakemerge.publish.overlay_view import overlay_text

from engines.conftest import Site
from engines.test_torn_reads import CONTENTS, PARTITIONS, ROWS, make_table, read_while
from lakemerge.kernel import TableName, add_overlay


def make_deltas(site: Site, name: TableName, count: int) -> str:
    """Write deltas of all rows, the first of content 1; returns their directory."""
    folder = f"{site.directory}/deltas_{name.name}"
    site.spark.sql(
        f"create table {name.name}_deltas using orc partitioned by (i) location '{folder}' as "
        f"select /*+ coalesce(1) */ cast(i % {CONTENTS} + 1 as int) as v, cast(id % {ROWS} as int) as n, "
        f"cast(id div {ROWS} as int) as p, false as _lakemerge_deleted, i as _lakemerge_order, cast(i as int) as i "
        f"from range({PARTITIONS * ROWS}), (select id + 1 as i from range({count}))"
    )
    site.spark.sql(f"drop table {name.name}_deltas")
    return folder


def read_while_merging(site: Site, name: TableName, reads: int) -> None:
    contents = make_table(site, name)
    deltas = make_deltas(site, name, 8 * reads)
    with site.kernel.begin(name, "write_mode") as txn:
        add_overlay(txn, overlay_text("default", name.name, ["v", "n", "p"], ["n", "p"]), ["n", "p"])
        txn.commit()
    read_while(site, name, reads, "engines.delta_writer", [str(contents), deltas])


@pytest.mark.parametrize("reads", [10, pytest.param(200, marks=pytest.mark.slow)])
def test_over_derby(reads: int, derby_site: Site, name: TableName) -> None:
    read_while_merging(derby_site, name, reads)


@pytest.mark.slow
def test_over_postgres(postgres_site: Site, name: TableName) -> None:
    read_while_merging(postgres_site, name, 600)
