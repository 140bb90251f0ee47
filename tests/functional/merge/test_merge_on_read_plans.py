"""What Spark reads through the view of a table that is merged on read: its plan, scan by scan."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pytest

from .test_merge_on_read_parts import FEED, ON_READ, change, compact

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Scan:
    """A scan of a plan.

    Attributes:
        table: without its schema.
        columns: read from files, so without partition columns.
        filters: of partitions.
        paths: how many directories are read.
        first: the first of these; empty where there is none.
    """

    table: str
    columns: frozenset[str]
    filters: str
    paths: int
    first: str


_SCAN = re.compile(
    r"^\(\d+\) Scan \w+ \S*\.(?P<table>\w+)\n(?:.+\n)*?"
    r"Location: InMemoryFileIndex \[(?P<first>[^],]*)(?:, \.\.\. (?P<more>\d+) entries)?\]\n"
    r"(?:PartitionFilters: \[(?P<filters>.*)\]\n)?(?:PushedFilters: .*\n)?"
    r"ReadSchema: struct<(?P<columns>.*)>",
    re.MULTILINE,
)


def scans(table: Any, query: str) -> list[Scan]:
    """The scans of a query's plan, in its order."""
    plan = table.sql(f"explain formatted {query}")[0][0]
    found = [
        Scan(
            table=one["table"],
            columns=frozenset(field.partition(":")[0] for field in one["columns"].split(",")),
            filters=one["filters"] or "",
            paths=bool(one["first"]) + int(one["more"] or 0),
            first=one["first"],
        )
        for one in _SCAN.finditer(plan)
    ]
    assert len(found) == len(re.findall(r"^\(\d+\) Scan ", plan, re.MULTILINE)), plan
    return found


class TestPlans:
    @pytest.mark.parametrize("file_format", ["orc", "parquet"])
    def test_a_query_reads_its_columns_of_its_partitions_and_the_deltas_of_the_view(
        self, merger: Any, file_format: str
    ) -> None:
        table = merger({**ON_READ, "file_format": file_format}, f"{FEED}, note string")
        table.merge([change(number, 1, note="long") for number in range(9)])
        for ts in (5, 6):
            table.merge([change(number, ts, note="long") for number in range(2)])
        query = "select name from {table} where region = 'north'"
        needed = {"id", "region", "_lakemerge_deleted", "_lakemerge_order"}
        for deltas in (2, 1):
            base, keys, rows = scans(table, query)
            assert (base.table, base.columns) == (f"{table.name}__base", {"id", "name"})
            assert (base.paths, base.first.rpartition("/")[2]) == (1, "region=north")
            assert re.search(r"region#\d+ = north", base.filters)
            assert keys.table == rows.table == f"{table.name}__deltas"
            assert (keys.columns, rows.columns) == ({"id"}, {*needed, "name"})
            for scan in (keys, rows):
                assert scan.paths == deltas, "only those that the view names"
                assert re.match(
                    r"(isnotnull\(lakemerge_txn#\d+\), )?\(?lakemerge_txn#\d+ (IN|=) ", scan.filters
                )
            assert sorted(row.name for row in table.sql(query)) == ["n1", "n1", "n6"]
            # the deltas that were folded stay in their table for queries that are being planned
            compact(table, deltas="minor")
            assert len(table.sql("select distinct lakemerge_txn from {table}__deltas")) == 3
        base, keys, rows = scans(table, "select id from {table} where region <> 'east'")
        assert (base.paths, base.columns, rows.columns) == (2, {"id"}, needed)
        compact(table)
        assert [scan.paths for scan in scans(table, query)] == [1, 0, 0], "the base holds all"
        assert sorted(row.name for row in table.sql(query)) == ["n1", "n1", "n6"]
        table.drop()
