"""Tables read as they were at one moment, whatever is committed to them afterwards."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

import lakemerge
from lakemerge.errors import InvalidConfig, TableNotFound, UnsupportedTable, VersionNotFound
from lakemerge.kernel import vacuum

MASTER = {
    "unique_key": "id",
    "sequence_by": "ts",
    "apply_as_deletes": "op = 'D'",
    "except_column_list": ["op"],
    "partition_by": ["region"],
}
FEED = "id bigint, name string, ts bigint, region string, op string"


def change(number: int, ts: int, region: str | None = "a/b = %'x", op: str = "U") -> dict[str, Any]:
    return {"id": number, "name": f"n{ts}", "ts": ts, "region": region, "op": op}


def rows(frame: Any, *columns: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.select(*columns).collect()), key=str)


class TestReadTogether:
    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"write_mode": "merge_on_read", "compaction": "off"},
            pytest.param({"partition_by": None, "file_format": "parquet"}, marks=pytest.mark.slow),
            pytest.param(
                {"partition_by": None, "write_mode": "merge_on_read", "compaction": "off"},
                marks=pytest.mark.slow,
            ),
        ],
        ids=["copy on write", "merge on read", "parquet, not partitioned", "on read, not partitioned"],
    )
    def test_later_commits_change_nothing_of_what_was_read(
        self, merger: Any, appended: Any, program: Any, options: dict[str, Any]
    ) -> None:
        master = merger({**MASTER, **options}, FEED)
        log = appended({"append_layout": "commit_partitioned"}, "id bigint, what string")
        master.merge([change(1, 1), change(2, 1, None), change(3, 1), change(4, 1, "south")])
        master.merge([change(2, 2, None), change(3, 2, op="D"), change(4, 2), change(5, 2, "south")])
        log.append([{"id": 1, "what": "begun"}])
        one, other = program.name(master), program.name(log)
        found = lakemerge.read_together(one, other, spark=program.spark)
        assert list(found) == [one, other]
        # as the table itself is read, by names, types and rows
        table = program.spark.table(one)
        assert [(f.name, f.dataType) for f in found[one].schema] == [
            (f.name, f.dataType) for f in table.schema
        ]
        then = rows(table, *table.columns)
        assert rows(found[one], *table.columns) == then
        assert [row[0] for row in then] == [1, 2, 4, 5]
        master.merge([change(1, 3), change(2, 3, "south"), change(5, 3, op="D"), change(6, 3, None)])
        log.append([{"id": 2, "what": "ended"}])
        vacuum(
            program.kernel,
            program.table_name(master),
            retention=datetime.timedelta(hours=1),
            allow_short_retention=True,
        )
        assert rows(found[one], *table.columns) == then
        assert rows(found[other], "id", "_commit") == [(1, 1)]
        assert len(rows(lakemerge.read_together(other, spark=program.spark)[other], "id")) == 2
        master.drop()
        log.drop()

    @pytest.mark.parametrize("options", [{}, {"write_mode": "merge_on_read", "compaction": "off"}])
    def test_a_group_is_read_in_all_its_tables(
        self, merger: Any, appended: Any, program: Any, options: dict[str, Any]
    ) -> None:
        master = merger({**MASTER, **options}, FEED)
        log = appended({}, "id bigint, what string")
        master.merge([change(1, 1), change(2, 1, None)])
        log.append([{"id": 0, "what": "begun"}])
        one, other = (lakemerge.table(program.name(table), spark=program.spark) for table in (master, log))
        groups = []
        for number in (2, 3):
            with lakemerge.transaction(one.name, other.name, spark=program.spark) as t:
                row = change(number, number, "south")
                t.upsert(one.name, [{name: value for name, value in row.items() if name != "op"}])
                t.append(other.name, [{"id": number, "what": "moved"}])
            groups.append(one.history(1)[0]["group"])
            # commits of one table lie between those of both
            master.merge([change(1, 10 * number), change(9, number)])
        one.compact(deltas="major" if options else None)
        assert [bool(commit["group"]) for commit in other.history()] == [True, True, False]
        assert rows(one.at(group=groups[0]).frame(), "id", "ts") == [(1, 1), (2, 2)]
        assert rows(other.at(group=groups[0]).frame(), "id") == [(0,), (2,)]
        assert rows(one.at(group=groups[1]).frame(), "id", "ts") == [(1, 20), (2, 2), (3, 3), (9, 2)]
        assert rows(other.at(group=groups[1]).frame(), "id") == [(0,), (2,), (3,)]
        one.tag("moved", version=one.at(group=groups[0]).version)
        retention = datetime.timedelta(0)
        vacuum(program.kernel, one._name, retention=retention, dry_run=False, allow_short_retention=True)
        assert rows(one.at(group=groups[0]).frame(), "id", "ts") == [(1, 1), (2, 2)]
        for table, group in ((one, groups[1]), (other, "another")):
            with pytest.raises(VersionNotFound, match="committed by the group"):
                table.at(group=group)
        with pytest.raises(InvalidConfig, match="version, timestamp, tag, group"):
            one.at()

    def test_empty_tables_have_their_columns(self, merger: Any, program: Any) -> None:
        master = merger(MASTER, FEED)
        master.merge([])
        name = program.name(master)
        frame = lakemerge.read_together(name, spark=program.spark)[name]
        assert (frame.columns, frame.count()) == (["id", "name", "ts", "region"], 0)
        master.drop()

    def test_what_cannot_be_read_is_named(self, project: Any, program: Any) -> None:
        with pytest.raises(InvalidConfig, match="the names of the tables to read"):
            lakemerge.read_together(spark=program.spark)
        with pytest.raises(TableNotFound, match=f"{project.test_schema}.nowhere"):
            lakemerge.read_together(f"{project.test_schema}.nowhere", spark=program.spark)
        project.run_sql(f"create table {project.test_schema}.theirs (id int) stored as orc")
        with pytest.raises(UnsupportedTable, match="to have versions"):
            lakemerge.read_together(f"{project.test_schema}.theirs", spark=program.spark)
