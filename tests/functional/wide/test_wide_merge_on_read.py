"""Tables of 2,000 columns, or of 10,000 partitions, that are merged on read."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.util import run_dbt

from functional.merge.conftest import Merger
from functional.wide.rows import FEED, LAST, ORDERED, change, row

pytestmark = pytest.mark.slow

ON_READ = {**ORDERED, "write_mode": "merge_on_read", "compaction": "off"}


@pytest.fixture(scope="class")
def models() -> dict[str, str]:
    return {"nothing.sql": "select 1 as id"}


def compact(table: Merger, **bounds: Any) -> dict[str, Any]:
    """Compact the deltas; returns the log's record of it."""
    with table.adapter.connection_named(table.name):
        done = table.adapter.compaction.compact(table.context, table.relation, table.model, **bounds)
    return dict(done["deltas"])


class TestColumns:
    def test_deltas_are_read_made_one_and_moved(self, project: Any) -> None:
        run_dbt(["run"])
        table = Merger(project, {**ON_READ, "ignore_null_updates": True}, FEED)
        table.merge([change(key, 1, 1) for key in (1, 2, 3)])
        nothing = {**dict.fromkeys(row(1)), LAST: row(7)[LAST]}
        table.merge([change(1, 0, 2, **nothing), change(4, 4, 2), {**change(3, 1, 2), "op": "D"}])
        table.merge([change(1, 9, 1), change(2, 2, 3)])
        shown = [
            {"id": 1, "seq": 2, **row(1, **{LAST: row(7)[LAST]})},
            {"id": 2, "seq": 3, **row(2)},
            {"id": 4, "seq": 2, **row(4)},
        ]
        assert table.rows() == shown
        compact(table, deltas="minor")
        assert table.rows() == shown
        compact(table)
        assert table.rows() == shown
        assert len(table.sql("select id from {table}__base")) == 3
        table.drop()


class TestPartitions:
    def test_a_part_of_10_000_partitions_is_written_again(self, project: Any) -> None:
        run_dbt(["run"])
        config = {**ON_READ, "except_column_list": ["op"], "partition_by": ["shop", "day"]}
        table = Merger(project, config, "id bigint")
        rows = (
            "select id, 'x' as name, {seq} as seq, 'U' as op, concat('s', id div 100) as shop, "
            "cast(id % 100 as int) as day from range(10000)"
        )
        table.merge(rows.replace("{seq}", "1"))
        table.merge(f"{rows.replace('{seq}', '2')} where id % 1000 = 7")
        few = max(state.bytes for state in self.partitions(table).values())
        assert compact(table, max_bytes=3 * few)["left"] == 7
        assert compact(table, partitions="shop = 's40' or day > 90")["left"] == 6
        assert compact(table)["left"] == 0
        counts = "count(*), count(distinct shop, day), sum(if(seq = 2, 1, 0)), max(if(seq = 2, id, 0))"
        for name in ("{table}", "{table}__base"):
            assert [tuple(one) for one in table.sql(f"select {counts} from {name}")] == [
                (10000, 10000, 10, 9007)
            ]
        table.drop()

    @staticmethod
    def partitions(table: Merger) -> Any:
        with table.adapter.connection_named(table.name):
            return table.adapter.operations.kernel().settled(table.relation.table_name)[1].partitions
