"""A feed that changes rows in each of many partitions of a table that is merged on read, and a major compaction."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.util import run_dbt

from functional.merge.conftest import Merger

CONFIG = {
    "unique_key": "id",
    "sequence_by": "ts",
    "apply_as_deletes": "op = 'D'",
    "except_column_list": ["op"],
    "partition_by": "part",
    "write_mode": "merge_on_read",
    "compaction": "off",
}
#: Rows of each partition.
HEIGHT = 4


@pytest.fixture(scope="class")
def models() -> dict[str, str]:
    return {"nothing.sql": "select 1 as id"}


def rows(ts: int, op: str, where: str, width: int, moved: int = 0) -> str:
    """A feed of the keys of all partitions that meet a condition, each moved by so many partitions."""
    return (
        f"select id, cast((id + {moved}) % {width} as int) as part, concat('n', {ts}) as name, {ts} as ts, "
        f"'{op}' as op from range({width * HEIGHT}) where {where}"
    )


class TestScatteredFeeds:
    @pytest.mark.slow
    @pytest.mark.parametrize("width", [64, 2000])
    def test_each_partition_is_changed_and_then_written_once(self, project: Any, width: int) -> None:
        run_dbt(["run"])
        table = Merger(project, CONFIG, "id bigint")
        table.merge(rows(1, "U", "true", width))
        first = table.partitions()
        assert len(first) == width
        # of the rows of each partition one changes, one goes, one moves to the next partition, and one stays
        feed = " union all ".join(
            [
                rows(2, "U", f"id < {width}", width),
                rows(2, "D", f"id div {width} = 1", width),
                rows(2, "U", f"id div {width} = 2", width, moved=1),
            ]
        )
        response = table.merge(feed)
        assert (response.upserted, response.deleted) == (2 * width, width)
        assert table.partitions() == first, "a merge writes beside the table"
        counts = (
            f"count(*), count(distinct part), count_if(ts = 2 and id < {width}), "
            f"count_if(id div {width} = 2 and ts = 2 and part = (id + 1) % {width}), "
            f"count_if(id div {width} = 3 and ts = 1 and part = id % {width})"
        )
        expected = (3 * width, width, width, width, width)
        assert [tuple(row) for row in table.sql(f"select {counts} from {{table}}")] == [expected]

        with table.adapter.connection_named(table.name):
            done = table.adapter.compaction.compact(table.context, table.relation, table.model)["deltas"]
        assert (done["action"], done["state"], done["left"], table.count_deltas()) == ("major", "done", 0, 0)
        written = table.partitions()
        assert len(written) == width
        assert {state.files for state in written.values()} == {1}
        assert not {state.location for state in written.values()} & {
            state.location for state in first.values()
        }
        for name in ("{table}", "{table}__base"):
            assert [tuple(row) for row in table.sql(f"select {counts} from {name}")] == [expected]
        with table.adapter.connection_named(table.name):
            assert not table.adapter.compaction.compact(
                table.context, table.relation, table.model, dry_run=True
            )
        table.drop()
