"""The files of merges into tables that are too large for one task, and the partitions that they rewrite."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from .joining import CONFIG, FEED, changes, joined

pytestmark = pytest.mark.slow


def files_of(table: Any) -> dict[str, set[str]]:
    """The files of each partition that have rows."""
    rows = table.sql(f"select distinct region, input_file_name() from {table.relation.render()}")
    found: dict[str, set[str]] = {}
    for region, file in rows:
        found.setdefault(region, set()).add(file)
    return found


@pytest.fixture
def table(merger: Any) -> Any:
    """Forty keys in eight partitions, each partition in a file."""
    made = merger(CONFIG, FEED)
    made.merge(changes([(key, f"r{key % 8}", "first", 1, "U") for key in range(40)]))
    yield made
    made.drop()


class TestGatheredMerges:
    def test_each_partition_stays_one_file(self, table: Any) -> None:
        for ts in range(2, 6):
            with joined(by_one_task=False):
                response = table.merge(
                    changes(
                        [(key, f"r{key % 8}", f"at {ts}", ts, "U") for key in (*range(0, 40, 3), 100 + ts)]
                    )
                )
            assert (response.inserted, response.updated) == (1, 14)
            assert Counter(len(files) for files in files_of(table).values()) == {1: 8}
        assert len(table.rows()) == 44

    def test_of_partitions_that_a_feed_does_not_name_those_with_its_keys_are_rewritten(
        self, table: Any
    ) -> None:
        before = files_of(table)
        with joined(by_one_task=False):
            response = table.merge(
                changes([(0, "r1", "moved", 2, "U"), (2, None, None, 2, "D"), (99, "r1", None, 2, "D")])
            )
        assert (response.updated, response.deleted, response.ignored) == (1, 1, 1)
        after = files_of(table)
        assert {region for region in before if before[region] != after[region]} == {"r0", "r1", "r2"}
        rows = {row["id"]: row for row in table.rows()}
        assert rows[0] == {"id": 0, "region": "r1", "name": "moved", "ts": 2}
        assert set(rows) == set(range(40)) - {2}

    def test_deletes_of_keys_that_are_nowhere_rewrite_nothing(self, table: Any) -> None:
        before = files_of(table)
        with joined(by_one_task=False):
            assert table.merge(changes([(77, None, None, 2, "D")])).ignored == 1
        assert files_of(table) == before
        # it is remembered
        assert table.merge(changes([(77, "r1", "late", 1, "U")])).ignored == 1
        assert len(table.rows()) == 40
